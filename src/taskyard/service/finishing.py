"""How attempts end: complete, fail, release; and what is remembered of them on the way."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeVar, Unpack

from taskyard.core import breaker as breakers
from taskyard.core import completions, outcomes, throttle, transitions
from taskyard.core.breaker import Breaker
from taskyard.core.changes import ChangeSet, Checkpoint, Event, Expect, Output, RecordChange
from taskyard.core.completions import End, Likeness
from taskyard.core.errors import Contended, LeaseLost, ReportRequired, TaskyardError
from taskyard.core.failure import Decision, decide
from taskyard.core.json_value import Json, canonical, compact, encode
from taskyard.core.lease import Lease, seal
from taskyard.core.outcomes import BY_THE_YARD, Report
from taskyard.core.policy import policy_of
from taskyard.core.task import (
    WAITING,
    AgentId,
    Attempt,
    Definition,
    Failure,
    Hot,
    LaneId,
    Reason,
    TaskId,
    Trait,
    dag_of,
)
from taskyard.core.units import Micros
from taskyard.definition import arguments, fields
from taskyard.definition.definition import lane_of, models_for
from taskyard.features.artifacts.visibility import Filing
from taskyard.features.attempts.output_checks import objection
from taskyard.features.attempts.views import Receipt
from taskyard.features.budgets.spend import NOTHING, Reported, reported
from taskyard.features.budgets.views import Spent
from taskyard.ledger.batcher import Batcher
from taskyard.ledger.ledger import TRIES, KeyTaken
from taskyard.ledger.options import Options
from taskyard.stores.contract import OutcomeUnknown, Store

T = TypeVar("T")
_Places = tuple[int, ...]  # in a batch: of what lands as one set

COMPLETED_AT_ONCE = 500
WORTH_DECIDING = 50  # outputs that are decided on while those before them are on their way into the store
NO_REPORT = frozenset({None, "null", '""', "{}", "[]"})


class _HandedIn(NamedTuple):
    """An output, and what its agent says about the attempt."""

    task_id: TaskId
    sealed: str
    output: Json
    text: str
    artifacts: tuple[str, ...]
    decision_report: str | None
    report: Report


class Finishing(Filing):
    def __init__(self, store: Store, options: Options) -> None:
        super().__init__(store, options)
        self._completions = Batcher(self._complete_all, most=COMPLETED_AT_ONCE, worth_a_second=WORTH_DECIDING)

    async def complete(
        self,
        task_id: str,
        lease: str,
        output: Json = None,
        *,
        artifacts: Sequence[str] = (),
        decision_report: Json = None,
        **spent: Unpack[Spent],
    ) -> Receipt:
        """Hand the output in. One that fails its validation is a failed attempt, reason `invalid_output`."""
        text = encode(output, field="output", max_bytes=self.options.sizes.max_output_bytes)
        explained = None
        if decision_report is not None:
            explained = encode(decision_report, field="decision_report", max_bytes=self.options.sizes.max_output_bytes)
        made = arguments.names("artifacts", artifacts, longest=1000)
        digest = _digest("complete", output, list(made), decision_report)
        report = Report("complete", digest, *reported(**spent))
        handed_in = _HandedIn(TaskId(task_id), seal(lease), output, text, made, explained, report)
        return await self._completions.ask(handed_in)

    async def _complete_all(self, handed_in: Sequence[_HandedIn]) -> list[Receipt | Exception]:
        """Decide on many outputs from one read, and land them in one commit. Each stands or falls alone."""
        rows = self._taken_from_hand(handed_in)
        in_hand = set(rows)
        if unknown := [each.task_id for each in handed_in if each.task_id not in rows]:
            rows |= await self._load_all(unknown)
        answers: list[Receipt | Exception | None] = [None] * len(handed_in)
        sets: dict[_Places, ChangeSet] = {}
        together: dict[Likeness, dict[int, End]] = {}
        for place, each in enumerate(handed_in):
            # Of two for one task the later waits for what becomes of the first.
            if (row := rows.pop(each.task_id, None)) is None:
                continue
            unbeaten = each.task_id in in_hand
            if (likeness := self._likeness(row, each, unbeaten=unbeaten)) is not None:
                output = Output(row.id, row.attempt, each.text, (), each.decision_report)
                together.setdefault(likeness, {})[place] = End(row, output, each.report)
                continue
            try:
                change_set, answers[place] = await self._handed_in(row, each)
            except TaskyardError as error:
                answers[place] = error
            else:
                if change_set is not None:
                    sets[place,] = _unbeaten(change_set) if unbeaten else change_set
        for likeness, ends in together.items():
            sets[tuple(ends)] = accepted = self._accepted(likeness, list(ends.values()))
            for place, change in zip(ends, accepted.changes, strict=True):
                answers[place] = receipt(change.after)
        for place in await self._land_completions(sets, together):
            answers[place] = None
        return [
            await self._complete_alone(each) if answer is None else answer
            for each, answer in zip(handed_in, answers, strict=True)
        ]

    def _likeness(self, hot: Hot, handed_in: _HandedIn, *, unbeaten: bool) -> Likeness | None:
        """None: `_handed_in` finds out more."""
        if hot.lane not in self._configuration.lanes() or hot.lease != handed_in.sealed or handed_in.artifacts:
            return None
        return completions.likeness(hot, unbeaten=unbeaten)

    def _accepted(self, likeness: Likeness, ends: Sequence[End]) -> ChangeSet:
        type_ = self._configuration.lane(likeness.lane).type
        return completions.completed(ends, likeness, type_=type_, now=self.now())

    async def _land_completions(
        self, sets: Mapping[_Places, ChangeSet], together: Mapping[Likeness, Mapping[int, End]]
    ) -> Iterable[int]:
        """Land the sets, and say which were met by something that moved. What came together then goes one by one."""
        moved = await self._land_ends(sets)
        crowds = {places for places in moved if len(places) > 1}
        ends = {
            (place,): self._accepted(likeness, [end])
            for likeness, each in together.items()
            if tuple(each) in crowds
            for place, end in each.items()
        }
        again = await self._land_ends(ends)
        return [place for places in (*moved, *again) if places not in crowds for place in places]

    async def _land_ends(self, sets: Mapping[_Places, ChangeSet]) -> list[_Places]:
        try:
            return await self._land_all(sets)
        except OutcomeUnknown:
            return [places for places, change_set in sets.items() if not await self.ledger.is_stored(change_set)]

    def _taken_from_hand(self, handed_in: Sequence[_HandedIn]) -> dict[TaskId, Hot]:
        rows: dict[TaskId, Hot] = {}
        for each in handed_in:
            row = self._in_hand.take(each.sealed)
            if row is not None and row.id == each.task_id:
                rows[row.id] = row
        return rows

    async def _complete_alone(self, handed_in: _HandedIn) -> Receipt | Exception:
        """The patient way, for what something got in the way of."""

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            return await self._handed_in(await self._load(handed_in.task_id), handed_in)

        try:
            return await self._land_end(decide)
        except TaskyardError as error:
            return error

    async def _handed_in(self, hot: Hot, handed_in: _HandedIn) -> tuple[ChangeSet | None, Receipt]:
        if hot.lease != handed_in.sealed:
            report = handed_in.report
            return None, answered(await self._replayed(hot, handed_in.sealed, report.verb, report.digest))
        files = await self._files_of(hot, handed_in.artifacts)
        row = Output(hot.id, hot.attempt, handed_in.text, files, handed_in.decision_report)
        return await self._completion(hot, row, handed_in.output, handed_in.report)

    async def _completion(self, hot: Hot, row: Output, output: Json, report: Report) -> tuple[ChangeSet, Receipt]:
        now = self.now()
        transitions.allow(hot, "complete")
        definition = await self._define(hot.id) if hot.traits else None
        if definition is not None and hot.traits & Trait.REPORTED and row.decision_report in NO_REPORT:
            raise ReportRequired(hot.id)
        if hot.reserve is not None and outcomes.cost_of(hot, report) > hot.reserve:
            failure = Failure(reason=Reason.BUDGET_EXCEEDED, error="reported cost is above max_cost_usd")
            return await self._failure_set(hot, failure, report)
        if definition is not None and (wrong := objection(definition, output)) is not None:
            return await self._failure_set(hot, Failure(reason=Reason.INVALID_OUTPUT, error=wrong), report)
        change_set = outcomes.completed(
            hot,
            type_=await self._type_of(hot),
            output=row,
            validated=definition is not None and bool(hot.traits & Trait.VALIDATED),
            report=report,
            outbox=() if definition is None else outcomes.remembered(hot, definition, row, now),
            now=now,
        )
        if hot.circuit % 2:
            change_set = await self._probe_passed(hot, change_set)
        return change_set, receipt(change_set.changes[0].after)

    async def fail(
        self,
        task_id: str,
        lease: str,
        reason: str = Reason.AGENT_ERROR,
        error: str = "",
        *,
        details: Json = None,
        retry_after_sec: float | None = None,
        **spent: Unpack[Spent],
    ) -> Receipt:
        """Say that the attempt failed. What follows is decided by the reason and the task's policy."""
        encode(details, field="details", max_bytes=self.options.sizes.max_output_bytes)
        failure = Failure(reason=fields.text(reason, "reason", most=100), error=_printable(error), details=details)
        digest = _digest("fail", failure.reason, failure.error, details)
        report = Report("fail", digest, *reported(**spent))
        wait = None if retry_after_sec is None else arguments.duration("retry_after_sec", retry_after_sec)
        return await self.fail_attempt(TaskId(task_id), seal(lease), failure, report, retry_after=wait)

    async def fail_attempt(
        self,
        task_id: TaskId,
        sealed: str,
        failure: Failure,
        report: Report = BY_THE_YARD,
        *,
        retry_after: Micros | None = None,
        in_company: bool = False,
    ) -> Receipt:
        """Fail the attempt under this sealed lease; the answer to a repeated call is the first one's."""

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            hot = await self._load(task_id)
            if hot.lease != sealed:
                return None, await self._failed_before(hot, sealed, report)
            return await self._failure_set(hot, failure, report, retry_after=retry_after, in_company=in_company)

        return await self._land_end(decide)

    async def breaker_kind(self, hot: Hot) -> tuple[str, str, int]:
        """The breaker that counts this attempt, and the generation it was claimed under."""
        return hot.workspace, await self._type_of(hot), hot.circuit

    async def _failed_before(self, hot: Hot, sealed: str, report: Report) -> Receipt:
        for attempt in await self.store.attempts(hot.id):
            if attempt.lease == sealed and attempt.verb == report.verb and attempt.digest == report.digest:
                return answered(attempt)
        raise LeaseLost(hot.id)

    async def _failure_set(
        self,
        hot: Hot,
        failure: Failure,
        report: Report,
        *,
        retry_after: Micros | None = None,
        expiring: bool = False,
        in_company: bool = False,
    ) -> tuple[ChangeSet, Receipt]:
        now = self.now()
        definition = await self._define(hot.id)
        planning = await self._configuration.fresh()
        history = await self.store.attempts(hot.id)
        decision = decide(
            hot,
            definition,
            policy_of(definition),
            failure,
            failed_by=_failed_by(history, hot),
            dice=self.options.dice(),
            retry_after=retry_after,
            reported=report.verb == "fail",
            in_company=in_company,
            now=now,
        )
        lane, facts = await self._fallback(hot, definition, decision)
        circuit = planning.breaker(definition.type)
        change_set = outcomes.failed(
            hot, decision, failure, report, circuit=circuit, lane=lane, facts=facts, expiring=expiring, now=now
        )
        if decision.wait:
            model = report.model or next(iter(models_for(definition, hot.failures)), None)
            where = throttle.scope(definition.type, model)
            standing = planning.throttles.get(where)
            slowed = throttle.throttled(self.workspace, where, standing, wait=decision.wait, now=now)
            change_set = change_set if slowed is None else _with(change_set, *slowed)
        if decision.breaks and breakers.awaits(circuit, hot.circuit):
            change_set = _with_move(change_set, circuit, failure, now)
        change_set = await self._keyed_again(change_set)
        return change_set, receipt(change_set.changes[0].after)

    async def _fallback(
        self, hot: Hot, definition: Definition, decision: Decision
    ) -> tuple[LaneId | None, dict[str, Json] | None]:
        """From the second failure on other models are used, which puts the task into another lane."""
        failures = hot.failures + decision.counted
        if not definition.fallback_models or failures != 2:
            return None, None
        (lane,) = await self._lanes([lane_of(definition, failures=failures)])
        return lane, {"models": list[Json](definition.fallback_models)}

    async def _probe_passed(self, hot: Hot, change_set: ChangeSet) -> ChangeSet:
        planning = await self._configuration.fresh()
        circuit = planning.breaker(await self._type_of(hot))
        if not breakers.awaits(circuit, hot.circuit):
            return change_set
        move = breakers.closed(circuit, why=f"probe {hot.id} completed", now=change_set.at)
        return _with(change_set, move.record, move.event)._replace(counts=(*change_set.counts, *move.counts))

    async def release(self, task_id: str, lease: str) -> Receipt:
        """Give the task back unfinished. No attempt is counted."""

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            hot = await self._load(TaskId(task_id))
            if hot.lease != seal(lease):
                return None, answered(await self._replayed(hot, seal(lease), "release", ""))
            change_set = outcomes.released(hot, Report("release", ""), type_=await self._type_of(hot), now=self.now())
            change_set = await self._keyed_again(change_set)
            return change_set, receipt(change_set.changes[0].after)

        return await self._land_end(decide)

    async def _land_end(
        self, decide: Callable[[], Awaitable[tuple[ChangeSet | None, T]]], *, in_cascade: bool = False
    ) -> T:
        """Land the end of an attempt. Where somebody else takes its key meanwhile, it is decided anew."""
        for _ in range(TRIES):
            try:
                return await self._land(decide, in_cascade=in_cascade)
            except KeyTaken:
                continue
        raise Contended(tries=TRIES)

    async def _keyed_again(self, change_set: ChangeSet) -> ChangeSet:
        """A task that let its key go when it started has it again while it waits; where another waits it gives way."""
        change = change_set.changes[0]
        if not change.after.traits & Trait.KEY_WHILE_WAITING or change.after.status not in WAITING:
            return change_set
        key = (await self._define(change.after.id)).idempotency_key
        if key is None:
            return change_set
        if (owner := (await self.store.by_key(self.workspace, [key])).get(key, change.after.id)) != change.after.id:
            return outcomes.gave_way(change_set, to=owner, now=change_set.at)
        return change_set._replace(changes=(change._replace(after=change.after._replace(idempotency_key=key)),))

    async def checkpoint(self, task_id: str, lease: str, name: str, data: Json, **spent: Unpack[Spent]) -> Json:
        """Store the result of a named step once, and answer with the one that is stored.

        What the attempt has cost so far is stored in the same change.
        """
        name = arguments.name("name", name)
        totals = reported(**spent)
        text = await self._fitting(task_id, lease, name, data)

        async def decide() -> tuple[ChangeSet | None, Json]:
            hot = await self._held(TaskId(task_id), Lease(lease))
            for stored in await self.store.checkpoints(hot.id):
                if stored.name == name:
                    return None, json.loads(stored.data)
            return self._noted(hot, name, text, totals), data

        return await self._land(decide)

    async def checkpoints(self, task_id: str) -> dict[str, Json]:
        """What is remembered of the task's steps and waits, by their names."""
        return await self._notes(await self._load(TaskId(task_id)))

    async def _notes(self, hot: Hot) -> dict[str, Json]:
        return {row.name: json.loads(row.data) for row in await self.store.checkpoints(hot.id)}

    async def message(self, task_id: str, lease: str, message: Json) -> None:
        """Something the agent said or did, for those who watch. It is an event and nothing more."""
        said = message if isinstance(message, dict) else {"text": message}
        text = encode(said, field="message", max_bytes=self.options.sizes.max_output_bytes)
        await self._tell("task.message", TaskId(task_id), Lease(lease), text)

    async def _tell(self, name: str, task_id: TaskId, lease: Lease, text: str) -> None:
        async def decide() -> tuple[ChangeSet, None]:
            hot, now = await self._held(task_id, lease), self.now()
            event = Event(name, hot.workspace, hot.id, dag_of(hot), now, None, None, hot.attempt, text)
            return ChangeSet(expects=(Expect(hot.id, hot.version),), events=(event,), at=now), None

        await self._land(decide)

    def _noted(self, hot: Hot, name: str, text: str, totals: Reported = NOTHING) -> ChangeSet:
        """A step's result, guarded by the version: whoever lost the lease is behind."""
        row, now = Checkpoint(hot.id, name, hot.attempt, text), self.now()
        if totals != NOTHING:
            cost, tokens_in, tokens_out, _ = totals
            change = transitions.step(hot, name=name, cost=cost, tokens_in=tokens_in, tokens_out=tokens_out, now=now)
            return ChangeSet(changes=(change,), checkpoints=(row,), at=now)
        facts = compact({"step": name, "agent": hot.agent})
        event = Event("task.step", hot.workspace, hot.id, dag_of(hot), now, None, None, hot.attempt, facts)
        return ChangeSet(expects=(Expect(hot.id, hot.version),), checkpoints=(row,), events=(event,), at=now)


