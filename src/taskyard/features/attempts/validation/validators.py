"""Outputs that another agent judges: handed in, put before a validator, and accepted or refused by its verdict.

The task and its validator move together: whatever ends one of them is in the same set as what that means for the
other, so that no output waits for a verdict which nobody is going to give.
"""

from __future__ import annotations

from typing import Any

from taskyard.core import outcomes
from taskyard.core.changes import ChangeSet, Output, Record, merged
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.outcomes import BY_THE_YARD, Report
from taskyard.core.policy import policy_of
from taskyard.core.task import Attempt, Definition, Failure, Hot, Status, TaskId, Trait
from taskyard.definition.definition import lane_of
from taskyard.features.attempts.endings.failure_path import FailurePath, receipt
from taskyard.features.attempts.validation import rules as validation_rules
from taskyard.features.attempts.views import Receipt
from taskyard.features.breakers.trips import BreakerTrips
from taskyard.ledger.ledger import Ledger


class Validators:
    def __init__(self, ledger: Ledger, breaker_trips: BreakerTrips, failure_path: FailurePath) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._breaker_trips = breaker_trips
        self._failure_path = failure_path

    async def failed(self, hot: Hot, failure: Failure, report: Report, **how: Any) -> tuple[ChangeSet, Receipt]:
        failed, answer = await self._failure_path.decide(hot, failure, report, **how)
        if hot.traits & Trait.JUDGES and answer.status is Status.DEAD_LETTERED:
            why = f"{failure.reason}: {failure.error}"
            failed = merged([failed, *await self._given_up(hot, why)])
        return failed, answer

    async def submission(self, hot: Hot, row: Output, report: Report) -> tuple[ChangeSet, Receipt]:
        """Hand the output in, and make the validator that judges it."""
        now, definition = self._ledger.now(), await self._ledger.definition(hot.id)
        policy = policy_of(definition)
        known = (await self._ledger.configuration.fresh()).agents
        asked = validation_rules.validator(
            hot,
            definition,
            row,
            task_id=self._ledger.mint_task(),
            policy=policy,
            now=now,
            maker=None if hot.agent is None else known.get(hot.agent),
        )
        (lane,) = await self._ledger.configuration.lane_ids([lane_of(asked, failures=0)])
        born = validation_rules.validator_born(asked, policy, lane=lane, height=hot.height, now=now)
        step = outcomes.submitted(hot, type_=definition.type, output=row, validator=asked.id, report=report, now=now)
        handed_in = step._replace(tasks=(born,), records=(validation_rules.begun(hot, asked.id),))
        return handed_in, receipt(step.changes[0].after)

    async def verdict_sets(self, validator: Hot, verdict: validation_rules.Verdict) -> list[ChangeSet]:
        """What the verdict does to the task it is about."""
        record = await self._ledger.judging_of(validator)
        if record is None:
            return []
        hot = await self._ledger.load(TaskId(record.id))
        if not verdict.passed:
            return [await self._refused(hot, record, validation_rules.rejection(verdict, validator.id))]
        definition, now = await self._ledger.definition(hot.id), self._ledger.now()
        facts: dict[str, Json] = {"validator": validator.id}
        attempt = await self._handed_in_as(hot)
        step = outcomes.approved(hot, attempt, type_=definition.type, facts=facts, now=now)
        if hot.circuit % 2:
            step = await self._breaker_trips.probe_passed(hot, step)
        return [step._replace(records=(*step.records, validation_rules.over(record)))]

    async def _given_up(self, validator: Hot, why: str) -> list[ChangeSet]:
        """What it does to the task that there will be no verdict."""
        record = await self._ledger.judging_of(validator)
        if record is None:
            return []
        hot = await self._ledger.load(TaskId(record.id))
        return [await self._refused(hot, record, validation_rules.unavailable(validator.id, why))]

    async def _refused(self, hot: Hot, record: Record, failure: Failure) -> ChangeSet:
        failed, _ = await self.failed(hot, failure, BY_THE_YARD)
        attempt = validation_rules.judged_attempt(await self._handed_in_as(hot), failed.attempts[0])
        return failed._replace(attempts=(attempt,), records=(*failed.records, validation_rules.over(record)))

    async def cancelled(self, hot: Hot, reason: str, by: str | None = None) -> ChangeSet:
        """The cancelled task, and what that means where it judges or is judged."""
        step = outcomes.cancelled(
            hot, type_=await self._ledger.type_of(hot), reason=reason, by=by, now=self._ledger.now()
        )
        if hot.traits & Trait.JUDGES:
            return merged([step, *await self._given_up(hot, f"cancelled: {reason}")])
        if hot.status is not Status.VALIDATING:
            return step
        record = await self._store.record("judging", self._workspace, hot.id)
        if record is None:
            return step
        validator = await self._ledger.load(TaskId(str(record.body["validator"])))
        dismissed = outcomes.cancelled(
            validator,
            type_=await self._ledger.type_of(validator),
            reason=f"{hot.id} was cancelled",
            by=by,
            now=self._ledger.now(),
        )
        return merged([step, dismissed._replace(records=(validation_rules.over(record),))])

    async def _handed_in_as(self, hot: Hot) -> Attempt:
        return next(each for each in await self._store.attempts(hot.id) if each.number == hot.attempt)


def refuse_validator(hot: Hot, definition: Definition) -> None:
    """What was judged has gone its way by now: a validator that is run again has nobody to tell."""
    if hot.traits & Trait.JUDGES:
        raise InvalidInput("task_id", f"{hot.id} judges another task's output: run {definition.parent_id} again")
