"""What a failed attempt leads to: a retry, a wait, a fallback lane or a dead letter, with breakers and throttles."""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core import breaker as breakers
from taskyard.core import outcomes, throttle
from taskyard.core.breaker import Breaker
from taskyard.core.changes import ChangeSet
from taskyard.core.failure import Decision, decide
from taskyard.core.json_value import Json
from taskyard.core.named_rows import new_row
from taskyard.core.outcomes import Report
from taskyard.core.policy import policy_of
from taskyard.core.task import (
    AgentId,
    Attempt,
    Definition,
    Failure,
    Hot,
    LaneId,
)
from taskyard.core.units import Micros
from taskyard.definition.definition import lane_of, models_for
from taskyard.features.attempts.keys import ReturnedKeys
from taskyard.features.attempts.views import Receipt
from taskyard.features.breakers.trips import with_record
from taskyard.ledger.ledger import Ledger


class FailurePath:
    """Only `Validators.failed` may call it: the death of a validator must reach the task that it judges."""

    def __init__(self, ledger: Ledger, returned_keys: ReturnedKeys) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._returned_keys = returned_keys

    async def decide(
        self,
        hot: Hot,
        failure: Failure,
        report: Report,
        *,
        retry_after: Micros | None = None,
        expiring: bool = False,
        in_company: bool = False,
    ) -> tuple[ChangeSet, Receipt]:
        now = self._ledger.now()
        definition = await self._ledger.definition(hot.id)
        planning = await self._ledger.configuration.fresh()
        history = await self._store.attempts(hot.id)
        decision = decide(
            hot,
            definition,
            policy_of(definition),
            failure,
            failed_by=_failed_by(history, hot),
            dice=self._ledger.options.dice(),
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
            slowed = throttle.throttled(self._workspace, where, standing, wait=decision.wait, now=now)
            change_set = change_set if slowed is None else with_record(change_set, *slowed)
        if decision.breaks and breakers.awaits(circuit, hot.circuit):
            change_set = _with_move(change_set, circuit, failure, now)
        change_set = await self._returned_keys.keyed_again(change_set)
        return change_set, receipt(change_set.changes[0].after)

    async def _fallback(
        self, hot: Hot, definition: Definition, decision: Decision
    ) -> tuple[LaneId | None, dict[str, Json] | None]:
        """From the second failure on other models are used, which puts the task into another lane."""
        failures = hot.failures + decision.counted
        if not definition.fallback_models or failures != 2:
            return None, None
        (lane,) = await self._ledger.configuration.lane_ids([lane_of(definition, failures=failures)])
        return lane, {"models": list[Json](definition.fallback_models)}


def receipt(hot: Hot) -> Receipt:
    return new_row(Receipt, (hot.id, hot.status, hot.version, hot.failures, hot.wake_at))


def _failed_by(history: Sequence[Attempt], hot: Hot) -> list[AgentId]:
    """The agents of the counted failures that this one adds to."""
    counted = [attempt.agent for attempt in history if attempt.counted]
    return counted[len(counted) - hot.failures :] if hot.failures else []


def _with_move(change_set: ChangeSet, circuit: Breaker, failure: Failure, now: Micros) -> ChangeSet:
    move = breakers.opened(circuit, why=f"probe failed: {failure.reason}", now=now)
    moved = with_record(change_set, move.record, move.event)
    return moved._replace(counts=(*moved.counts, *move.counts), outbox=(*moved.outbox, *move.outbox))
