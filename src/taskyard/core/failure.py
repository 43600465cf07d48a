"""What a failed attempt leads to: another one, a wait for the provider, or a person."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from taskyard.core import retry
from taskyard.core.policy import BreakerCounts, Policy
from taskyard.core.rate_limit import LONGEST_WAIT, recognise, wait_hint
from taskyard.core.task import AgentId, Definition, Failure, Hot, Reason, Trait
from taskyard.core.units import Micros

POISON_AGENTS = 2
POISON_ATTEMPTS = 3

# The lease went, not the work: a policy may choose not to count these, and as a probe they prove nothing.
_LOST = frozenset({Reason.HEARTBEAT_TIMEOUT, Reason.CLAIM_EXPIRED})
# What the yard itself takes back. The task's list of failures to retry is about those that agents report.
_TAKEN_BACK = _LOST | {Reason.RUNTIME_OFFLINE, Reason.RUNTIME_RECOVERY}
# An attempt that ended so says nothing about the type's health.
_NEVER_BREAKS = frozenset({Reason.RATE_LIMIT, Reason.CANCELLED, Reason.BUDGET_EXCEEDED, Reason.VALIDATION_UNAVAILABLE})
_QUOTING = frozenset({Reason.INVALID_OUTPUT, Reason.VALIDATION_UNAVAILABLE})


class FollowUp(StrEnum):
    RETRY = "retry"
    PARK = "park"  # until the provider's time; no attempt is used up
    BURY = "bury"


class Decision(NamedTuple):
    follow_up: FollowUp
    reason: str
    wake_at: Micros
    counted: bool = False  # whether it uses up one of max_attempts
    breaks: bool = False  # whether the type's breaker counts it
    poison: bool = False
    wait: Micros = Micros(0)  # for a park: what the provider asked for, which its scope is throttled by


def decide(
    hot: Hot,
    definition: Definition,
    policy: Policy,
    failure: Failure,
    *,
    failed_by: Collection[AgentId | None],
    dice: float,
    now: Micros,
    retry_after: Micros | None = None,
    reported: bool = True,
    in_company: bool = False,
) -> Decision:
    """Decide what follows. `failed_by` are the agents of the counted failures before this one.

    `reported`: an agent reported the failure; otherwise the yard found it. `in_company`: the worker held other attempts
    of the type, which are lost with this one and have not ended yet.
    """
    reason = _reason(failure, definition, policy)
    asked = None if retry_after is None else min(retry_after, LONGEST_WAIT)
    # What may not be retried is not parked or excused either: both would be another attempt.
    if reason not in definition.retry.no_retry_on:
        if reason == Reason.RATE_LIMIT and hot.parks < policy.rate_limit_parks:
            return _parked(hot, failure, retry_after=asked, dice=dice, now=now)
        if reason in _LOST and not policy.counts_lost_leases and hot.losses < policy.uncounted_losses:
            return Decision(FollowUp.RETRY, reason, now)
    lost = reason in _TAKEN_BACK and not reported
    decision = _counted(
        hot, definition, policy, reason, failed_by=failed_by, lost=lost, dice=dice, now=now, retry_after=asked
    )
    # One worker that dies is one failure, however much it held: the breaker counts the last of what was lost with it.
    return decision._replace(breaks=False) if in_company and reason in _TAKEN_BACK else decision


def _reason(failure: Failure, definition: Definition, policy: Policy) -> str:
    """What the failure comes down to, whatever it was called."""
    if failure.reason != Reason.RATE_LIMIT:
        # An objection quotes the output that it is about, and a validator's end its error: either may well say "429".
        stated = failure.reason in _QUOTING or failure.reason in definition.retry.no_retry_on
        if stated or not recognise(failure.error, policy.recognition):
            return failure.reason
    return Reason.RATE_LIMIT if policy.parks_rate_limits else Reason.AGENT_ERROR


def _parked(hot: Hot, failure: Failure, *, retry_after: Micros | None, dice: float, now: Micros) -> Decision:
    wait = retry_after or wait_hint(failure.error, now) or retry.rate_limit_wait(hot.parks + 1, dice)
    return Decision(FollowUp.PARK, Reason.RATE_LIMIT, Micros(now + wait), wait=wait)


def _counted(
    hot: Hot,
    definition: Definition,
    policy: Policy,
    reason: str,
    *,
    failed_by: Collection[AgentId | None],
    lost: bool,
    dice: float,
    now: Micros,
    retry_after: Micros | None,
) -> Decision:
    failures = hot.failures + 1
    many = failures >= POISON_ATTEMPTS and len({*failed_by, hot.agent}) >= POISON_AGENTS
    # Workers that die say nothing about a batch that a provider has: given up, its calls would be paid for twice.
    poison = many and not hot.traits & Trait.GATHERS
    again = (
        not poison
        and failures < hot.max_attempts
        and retry.may_retry(definition.retry, reason, lost=lost)
        and definition.trigger_type not in policy.never_retried_triggers
    )
    at_once = lost and not policy.delays_lost_leases
    asked = Micros(0) if at_once else retry_after  # 0 is a wait too: the agent's choice, which max_attempts bounds
    wait = retry.delay(definition.retry, failures, dice) if asked is None else asked
    return Decision(
        follow_up=FollowUp.RETRY if again else FollowUp.BURY,
        reason=reason,
        wake_at=Micros(now + wait) if again else now,
        counted=True,
        breaks=reason not in _NEVER_BREAKS and _breaks(hot, policy, reason, dies=not again),
        poison=poison,
    )


def fails_a_probe(reason: str) -> bool:
    """Whether a probe that ended for this reason opens its breaker again; otherwise it has proved nothing."""
    return reason not in _NEVER_BREAKS and reason not in _LOST


def _breaks(hot: Hot, policy: Policy, reason: str, *, dies: bool) -> bool:
    if hot.circuit % 2 == 1:  # a probe that failed opens the breaker again, whatever its preset counts
        return fails_a_probe(reason)
    match policy.breaker.counts:
        case BreakerCounts.ATTEMPT:
            return True
        case BreakerCounts.DEAD_LETTER:
            return dies
        case BreakerCounts.NOTHING:
            return False