def receipt(hot: Hot) -> Receipt:
    return Receipt(hot.id, hot.status, hot.version, hot.failures, hot.wake_at)


def answered(attempt: Attempt) -> Receipt:
    return Receipt(attempt.task_id, attempt.status, attempt.version, attempt.failures, attempt.wake_at)


def _digest(*arguments: Json) -> str:
    """What a repeated call is recognised by."""
    return sha256(canonical(list(arguments)).encode()).hexdigest()[:32]


def _failed_by(history: Sequence[Attempt], hot: Hot) -> list[AgentId]:
    """The agents of the counted failures that this one adds to."""
    counted = [attempt.agent for attempt in history if attempt.counted]
    return counted[len(counted) - hot.failures :] if hot.failures else []


def _unbeaten(change_set: ChangeSet) -> ChangeSet:
    """Decided on a row that was not read again: it may not have been heard of in between."""
    change, *others = change_set.changes
    return change_set._replace(changes=(change._replace(unbeaten=True), *others))


def _printable(error: str) -> str:
    """An error is shown to people and kept by every store alike. It is mended where it must be, never refused."""
    return str(error).replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()[:10_000]


def _with(change_set: ChangeSet, record: RecordChange, event: Event) -> ChangeSet:
    return change_set._replace(records=(*change_set.records, record), events=(*change_set.events, event))


def _with_move(change_set: ChangeSet, circuit: Breaker, failure: Failure, now: Micros) -> ChangeSet:
    move = breakers.opened(circuit, why=f"probe failed: {failure.reason}", now=now)
    moved = _with(change_set, move.record, move.event)
    return moved._replace(counts=(*moved.counts, *move.counts), outbox=(*moved.outbox, *move.outbox))
