"""What is stored when an attempt ends: the task's step, the attempt's record, money and slots given back, lifts.

Everything an attempt held is given back by the change that ends it. That change is guarded by the task's version, so
nothing is ever given back twice.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from taskyard.core import breaker, transitions
from taskyard.core.breaker import Breaker
from taskyard.core.changes import (
    Blocker,
    Change,
    ChangeSet,
    Lift,
    Outbox,
    Output,
    Record,
    RecordChange,
    Spend,
)
from taskyard.core.claiming import money_names, stepped_back
from taskyard.core.dag import counted
from taskyard.core.failure import Decision, FollowUp
from taskyard.core.identifiers import (
    batch_blocker,
    child_blocker,
    dag_ceiling,
    key_ceiling,
    probe_ceiling,
    slots_ceiling,
    task_blocker,
    type_slots_ceiling,
)
from taskyard.core.json_value import Json, compact
from taskyard.core.named_rows import new_row
from taskyard.core.notice import LONGEST_ERROR, Notice, notice_row
from taskyard.core.task import (
    HELD,
    KEY_HELD,
    AgentId,
    Attempt,
    DagId,
    Failure,
    Hot,
    LaneId,
    Outcome,
    Status,
    TaskId,
    Trait,
)
from taskyard.core.units import Micros, MicroUsd


class Report(NamedTuple):
    """What an agent says of the attempt that it ends. None: what its heartbeats said stands."""

    verb: str
    digest: str
    cost: MicroUsd | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: str | None = None  # JSON, as `CachedTokens`
    model: str | None = None


class Gathered(NamedTuple):
    step: ChangeSet
    kept: MicroUsd  # that stays reserved until the answer is settled


BY_THE_YARD = Report("expire", "")  # the yard itself ended the attempt


def completed(
    hot: Hot,
    *,
    type_: str,
    output: Output,
    report: Report,
    now: Micros,
    validated: bool = False,
    lease_unchanged: bool = False,
) -> ChangeSet:
    """The output is accepted: everything that waits for this task may go."""
    facts = facts_of(hot, report, type_, now)
    facts["age"] = max(now - hot.created_at, 0)
    change = transitions.complete(hot, validated=validated, now=now, facts=facts, lease_unchanged=lease_unchanged)
    return _ended(
        change,
        Outcome.COMPLETED,
        report,
        type_=type_,
        now=now,
        outputs=(output,),
        lifts=lifted_by(change.after),
        counts=(
            *counted(hot.workspace, hot.dag_id, hot.status, Status.COMPLETED),
            breaker.succeeded(hot.workspace, type_, hot.circuit),
        ),
    )


def submitted(hot: Hot, *, type_: str, output: Output, validator: TaskId, report: Report, now: Micros) -> ChangeSet:
    """The output is handed in for a decision. What the attempt held stays taken, but for its slot and what it cost."""
    cost = cost_of(hot, report)
    facts = {**facts_of(hot, report, type_, now), "validator": validator}
    change = transitions.submit(hot, cost=cost, now=now, facts=facts)
    ended = _ended(change, Outcome.SUBMITTED, report, type_=type_, now=now, outputs=(output,))
    names = money_names(hot.agent, hot.agent_type, hot.dag_id, hot.claimed_at or now)
    settled = change.after.reserved - hot.reserved
    paid = [Spend(hot.workspace, name, settled, cost) for name in names] if settled or cost else []
    return ended._replace(spends=(*_freed_slots(hot), *paid))


def approved(hot: Hot, attempt: Attempt, *, type_: str, facts: transitions.Facts, now: Micros) -> ChangeSet:
    """The verdict is good: what `completed` does, for an attempt that ended when its output was handed in."""
    all_facts = {"type": type_, "age": max(now - hot.created_at, 0), **(facts or {})}
    change = transitions.approve(hot, now=now, facts=all_facts)
    return ChangeSet(
        now,
        changes=(change,),
        attempts=(attempt._replace(outcome=Outcome.COMPLETED),),
        spends=given_back(hot, type_, MicroUsd(0)),
        lifts=lifted_by(change.after),
        counts=(
            *counted(hot.workspace, hot.dag_id, hot.status, Status.COMPLETED),
            breaker.succeeded(hot.workspace, type_, hot.circuit),
        ),
    )


def failed(
    hot: Hot,
    decision: Decision,
    failure: Failure,
    report: Report,
    *,
    circuit: Breaker,
    now: Micros,
    lane: LaneId | None = None,
    facts: transitions.Facts = None,
    expiring: bool = False,
) -> ChangeSet:
    """The attempt failed; the verdict says what follows."""
    all_facts = {**facts_of(hot, report, circuit.type, now), **(facts or {})}
    change = _failed_step(hot, decision, failure, lane=lane, facts=all_facts, now=now)._replace(expiring=expiring)
    tried = replace(failure, reason=decision.reason)
    ended = _ended(
        change, Outcome.FAILED, report, type_=circuit.type, now=now, failure=tried, counts_as_attempt=decision.counted
    )
    buried = change.after.status is Status.DEAD_LETTERED
    tally = breaker.failed(circuit, hot.circuit) if decision.breaks else None
    return ended._replace(
        lifts=_lifted_without_success(change.after) if buried else (),
        counts=(
            *counted(hot.workspace, hot.dag_id, hot.status, change.after.status),
            *(() if tally is None else (tally,)),
        ),
        records=(_dead_letter(change.after, decision, now),) if buried else (),
        outbox=(_death_notice(change.after, decision, failure, now),) if buried else (),
    )


def released(hot: Hot, report: Report, *, type_: str, now: Micros) -> ChangeSet:
    change = transitions.release(hot, now=now, facts=facts_of(hot, report, type_, now))
    return _ended(change, Outcome.RELEASED, report, type_=type_, now=now)


def gave_way(step: ChangeSet, *, to: TaskId, now: Micros) -> ChangeSet:
    """What an attempt's end comes to where the task would be the second to wait under its key: it is cancelled.

    The attempt stays on record as it ended. It uses up none of the task's attempts, of which there will be no more.
    """
    (ended,), (attempt,) = step.changes, step.attempts
    hot = ended.before
    facts: dict[str, Json] = {"agent": hot.agent, "failure": attempt.reason}
    change = transitions.cancel(hot, reason=f"gave way to {to}, which waits for the same", now=now, facts=facts)
    after = change.after
    return step._replace(
        changes=(change._replace(expiring=ended.expiring, lease_unchanged=ended.lease_unchanged),),
        attempts=(
            attempt._replace(
                counted=False, status=after.status, version=after.version, failures=after.failures, wake_at=None
            ),
        ),
        counts=(*step.counts, *counted(hot.workspace, hot.dag_id, hot.status, Status.CANCELLED)),
        lifts=_lifted_without_success(after),
    )


def suspended(
    hot: Hot, report: Report, *, type_: str, blockers: list[str], wake_at: Micros | None, now: Micros
) -> ChangeSet:
    """The task waits, and holds nothing while it does."""
    facts = facts_of(hot, report, type_, now)
    change = transitions.suspend(hot, blockers=blockers, wake_at=wake_at, now=now, facts=facts)
    rows = tuple(Blocker(hot.id, change.after.wait, name) for name in blockers)
    return _ended(change, Outcome.SUSPENDED, report, type_=type_, now=now)._replace(blockers=rows)


def gathered(hot: Hot, report: Report, *, type_: str, batch: TaskId, wake_at: Micros | None, now: Micros) -> Gathered:
    """The task waits for an answer of a provider batch. What it reserved stays taken, but for what it cost so far."""
    step = suspended(hot, report, type_=type_, blockers=[batch_blocker(batch)], wake_at=wake_at, now=now)
    cost = cost_of(hot, report)
    kept = MicroUsd(max(hot.reserved - cost, 0))
    money = money_names(hot.agent, hot.agent_type, hot.dag_id, hot.claimed_at or now)
    others = [spend for spend in step.spends if spend.name not in money]
    moved = [Spend(hot.workspace, name, kept - hot.reserved, cost) for name in money] if hot.reserved or cost else []
    return Gathered(step._replace(spends=(*others, *moved)), kept)


def cancelled(hot: Hot, *, type_: str, reason: str, now: Micros, by: str | None = None) -> ChangeSet:
    """Out of the yard, whatever state it was in."""
    report = Report("cancel", "")
    facts: dict[str, Json] = {} if by is None else {"by": by}
    if hot.status in HELD:
        facts |= {"agent": hot.agent, **facts_of(hot, report, type_, now)}
    change = transitions.cancel(hot, reason=reason, now=now, facts=facts)
    counts = counted(hot.workspace, hot.dag_id, hot.status, Status.CANCELLED)
    lifts = _lifted_without_success(change.after)
    if hot.status in HELD:
        failure = Failure(reason="cancelled", error=reason)
        ended = _ended(change, Outcome.CANCELLED, report, type_=type_, now=now, failure=failure)
        return ended._replace(counts=counts, lifts=lifts)
    spends = (*given_back(hot, type_, MicroUsd(0)), *stepped_back(hot))
    return ChangeSet(changes=(change,), counts=counts, lifts=lifts, spends=spends, at=now)


def adopted(hot: Hot, *, dag_id: DagId, spent: MicroUsd, now: Micros) -> ChangeSet:
    """A lone task becomes part of a graph; what it reserved and spent stands against the graph's money too."""
    change = transitions.adopt(hot, dag_id=dag_id, now=now)
    brought = Spend(hot.workspace, dag_ceiling(dag_id), hot.reserved, spent)
    return ChangeSet(changes=(change,), spends=(brought,) if brought.held or brought.spent else (), at=now)


