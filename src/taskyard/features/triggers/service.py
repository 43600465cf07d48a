"""Triggers in a yard: added, looked at, paused, and fired by whoever has heard of something.

Everything that comes is known by a key, stored as new in the same change as the work it makes: what comes twice, or is
heard of by two processes, makes that work once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as changed
from hashlib import sha256
from secrets import token_hex
from typing import Any, NamedTuple, cast

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.errors import CycleFound, InvalidInput, NotFound
from taskyard.core.json_value import Json, encode
from taskyard.core.units import Micros
from taskyard.definition import arguments, fields
from taskyard.features.schedules.service import FIRES_SHOWN, Scheduling
from taskyard.features.sources import fires
from taskyard.features.sources.fires import Fire, Outcome, source_id
from taskyard.features.sources.from_template import Cause, Made, tasks_of, template_of
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.features.triggers import figures
from taskyard.features.triggers import rules as triggers
from taskyard.features.triggers.rules import KIND, LONGEST_CHAIN, READY_MADE, ReadyMade, Source, Trigger, trigger_of
from taskyard.features.triggers.views import AddedTrigger, TriggerView, Watched
from taskyard.ledger.options import LOCAL
from taskyard.ledger.signing import hook_secret
from taskyard.ledger.tracing import enqueue_span

HOOK = "hook"  # the kind of record that says whose a path is: who delivers to it says no workspace
DELIVERY = "delivery"  # of what has come, by its key
LISTENING = "listening"  # what a trigger has seen of the yard's own events
MOST_DATA = 1 << 20  # bytes


class Happened(NamedTuple):
    """Something that a trigger may fire at."""

    values: Mapping[str, Json]  # what its conditions and its template may name
    why: str
    at: Micros
    what: str  # what came then, as part of the fire's id
    came: RecordChange | None = None  # what makes it the only one of its kind
    chain: int = 0  # how many fires led to it


class Triggering(Scheduling):
    async def add_trigger(
        self,
        trigger_id: str,
        source: str,
        *,
        settings: Mapping[str, object] | None = None,
        only: Mapping[str, object] | None = None,
        task: object = None,
        dag: object = None,
        ready_made: str | None = None,
        paused: bool = False,
        replace: bool = False,
        by: str = LOCAL,
    ) -> AddedTrigger:
        """Make a task or a DAG from a template when something happens: webhook, files, dag or rule.

        `ready_made` gives conditions and a template where none are given: pull-request-opened, json.
        """
        given = ReadyMade({}, None) if ready_made is None else _ready_made(ready_made)
        trigger = Trigger(
            id=source_id("id", trigger_id),
            source=fields.choice(Source)(source, "source"),
            settings=triggers.settings(fields.choice(Source)(source, "source"), settings or {}),
            only=triggers.conditions(given.only if only is None else only),
            template=template_of(given.task if task is None and dag is None else task, dag),
            created_at=self.now(),
            created_by=arguments.name("by", by),
            paused=fields.truth(paused, "paused"),
        )
        await self._check_template(dict(trigger.template), _cause(trigger, "check", ""))
        return await self._put_trigger(trigger, replace=replace, by=by)

    async def _put_trigger(self, trigger: Trigger, *, replace: bool, by: str) -> AddedTrigger:
        async def decide() -> tuple[ChangeSet, Trigger]:
            record = await self.store.record(KIND, self.workspace, trigger.id)
            before = None if record is None or trigger_of(record).removed_at is not None else trigger_of(record)
            if before is not None and not replace:
                raise InvalidInput("id", "is that of another trigger; say that it is to be replaced, if so")
            if before is not None and before.source is not trigger.source:
                raise InvalidInput("source", f"must stay {before.source.value}; remove the trigger to make it another")
            is_hook = trigger.source is Source.WEBHOOK
            # One that is replaced keeps its secret and its path: who sends to it need not be told.
            nonces = before.nonces if before is not None and before.nonces else {token_hex(16): None}
            path = token_hex(16) if before is None else before.path
            after = changed(trigger, nonces=nonces, path=path) if is_hook else trigger
            owned = self._owned_hook(after) if is_hook and before is None else ()
            return self._moved_trigger(record, after, "added", by, *owned), after

        stored = await self._land(decide)
        is_new = stored.source is Source.WEBHOOK and not replace
        return AddedTrigger(TriggerView(stored), self._hook_secrets(stored)[0] if is_new else None)

    async def triggers(self) -> list[TriggerView]:
        """The triggers of this workspace, by their ids."""
        found = [trigger_of(record) for record in await self.store.records(KIND, self.workspace)]
        there = sorted((each for each in found if each.removed_at is None), key=lambda each: each.id)
        return [TriggerView(each) for each in there]

    async def trigger(self, trigger_id: str) -> TriggerView:
        """One trigger, with its last fires, and what it has seen and passed over."""
        _, trigger = await self._stored_trigger(trigger_id)
        record = await self.store.record(LISTENING, self.workspace, trigger.id)
        passed_over = None if record is None else cast(str | None, record.body.get("passed_over"))
        last = await self._fires_of(trigger.fires_as, FIRES_SHOWN, None)
        return TriggerView(trigger, tuple(last), _watched(trigger, record), passed_over)

    async def trigger_fires(self, trigger_id: str, *, limit: int = 50, below: str | None = None) -> list[Fire]:
        """When it fired, or why it did not, latest first; `below` is the key of the last one seen."""
        _, trigger = await self._stored_trigger(trigger_id)
        return await self._fires_of(trigger.fires_as, limit, below)

    async def pause_trigger(self, trigger_id: str, *, by: str = LOCAL) -> None:
        """Let nothing fire it until it is resumed."""
        await self._move_trigger(trigger_id, "paused", by, paused=True)

    async def resume_trigger(self, trigger_id: str, *, by: str = LOCAL) -> None:
        await self._move_trigger(trigger_id, "resumed", by, paused=False)

    async def remove_trigger(self, trigger_id: str, *, by: str = LOCAL) -> None:
        """End it. What it has made stays, and its fires for as long as fires are kept."""
        await self._move_trigger(trigger_id, "removed", by, removed_at=self.now(), nonces={})

    async def rotate_hook(self, trigger_id: str, *, grace_sec: float = 0, by: str = LOCAL) -> str:
        """Give a hook another secret, shown this once. The one before is good for as long as the grace says."""
        until = Micros(self.now() + arguments.duration("grace_sec", grace_sec))

        async def decide() -> tuple[ChangeSet, Trigger]:
            record, trigger = await self._stored_trigger(trigger_id)
            if trigger.source is not Source.WEBHOOK:
                raise InvalidInput("id", "must be that of a webhook: no other trigger has a secret")
            current = next(nonce for nonce, end in trigger.nonces.items() if end is None)
            after = changed(trigger, nonces={token_hex(16): None, **({current: until} if grace_sec else {})})
            return self._moved_trigger(record, after, "rotated", by), after

        return self._hook_secrets(await self._land(decide))[0]

    async def fire_trigger(
        self,
        trigger_id: str,
        data: Mapping[str, object],
        *,
        key: str | None = None,
        dry_run: bool = False,
        by: str = LOCAL,
    ) -> Fire:
        """Let something happen to a trigger by hand: `data` is what its template names.

        The same `key` fires once. With `dry_run`, what it would make is only checked.
        """
        _, trigger = await self._stored_trigger(trigger_id)
        encode(data, field="data", max_bytes=MOST_DATA)
        now = self.now()
        came = None if key is None else self._delivery(trigger, _digest(arguments.words("key", key)), {})
        happened = Happened(
            cast(Mapping[str, Json], data), f"fired by {by}", now, _digest(key)[:10] if key else token_hex(5), came
        )
        if dry_run:
            return (await self._judged_event(trigger, happened))[0]
        before = told_of(trigger, happened, Outcome.SKIPPED, "it came before, and has had its effect")
        return await self._fire_at(trigger, happened) or before

    # Firing

    async def _fire_at(self, trigger: Trigger, happened: Happened) -> Fire | None:
        """Fire once at what happened; None where that is on record already."""

        async def decide() -> tuple[ChangeSet | None, Fire | None]:
            fire, made = await self._judged_event(trigger, happened)
            row = fire.stored(self.workspace)
            known = happened.came or row
            if await self.store.record(known.kind, self.workspace, known.id) is not None:
                return None, None
            work = made.change_set or ChangeSet(at=self.now())
            new = (row,) if happened.came is None else (row, happened.came)
            return work._replace(records=(*work.records, *new)), fire

        return await self._land_fires(decide)

    async def _judged_event(self, trigger: Trigger, happened: Happened) -> tuple[Fire, Made]:
        """Whether it fires at this, and the work it makes. A template that does not fit is told of."""
        fire = told_of(trigger, happened, Outcome.FIRED, happened.why)
        if trigger.paused:
            return changed(fire, outcome=Outcome.SKIPPED, why="it is paused"), Made(None)
        if (unmet := triggers.unmet(trigger.only, happened.values)) is not None:
            return changed(fire, outcome=Outcome.SKIPPED, why=unmet), Made(None)
        if happened.chain > LONGEST_CHAIN:
            why = f"{LONGEST_CHAIN} fires in a row have led to it: triggers that start each other must end"
            return changed(fire, outcome=Outcome.SKIPPED, why=why), Made(None)
        try:
            with enqueue_span(tasks_of(trigger.template)):
                made = await self._made(trigger.template, happened.values, _cause(trigger, fire.id, happened.why), {})
        except (InvalidInput, CycleFound) as error:
            return changed(fire, outcome=Outcome.FAILED, why=str(error)), Made(None)
        if made.change_set is None:
            fire = changed(fire, why=f"{fire.why}; a live task has the key of what it makes")
        return changed(fire, task_id=made.task_id, dag_id=made.dag_id), made

    # Storing

    async def _stored_trigger(self, trigger_id: str) -> tuple[Record, Trigger]:
        record = await self.store.record(KIND, self.workspace, arguments.name("id", trigger_id))
        trigger = None if record is None else trigger_of(record)
        if record is None or trigger is None or trigger.removed_at is not None:
            raise NotFound("trigger", trigger_id)
        return record, trigger

    async def _move_trigger(self, trigger_id: str, verb: str, by: str, **fields_: Any) -> None:
        async def decide() -> tuple[ChangeSet, None]:
            record, trigger = await self._stored_trigger(trigger_id)
            freed = await self._freed_hook(trigger) if verb == "removed" else ()
            return self._moved_trigger(record, changed(trigger, **fields_), verb, by, *freed), None

        await self._land(decide)

    def _moved_trigger(
        self, record: Record | None, trigger: Trigger, verb: str, by: str, *more: RecordChange
    ) -> ChangeSet:
        version = 0 if record is None else record.version
        row = RecordChange(KIND, self.workspace, trigger.id, version, trigger.body())
        told = self._told_by(f"trigger.{verb}", by, {"trigger": trigger.id, "source": trigger.source.value})
        return ChangeSet(records=(row, *more), events=(told,), at=self.now())

    def _owned_hook(self, hook: Trigger) -> tuple[RecordChange, ...]:
        """Who delivers to a path says neither workspace nor name: both are found by it."""
        owner: dict[str, Json] = {"workspace": self.workspace, "trigger": hook.id}
        return (RecordChange(HOOK, EVERYWHERE, str(hook.path), 0, owner),)

    async def _freed_hook(self, trigger: Trigger) -> tuple[RecordChange, ...]:
        record = None if trigger.path is None else await self.store.record(HOOK, EVERYWHERE, trigger.path)
        return () if record is None else (RecordChange(*record[:4], None),)

    def _hook_secrets(self, trigger: Trigger) -> list[str]:
        """Those that are good now, the newest first."""
        now = self.now()
        good = [nonce for nonce, until in trigger.nonces.items() if until is None or until > now]
        ordered = sorted(good, key=lambda nonce: trigger.nonces[nonce] is not None)
        return [hook_secret(self.store.secret, self.workspace, trigger.id, nonce) for nonce in ordered]

    def _delivery(self, trigger: Trigger, key: str, facts: Mapping[str, Json]) -> RecordChange:
        body: dict[str, Json] = {"at": self.now(), **facts}
        return RecordChange(DELIVERY, self.workspace, f"{trigger.id}/{key}", 0, body)


def _ready_made(name: str) -> ReadyMade:
    if name not in READY_MADE:
        raise InvalidInput("ready_made", f"must be one of {', '.join(READY_MADE)}")
    return READY_MADE[name]


def _cause(trigger: Trigger, ref: str, why: str) -> Cause:
    return Cause(f"event:{trigger.id}", trigger.source.value, ref, why or trigger.id)


def told_of(trigger: Trigger, happened: Happened, outcome: Outcome, why: str) -> Fire:
    return Fire(
        source=trigger.fires_as,
        key=fires.key_at(happened.at, happened.what),
        outcome=outcome,
        why=why,
        at=happened.at,
        chain=happened.chain,
    )


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _watched(trigger: Trigger, record: Record | None) -> Watched | None:
    if trigger.source is not Source.RULE:
        return None
    seen = figures.seen_in(record)
    return Watched(seen.mean, len(seen.values), figures.quiet_until(figures.rule_of(trigger.settings), seen))
