"""Triggers that fire: once at what happened, whoever hears of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as changed
from typing import NamedTuple

from taskyard.core.changes import ChangeSet, Event, Record, RecordChange
from taskyard.core.errors import CycleFound, InvalidInput, NotFound
from taskyard.core.json_value import Json
from taskyard.core.units import Micros
from taskyard.definition import arguments
from taskyard.features.sources import fires
from taskyard.features.sources.fires import Fire, FireOutcome
from taskyard.features.sources.from_template import Cause, Made, TemplatedWork, tasks_of
from taskyard.features.triggers import rules as triggers
from taskyard.features.triggers.rules import KIND, LONGEST_CHAIN, Trigger, trigger_of
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.signing import hook_secret
from taskyard.ledger.tracing import enqueue_span


class Occurrence(NamedTuple):
    """Something that a trigger may fire at."""

    values: Mapping[str, Json]  # what its conditions and its template may name
    why: str
    at: Micros
    what: str  # what came then, as part of the fire's id
    came: RecordChange | None = None  # what makes it the only one of its kind
    chain: int = 0  # how many fires led to it
    by: str | None = None  # who let it happen by hand


DELIVERY = "delivery"  # of what has come, by its key


class TriggerFiring:
    def __init__(self, ledger: Ledger, templated_work: TemplatedWork) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._templated_work = templated_work

    async def fire_at(self, trigger: Trigger, happened: Occurrence) -> Fire | None:
        """Fire once at what happened; None where that is on record already."""

        async def decide() -> tuple[ChangeSet | None, Fire | None]:
            fire, made = await self.decide(trigger, happened)
            row = fire.stored(self._workspace)
            known = happened.came or row
            if await self._store.record(known.kind, self._workspace, known.id) is not None:
                return None, None
            work = made.change_set or ChangeSet(at=self._ledger.now())
            new = (row,) if happened.came is None else (row, happened.came)
            return work._replace(
                records=(*work.records, *new), events=(*work.events, *self._by_hand(fire, happened))
            ), fire

        return await self._ledger.commit_keyed(decide)

    def _by_hand(self, fire: Fire, happened: Occurrence) -> list[Event]:
        facts: dict[str, Json] = {"trigger": fire.source.partition(":")[2], "outcome": fire.outcome.value}
        return [] if happened.by is None else [self._ledger.audit("trigger.fired", happened.by, facts)]

    async def decide(self, trigger: Trigger, happened: Occurrence) -> tuple[Fire, Made]:
        """Whether it fires at this, and the work it makes. A template that does not fit is reported."""
        fire = fire_of(trigger, happened, FireOutcome.FIRED, happened.why)
        if trigger.paused:
            return changed(fire, outcome=FireOutcome.SKIPPED, why="it is paused"), Made(None)
        if (unmet := triggers.unmet(trigger.only, happened.values)) is not None:
            return changed(fire, outcome=FireOutcome.SKIPPED, why=unmet), Made(None)
        if happened.chain > LONGEST_CHAIN:
            why = f"{LONGEST_CHAIN} fires in a row have led to it: triggers that start each other must end"
            return changed(fire, outcome=FireOutcome.SKIPPED, why=why), Made(None)
        try:
            with enqueue_span(tasks_of(trigger.template)):
                made = await self._templated_work.made(
                    trigger.template, happened.values, cause_of(trigger, fire.id, happened.why), {}
                )
        except (InvalidInput, CycleFound) as error:
            return changed(fire, outcome=FireOutcome.FAILED, why=str(error)), Made(None)
        if made.change_set is None:
            fire = changed(fire, why=f"{fire.why}; a live task has the key of what it makes")
        return changed(fire, task_id=made.task_id, dag_id=made.dag_id), made

    async def stored(self, trigger_id: str) -> tuple[Record, Trigger]:
        record = await self._store.record(KIND, self._workspace, arguments.name("id", trigger_id))
        trigger = None if record is None else trigger_of(record)
        if record is None or trigger is None or trigger.removed_at is not None:
            raise NotFound("trigger", trigger_id)
        return record, trigger

    def hook_secrets(self, trigger: Trigger) -> list[str]:
        """Those that are good now, the newest first."""
        now = self._ledger.now()
        good = [nonce for nonce, until in trigger.nonces.items() if until is None or until > now]
        ordered = sorted(good, key=lambda nonce: trigger.nonces[nonce] is not None)
        return [hook_secret(self._store.secret, self._workspace, trigger.id, nonce) for nonce in ordered]

    def delivery(self, trigger: Trigger, key: str, facts: Mapping[str, Json]) -> RecordChange:
        body: dict[str, Json] = {"at": self._ledger.now(), **facts}
        return RecordChange(DELIVERY, self._workspace, f"{trigger.id}/{key}", 0, body)


def cause_of(trigger: Trigger, ref: str, why: str) -> Cause:
    return Cause(f"event:{trigger.id}", trigger.source, ref, why or trigger.id)


def fire_of(trigger: Trigger, happened: Occurrence, outcome: FireOutcome, why: str) -> Fire:
    return Fire(
        source=trigger.fires_as,
        key=fires.key_at(happened.at, happened.what),
        outcome=outcome,
        why=why,
        at=happened.at,
        chain=happened.chain,
    )