def cost_of(hot: Hot, report: Report) -> MicroUsd:
    return hot.spent if report.cost is None else report.cost


def facts_of(hot: Hot, report: Report, type_: str, now: Micros) -> dict[str, Json]:
    """What metrics count of an attempt that ends: lengths of time in microseconds, money in micro-dollars."""
    if hot.status is Status.VALIDATING:
        return {"type": type_}  # its attempt had its event when it ended, which was before the verdict
    facts: dict[str, Json] = {"type": type_, "silent": now - (hot.heartbeat_at or now)}
    if hot.started_at is not None:
        facts["ran"] = now - hot.started_at
    if cost := cost_of(hot, report):
        facts["cost"] = cost
    if report.model is not None:
        facts["model"] = report.model
    if hot.circuit % 2:
        facts["probe"] = hot.circuit
    return facts


def _ended(
    change: Change,
    outcome: Outcome,
    report: Report,
    *,
    type_: str,
    now: Micros,
    failure: Failure | None = None,
    counts_as_attempt: bool = False,
    **more: Any,
) -> ChangeSet:
    """The end of an attempt, with what else is in the same set."""
    hot, after = change.before, change.after
    cost = cost_of(hot, report)
    attempt = attempt_of(hot, after, outcome, report, now, failure, counts_as_attempt)
    return ChangeSet(now, changes=(change,), attempts=(attempt,), spends=given_back(hot, type_, cost), **more)


