"""Triggers in a yard: added, looked at, paused, and fired by whoever has heard of something.

Everything that comes is known by a key, stored as new in the same change as the work it makes: what comes twice, or is
heard of by two processes, makes that work once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as changed
from hashlib import sha256
from secrets import token_hex
from typing import Any, TypedDict

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, sound_object
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import Micros
from taskyard.definition import arguments, fields
from taskyard.features.schedules.service import FIRES_SHOWN
from taskyard.features.sources.fire_log import FireLog
from taskyard.features.sources.fires import Fire, FireOutcome, source_id
from taskyard.features.sources.from_template import TemplatedWork, template_of
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.features.triggers import figures
from taskyard.features.triggers import rules as triggers
from taskyard.features.triggers.rules import KIND, READY_MADE, ReadyMade, SourceName, Trigger, trigger_of
from taskyard.features.triggers.source import settings as source_settings
from taskyard.features.triggers.trigger_firing import Occurrence, TriggerFiring, cause_of, fire_of
from taskyard.features.triggers.views import AddedTrigger, TriggerView, Watched
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL

HOOK = "hook"  # the kind of record that says whose a path is: who delivers to it says no workspace
LISTENING = "listening"  # what a trigger has seen of the yard's own events


class PassedOverBody(TypedDict, total=False):
    passed_over: str | None


PASSED_OVER = RecordKind(LISTENING, PassedOverBody)
MOST_DATA = 1 << 20  # bytes


class Triggers:
    def __init__(
        self, ledger: Ledger, templated_work: TemplatedWork, fire_log: FireLog, trigger_firing: TriggerFiring
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._templated_work = templated_work
        self._fire_log = fire_log
        self._trigger_firing = trigger_firing

    async def add(
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
        """Make a task or a DAG from a template when something happens: webhook, files, dag, rule or an
        installed source.

        `ready_made` gives conditions and a template where none are given: pull-request-opened, json.
        """
        given = ReadyMade({}, None) if ready_made is None else _ready_made(ready_made)
        trigger = Trigger(
            id=source_id("id", trigger_id),
            source=arguments.name("source", source),
            settings=source_settings(source, settings or {}),
            only=triggers.conditions(given.only if only is None else only),
            template=template_of(given.task if task is None and dag is None else task, dag),
            created_at=self._ledger.now(),
            created_by=arguments.name("by", by),
            paused=fields.truth(paused, "paused"),
        )
        await self._templated_work.check(dict(trigger.template), cause_of(trigger, "check", ""))
        return await self._put(trigger, replace=replace, by=by)

    async def _put(self, trigger: Trigger, *, replace: bool, by: str) -> AddedTrigger:
        async def decide() -> tuple[ChangeSet, Trigger]:
            record = await self._store.record(KIND, self._workspace, trigger.id)
            before = None if record is None or trigger_of(record).removed_at is not None else trigger_of(record)
            if before is not None and not replace:
                raise InvalidInput("id", "is that of another trigger; say that it is to be replaced, if so")
            if before is not None and before.source != trigger.source:
                raise InvalidInput("source", f"must stay {before.source}; remove the trigger to make it another")
            is_hook = trigger.source == SourceName.WEBHOOK
            # One that is replaced keeps its secret and its path: its senders need not change.
            nonces = before.nonces if before is not None and before.nonces else {token_hex(16): None}
            path = token_hex(16) if before is None else before.path
            after = changed(trigger, nonces=nonces, path=path) if is_hook else trigger
            owned = self._owned_hook(after) if is_hook and before is None else ()
            return self._moved(record, after, "added", by, *owned), after

        stored = await self._ledger.commit(decide)
        is_new = stored.source == SourceName.WEBHOOK and not replace
        return AddedTrigger(TriggerView(stored), self._trigger_firing.hook_secrets(stored)[0] if is_new else None)

    async def list(self) -> list[TriggerView]:
        """The triggers of this workspace, by their ids."""
        found = [trigger_of(record) for record in await self._store.records(KIND, self._workspace)]
        there = sorted((each for each in found if each.removed_at is None), key=lambda each: each.id)
        return [TriggerView(each) for each in there]

    async def get(self, trigger_id: str) -> TriggerView:
        """One trigger, with its last fires, and what it has seen and passed over."""
        _, trigger = await self._trigger_firing.stored(trigger_id)
        record = await self._store.record(LISTENING, self._workspace, trigger.id)
        passed_over = None if record is None else PASSED_OVER.of(record).get("passed_over")
        last = await self._fire_log.of(trigger.fires_as, FIRES_SHOWN, None)
        return TriggerView(trigger, tuple(last), _watched(trigger, record), passed_over)

    async def fires(self, trigger_id: str, *, limit: int = 50, below: str | None = None) -> list[Fire]:
        """When it fired, or why it did not, latest first; `below` is the key of the last one seen."""
        _, trigger = await self._trigger_firing.stored(trigger_id)
        return await self._fire_log.of(trigger.fires_as, limit, below)

    async def pause(self, trigger_id: str, *, by: str = LOCAL) -> None:
        """Let nothing fire it until it is resumed."""
        await self._move(trigger_id, "paused", by, paused=True)

    async def resume(self, trigger_id: str, *, by: str = LOCAL) -> None:
        await self._move(trigger_id, "resumed", by, paused=False)

    async def remove(self, trigger_id: str, *, by: str = LOCAL) -> None:
        """End it. What it has made stays, and its fires for as long as fires are kept."""
        await self._move(trigger_id, "removed", by, removed_at=self._ledger.now(), nonces={})

    async def rotate(self, trigger_id: str, *, grace_sec: float = 0, by: str = LOCAL) -> str:
        """Give a hook another secret, shown this once. The one before is good for as long as the grace says."""
        until = Micros(self._ledger.now() + arguments.duration("grace_sec", grace_sec))

        async def decide() -> tuple[ChangeSet, Trigger]:
            record, trigger = await self._trigger_firing.stored(trigger_id)
            if trigger.source != SourceName.WEBHOOK:
                raise InvalidInput("id", "must be that of a webhook: no other trigger has a secret")
            current = next(nonce for nonce, end in trigger.nonces.items() if end is None)
            after = changed(trigger, nonces={token_hex(16): None, **({current: until} if grace_sec else {})})
            return self._moved(record, after, "rotated", by), after

        return self._trigger_firing.hook_secrets(await self._ledger.commit(decide))[0]

    async def fire(
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
        _, trigger = await self._trigger_firing.stored(trigger_id)
        values = sound_object(data, field="data", max_bytes=MOST_DATA)
        now = self._ledger.now()
        came = None if key is None else self._trigger_firing.delivery(trigger, _digest(arguments.words("key", key)), {})
        happened = Occurrence(
            values=values,
            why=f"fired by {by}",
            at=now,
            what=_digest(key)[:10] if key else token_hex(5),
            came=came,
            by=arguments.name("by", by),
        )
        if dry_run:
            return (await self._trigger_firing.decide(trigger, happened))[0]
        before = fire_of(trigger, happened, FireOutcome.SKIPPED, "it came before, and has had its effect")
        return await self._trigger_firing.fire_at(trigger, happened) or before

    async def _move(self, trigger_id: str, verb: str, by: str, **fields_: Any) -> None:
        async def decide() -> tuple[ChangeSet, None]:
            record, trigger = await self._trigger_firing.stored(trigger_id)
            freed = await self._freed_hook(trigger) if verb == "removed" else ()
            return self._moved(record, changed(trigger, **fields_), verb, by, *freed), None

        await self._ledger.commit(decide)

    def _moved(self, record: Record | None, trigger: Trigger, verb: str, by: str, *more: RecordChange) -> ChangeSet:
        version = 0 if record is None else record.version
        row = RecordChange(KIND, self._workspace, trigger.id, version, trigger.body())
        audited = self._ledger.audit(f"trigger.{verb}", by, {"trigger": trigger.id, "source": trigger.source})
        return ChangeSet(records=(row, *more), events=(audited,), at=self._ledger.now())

    def _owned_hook(self, hook: Trigger) -> tuple[RecordChange, ...]:
        """Who delivers to a path says neither workspace nor name: both are found by it."""
        owner: dict[str, Json] = {"workspace": self._workspace, "trigger": hook.id}
        return (RecordChange(HOOK, EVERYWHERE, str(hook.path), 0, owner),)

    async def _freed_hook(self, trigger: Trigger) -> tuple[RecordChange, ...]:
        record = None if trigger.path is None else await self._store.record(HOOK, EVERYWHERE, trigger.path)
        return () if record is None else (RecordChange(*record[:4], None),)


def _ready_made(name: str) -> ReadyMade:
    if name not in READY_MADE:
        raise InvalidInput("ready_made", f"must be one of {', '.join(READY_MADE)}")
    return READY_MADE[name]


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _watched(trigger: Trigger, record: Record | None) -> Watched | None:
    if trigger.source != SourceName.RULE:
        return None
    seen = figures.seen_in(record)
    return Watched(seen.mean, len(seen.values), figures.quiet_until(figures.rule_of(trigger.settings), seen))
