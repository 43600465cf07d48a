"""What a failed attempt leads to: another one, a wait for the provider, or a person."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from taskyard.core import retry
from taskyard.core.policy import BreakerCounts, Policy
from taskyard.core.ratelimit import recognise, wait_hint
from taskyard.core.task import AgentId, Definition, Failure, Hot, Reason
from taskyard.core.units import Micros

POISON_AGENTS = 2
POISON_ATTEMPTS = 3

# The lease went, not the work: a policy may choose not to count these.
LOST = frozenset({Reason.HEARTBEAT_TIMEOUT, Reason.CLAIM_EXPIRED})
# An attempt that ended so says nothing about the type's health.
_NEVER_BREAKS = frozenset({Reason.RATE_LIMIT, Reason.CANCELLED, Reason.BUDGET_EXCEEDED})


class Fate(StrEnum):
    RETRY = "retry"
    PARK = "park"  # until the provider's time; no attempt is used up
    BURY = "bury"


class Verdict(NamedTuple):
    fate: Fate
    reason: str
    counted: bool
    wake_at: Micros
    poison: bool
    wait: Micros  # for a park: what the provider asked for, which its scope is throttled by
    breaks: bool  # whether the type's breaker counts it


def judge(
    hot: Hot,
    definition: Definition,
    policy: Policy,
    failure: Failure,
    *,
    failed_by: Collection[AgentId | None],
    dice: float,
    now: Micros,
    retry_after: Micros | None = None,
) -> Verdict:
    """Decide what follows. `failed_by` are the agents of the counted failures before this one."""
    reason = failure.reason
    if reason == Reason.RATE_LIMIT or recognise(failure.error, policy.recognition):
        if not policy.parks_rate_limits:
            reason = Reason.AGENT_ERROR
        elif hot.parks < policy.rate_limit_parks:
            return _parked(hot, failure, retry_after=retry_after, dice=dice, now=now)
        else:
            reason = Reason.RATE_LIMIT
    if reason in LOST and not policy.counts_lost_leases and hot.losses < policy.uncounted_losses:
        return Verdict(Fate.RETRY, reason, False, now, False, Micros(0), False)
    return _counted(hot, definition, policy, reason, failed_by=failed_by, dice=dice, now=now, retry_after=retry_after)


def _parked(hot: Hot, failure: Failure, *, retry_after: Micros | None, dice: float, now: Micros) -> Verdict:
    wait = retry_after or wait_hint(failure.error, now) or retry.rate_limit_wait(hot.parks + 1, dice)
    return Verdict(Fate.PARK, Reason.RATE_LIMIT, False, Micros(now + wait), False, wait, False)


def _counted(
    hot: Hot,
    definition: Definition,
    policy: Policy,
    reason: str,
    *,
    failed_by: Collection[AgentId | None],
    dice: float,
    now: Micros,
    retry_after: Micros | None,
) -> Verdict:
    failures = hot.failures + 1
    poison = failures >= POISON_ATTEMPTS and len({*failed_by, hot.agent}) >= POISON_AGENTS
    again = (
        not poison
        and failures < hot.max_attempts
        and retry.may_retry(definition.retry, reason)
        and definition.trigger_type not in policy.never_retried_triggers
    )
    wait = retry_after or retry.delay(definition.retry, failures, dice)
    buried_counts = policy.breaker.counts is BreakerCounts.DEAD_LETTER
    return Verdict(
        fate=Fate.RETRY if again else Fate.BURY,
        reason=reason,
        counted=True,
        wake_at=Micros(now + wait) if again else now,
        poison=poison,
        wait=Micros(0),
        breaks=reason not in _NEVER_BREAKS and (not again if buried_counts else True),
    )