def attempt_of(  # noqa: PLR0917 - naming them would take as long as all the rest of a completion
    hot: Hot,
    after: Hot,
    outcome: Outcome,
    report: Report,
    now: Micros,
    failure: Failure | None = None,
    counts_as_attempt: bool = False,
) -> Attempt:
    """What is kept of an attempt that ends, of which the row is to be `after`."""
    return new_row(
        Attempt,
        (
            hot.id,
            hot.attempt,
            hot.agent or AgentId(""),
            hot.runtime,
            hot.lease or "",
            hot.claimed_at or now,
            hot.started_at,
            now,
            outcome,
            counts_as_attempt,
            failure.reason if failure else None,
            failure.error if failure else None,
            None if failure is None or failure.details is None else compact(failure.details),
            report.model,
            hot.spent if report.cost is None else report.cost,
            hot.tokens_in if report.tokens_in is None else report.tokens_in,
            hot.tokens_out if report.tokens_out is None else report.tokens_out,
            hot.session,
            report.verb,
            report.digest,
            after.status,
            after.version,
            after.failures,
            after.wake_at,
            hot.agent_type,
            report.tokens_cached or hot.tokens_cached,
        ),
    )


def _freed_slots(hot: Hot) -> tuple[Spend, ...]:
    return _slots_back(hot.workspace, hot.agent, hot.agent_type if hot.type_slot else None)


