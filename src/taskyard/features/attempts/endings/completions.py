"""Outputs that agents hand in: many are decided on from one read, and stored in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Unpack

from taskyard.core import completions, outcomes, transitions
from taskyard.core.changes import ChangeSet, Output, merged
from taskyard.core.completions import End, SharedFacts
from taskyard.core.errors import ReportRequired, TaskyardError
from taskyard.core.json_value import Json, canonical, encode
from taskyard.core.lease import seal
from taskyard.core.named_rows import new_row
from taskyard.core.outcomes import Report
from taskyard.core.task import (
    Attempt,
    Failure,
    Hot,
    Reason,
    Status,
    TaskId,
    Trait,
)
from taskyard.definition import arguments
from taskyard.features.artifacts.visibility import Visibility
from taskyard.features.attempts.endings.batch_answers import answer_each, check_batch
from taskyard.features.attempts.endings.failure_path import receipt
from taskyard.features.attempts.handed_out import HandedOut
from taskyard.features.attempts.validation import rules as validation_rules
from taskyard.features.attempts.validation.output_checks import objection
from taskyard.features.attempts.validation.validators import Validators
from taskyard.features.attempts.views import Receipt
from taskyard.features.breakers.trips import BreakerTrips
from taskyard.features.budgets import prices
from taskyard.features.budgets.spend import NOTHING, reported
from taskyard.features.budgets.views import Spent
from taskyard.ledger.batcher import Callback
from taskyard.ledger.ledger import Ledger

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


_CONCERNED = int(Trait.JUDGED | Trait.JUDGES)  # a number: this is asked of every task, and flags take their time


HandOver = Callable[[str, str, Json, Sequence[str], Callback[Receipt]], None]


class Completions:
    hand_over: HandOver | None = None  # only where the store is: others have to wait for an answer

    def __init__(
        self,
        ledger: Ledger,
        handed_out: HandedOut,
        breaker_trips: BreakerTrips,
        visibility: Visibility,
        validators: Validators,
    ) -> None:
        self._ledger = ledger
        self._handed_out = handed_out
        self._breaker_trips = breaker_trips
        self._visibility = visibility
        self._validators = validators
        self._line = ledger.queue.line(self._complete_all, most=COMPLETED_AT_ONCE, worth_a_second=WORTH_DECIDING)
        self.hand_over = self._hand_over

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
        if (model := spent.get("model")) is not None:
            await prices.load([model])
        return await self._line.ask(self._checked(task_id, lease, output, artifacts, decision_report, spent))

    def _hand_over(
        self, task_id: str, lease: str, output: Json, artifacts: Sequence[str], callback: Callback[Receipt]
    ) -> None:
        """What `complete` does with an output of which no cost is reported, without a future."""
        self._line.ask_with_callback(self._checked(task_id, lease, output, artifacts, None, {}), callback)

    def _checked(
        self, task_id: str, lease: str, output: Json, artifacts: Sequence[str], decision_report: Json, spent: Spent
    ) -> _HandedIn:
        most = self._ledger.options.sizes.max_output_bytes
        text = "null" if output is None else encode(output, field="output", max_bytes=most)
        explained = None
        if decision_report is not None:
            explained = encode(decision_report, field="decision_report", max_bytes=most)
        made = arguments.names("artifacts", artifacts, longest=1000)
        if output is decision_report is None and not made:
            digest = _NOTHING_HANDED_IN
        else:
            digest = call_digest("complete", output, list(made), decision_report)
        report = new_row(Report, ("complete", digest, *(reported(**spent) if spent else NOTHING)))
        return new_row(_HandedIn, (TaskId(task_id), seal(lease), output, text, made, explained, report))

    async def complete_many(self, results: Sequence[Mapping[str, Any]]) -> list[Receipt | TaskyardError]:
        """Hand in many outputs. Each stands or falls alone, and its answer stands in its place."""
        check_batch(results)
        return await answer_each([self.complete(**result) for result in results])

    async def _complete_all(self, handed_in: Sequence[_HandedIn]) -> list[Receipt | Exception]:
        """Decide on many outputs from one read, and land them in one commit. Each stands or falls alone."""
        rows = self._taken_rows(handed_in)
        in_hand = set(rows)
        if unknown := [each.task_id for each in handed_in if each.task_id not in rows]:
            rows |= await self._ledger.load_all(unknown)
        answers: list[Receipt | Exception | None] = [None] * len(handed_in)
        sets: dict[_Places, ChangeSet] = {}
        together: dict[SharedFacts, dict[int, End]] = {}
        own_lanes = self._ledger.configuration.own_lanes
        for place, each in enumerate(handed_in):
            # Of two for one task the later waits for what becomes of the first.
            if (row := rows.pop(each.task_id, None)) is None:
                continue
            lease_unchanged, facts = each.task_id in in_hand, None
            if row.lane in own_lanes and row.lease == each.sealed and not each.artifacts:
                facts = completions.shared_facts(row, lease_unchanged=lease_unchanged)
            if facts is not None:
                output = new_row(Output, (row.id, row.attempt, each.text, (), each.decision_report))
                together.setdefault(facts, {})[place] = new_row(End, (row, output, each.report))
                continue
            try:
                change_set, answers[place] = await self._handed_in(row, each)
            except TaskyardError as error:
                answers[place] = error
            else:
                if change_set is not None:
                    sets[place,] = _with_lease_unchanged(change_set) if lease_unchanged else change_set
        for facts, ends in together.items():
            sets[tuple(ends)] = accepted = self._accepted(facts, list(ends.values()))
            for place, change in zip(ends, accepted.changes, strict=True):
                answers[place] = receipt(change.after)
        for place in await self._commit_completions(sets, together):
            answers[place] = None
        return [
            await self._complete_alone(each) if answer is None else answer
            for each, answer in zip(handed_in, answers, strict=True)
        ]

    def _accepted(self, facts: SharedFacts, ends: Sequence[End]) -> ChangeSet:
        type_ = self._ledger.configuration.lanes[facts.lane].type
        return completions.completed(ends, facts, type_=type_, now=self._ledger.now())

    async def _commit_completions(
        self, sets: Mapping[_Places, ChangeSet], together: Mapping[SharedFacts, Mapping[int, End]]
    ) -> Iterable[int]:
        """Land the sets, and say which were met by something that moved. What came together then goes one by one."""
        moved = await self._ledger.commit_all(sets)
        crowds = {places for places in moved if len(places) > 1}
        ends = {
            (place,): self._accepted(facts, [end])
            for facts, each in together.items()
            if tuple(each) in crowds
            for place, end in each.items()
        }
        again = await self._ledger.commit_all(ends)
        return [place for places in (*moved, *again) if places not in crowds for place in places]

    def _taken_rows(self, handed_in: Sequence[_HandedIn]) -> dict[TaskId, Hot]:
        rows: dict[TaskId, Hot] = {}
        for each in handed_in:
            row = self._handed_out.take(each.sealed)
            if row is not None and row.id == each.task_id:
                rows[row.id] = row
        return rows

    async def _complete_alone(self, handed_in: _HandedIn) -> Receipt | Exception:
        """The patient way, for what something got in the way of."""

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            return await self._handed_in(await self._ledger.load(handed_in.task_id), handed_in)

        try:
            return await self._ledger.commit_keyed(decide)
        except TaskyardError as error:
            return error

    async def _handed_in(self, hot: Hot, handed_in: _HandedIn) -> tuple[ChangeSet | None, Receipt]:
        if hot.lease != handed_in.sealed:
            report = handed_in.report
            return None, answered(await self._ledger.replayed(hot, handed_in.sealed, report.verb, report.digest))
        files = await self._visibility.files_of(hot, handed_in.artifacts)
        row = Output(hot.id, hot.attempt, handed_in.text, files, handed_in.decision_report)
        return await self._completion(hot, row, handed_in.output, handed_in.report)

    async def _completion(self, hot: Hot, row: Output, output: Json, report: Report) -> tuple[ChangeSet, Receipt]:
        """Accept the output, unless a validator is to be asked first."""
        accepted, answer = await self._own_completion(hot, row, output, report)
        if not hot.traits & _CONCERNED or answer.status is not Status.COMPLETED:
            return accepted, answer
        if hot.traits & Trait.JUDGED:
            return await self._validators.submission(hot, row, report)
        verdict = validation_rules.verdict_of(output)
        return merged([accepted, *await self._validators.verdict_sets(hot, verdict)]), answer

    async def _own_completion(self, hot: Hot, row: Output, output: Json, report: Report) -> tuple[ChangeSet, Receipt]:
        now = self._ledger.now()
        transitions.allow(hot, "complete")
        definition = await self._ledger.definition(hot.id) if hot.traits else None
        if definition is not None and hot.traits & Trait.REPORTED and row.decision_report in NO_REPORT:
            raise ReportRequired(hot.id)
        if hot.reserve is not None and outcomes.cost_of(hot, report) > hot.reserve:
            failure = Failure(reason=Reason.BUDGET_EXCEEDED, error="reported cost is above max_cost_usd")
            return await self._validators.failed(hot, failure, report)
        if definition is not None and (wrong := objection(definition, output)) is not None:
            return await self._validators.failed(hot, Failure(reason=Reason.INVALID_OUTPUT, error=wrong), report)
        change_set = outcomes.completed(
            hot,
            type_=await self._ledger.type_of(hot),
            output=row,
            validated=definition is not None and bool(hot.traits & Trait.VALIDATED),
            report=report,
            now=now,
        )
        if hot.circuit % 2:
            change_set = await self._breaker_trips.probe_passed(hot, change_set)
        return change_set, receipt(change_set.changes[0].after)


def answered(attempt: Attempt) -> Receipt:
    return Receipt(attempt.task_id, attempt.status, attempt.version, attempt.failures, attempt.wake_at)


def call_digest(*arguments: Json) -> str:
    """What a repeated call is recognised by."""
    return sha256(canonical(list(arguments)).encode()).hexdigest()[:32]


def _with_lease_unchanged(change_set: ChangeSet) -> ChangeSet:
    """Decided on a row that was not read again: it may not have been heard of in between."""
    change, *others = change_set.changes
    return change_set._replace(changes=(change._replace(lease_unchanged=True), *others))


_NOTHING_HANDED_IN = call_digest("complete", None, [], None)  # as by every handler that returns nothing