# The same for all of an agent's tasks.
@lru_cache(maxsize=256)
def _slots_back(workspace: str, agent: AgentId | None, granted_to: str | None) -> tuple[Spend, ...]:
    own = Spend(workspace, slots_ceiling(agent), -1)
    return (own,) if granted_to is None else (own, Spend(workspace, type_slots_ceiling(granted_to), -1))


def given_back(hot: Hot, type_: str, cost: MicroUsd) -> tuple[Spend, ...]:
    """What the attempt held, against every ceiling that it held it under."""
    # Handing an output in ends the lease and the slot; the rest stays taken until the decision.
    if hot.status not in KEY_HELD:
        return ()
    spends: list[Spend] = []
    if hot.status in HELD:
        spends += _freed_slots(hot)
    if hot.key is not None:
        spends.append(Spend(hot.workspace, key_ceiling(hot.key), -1))
    if hot.circuit % 2:
        spends.append(Spend(hot.workspace, probe_ceiling(type_, hot.circuit), -1))
    if hot.agent is not None and (hot.reserved or cost):
        names = money_names(hot.agent, hot.agent_type, hot.dag_id, hot.claimed_at or hot.updated_at)
        spends += [Spend(hot.workspace, name, -hot.reserved, cost) for name in names]
    return tuple(spends)


def _failed_step(
    hot: Hot,
    decision: Decision,
    failure: Failure,
    *,
    lane: LaneId | None,
    facts: transitions.Facts,
    now: Micros,
) -> Change:
    if decision.follow_up is FollowUp.BURY:
        return transitions.bury(
            hot,
            reason=decision.reason,
            error=failure.error,
            counted=decision.counted,
            poison=decision.poison,
            facts=facts,
            now=now,
        )
    return transitions.retry(
        hot,
        reason=decision.reason,
        error=failure.error,
        counted=decision.counted,
        wake_at=decision.wake_at,
        parked=decision.follow_up is FollowUp.PARK,
        lane=lane,
        facts=facts,
        now=now,
    )


def _dead_letter(after: Hot, decision: Decision, now: Micros) -> RecordChange:
    # One record per death: a task that dies again leaves the first one's resolution readable.
    body: dict[str, Json] = {
        "task_id": after.id,
        "at": now,
        "reason": decision.reason,
        "poison_pill": decision.poison,
        "reviewed": False,
        "resolution": None,
        "reviewed_by": None,
        "reviewed_at": None,
        "note": None,
    }
    return RecordChange("dead", after.workspace, dead_id(after.id, after.attempt), 0, body)


def is_current(dead: Record, hot: Hot) -> bool:
    """Whether the record of a death says how the task stands: it is dead, or was cancelled as a dead letter."""
    if hot.status is Status.CANCELLED:
        return dead.body["resolution"] == "cancel"
    return hot.status is Status.DEAD_LETTERED


def dead_id(task_id: TaskId, attempt: int) -> str:
    return f"{task_id}.{attempt}"


def _death_notice(after: Hot, decision: Decision, failure: Failure, now: Micros) -> Outbox:
    facts: dict[str, Json] = {
        "reason": decision.reason,
        "poison_pill": decision.poison,
        "error": failure.error[:LONGEST_ERROR],
    }
    return notice_row(Notice.DEAD_LETTER, after.workspace, facts, at=now, task_id=after.id)


def lifted_by(after: Hot) -> tuple[Lift, ...]:
    """What goes when a task completes."""
    if not may_be_waited_for(after):
        return _lifted_without_success(after)
    return (Lift(task_blocker(after.id)), *_lifted_without_success(after))


def may_be_waited_for(hot: Hot) -> bool:
    """Whether other tasks may depend on this one. Nobody waits for a lone task that is not marked as needed."""
    return hot.dag_id is not None or bool(hot.traits & Trait.NEEDED)


def _lifted_without_success(after: Hot) -> tuple[Lift, ...]:
    # A parent that waits for its child resumes however the child ended; what depends on its output does not. So does a
    # task that waits for a provider batch.
    lifts = () if after.dag_id is None else (Lift(child_blocker(after.id)),)
    return (*lifts, Lift(batch_blocker(after.id))) if after.traits & Trait.GATHERS else lifts
