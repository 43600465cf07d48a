"""Whether a failed attempt is followed by another, and after how long.

A delay is worked out from the policy and the number of failures each time, never from the delay before: that would
compound. Chance comes in as `dice`, from 0 up to but not including 1.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import log2

from taskyard.core.errors import InvalidInput
from taskyard.core.units import DAY, HOUR, MINUTE, SECOND, Micros

LONGEST_DELAY = Micros(3650 * DAY)  # where a policy has no cap: the time that comes out must still be one to store

# What the next attempt would meet again; retried only where a policy names it.
PERMANENT = frozenset({"context_length", "refused"})

_FIRST_DELAY = Micros(10 * SECOND)
_CAP = Micros(300 * SECOND)


class Strategy(StrEnum):
    EXPONENTIAL = "exponential"  # initial · multiplier^(n−1)
    FIXED = "fixed"  # initial
    IMMEDIATE = "immediate"  # none
    QUADRATIC = "quadratic"  # initial · n²


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When and how soon a task is tried again. The defaults are those of the preset standard."""

    strategy: Strategy = Strategy.EXPONENTIAL
    initial_delay: Micros = _FIRST_DELAY
    multiplier: float = 2.0  # exponential only
    max_delay: Micros | None = _CAP  # None: no cap but LONGEST_DELAY
    jitter: float = 0.5  # 0.5 spreads a delay from half to one and a half
    retry_on: frozenset[str] = frozenset()  # empty: every reason
    no_retry_on: frozenset[str] = frozenset({"auth_failure", "budget_exceeded", "cancelled"})

    def __post_init__(self) -> None:
        _require(0 <= self.initial_delay <= LONGEST_DELAY, "initial_delay_sec", "must be from 0 s to ten years")
        _require(1 <= self.multiplier <= 1000, "backoff_multiplier", "must be from 1 to 1000")
        _require(0 <= (self.max_delay or 0) <= LONGEST_DELAY, "max_delay_sec", "must be from 0 s to ten years, or null")
        _require(0 <= self.jitter <= 1, "jitter", "must be from 0 to 1")


def _require(holds: bool, field: str, rule: str) -> None:
    if not holds:
        raise InvalidInput(f"retry.{field}", rule)


def may_retry(policy: RetryPolicy, reason: str, *, lost: bool = False) -> bool:
    """Whether such a failure may be retried. `lost`: no agent reported it, the yard took the task back."""
    if reason in policy.no_retry_on:
        return False
    return lost or reason in policy.retry_on or (not policy.retry_on and reason not in PERMANENT)


def delay(policy: RetryPolicy, failures: int, dice: float) -> Micros:
    """How long to wait after the given number of failures."""
    cap = LONGEST_DELAY if policy.max_delay is None else policy.max_delay
    # Capped before the jitter too: else all that fails in a long outage waits the cap exactly, and comes back at once.
    base = min(_base(policy, max(failures, 1)), cap)
    return Micros(min(round(base * (1 + policy.jitter * (2 * dice - 1))), cap))


def _base(policy: RetryPolicy, failures: int) -> float:
    match policy.strategy:
        case Strategy.EXPONENTIAL:
            return policy.initial_delay * _power(policy.multiplier, failures - 1)
        case Strategy.QUADRATIC:
            return policy.initial_delay * failures**2
        case Strategy.FIXED:
            return policy.initial_delay
        case Strategy.IMMEDIATE:
            return 0


def _power(multiplier: float, exponent: int) -> float:
    # A float overflows from 2**1024 on; 2**60 microseconds are beyond every cap already.
    return multiplier**exponent if exponent * log2(multiplier) < 60 else 2.0**60


def rate_limit_wait(parks: int, dice: float) -> Micros:
    """How long to stay away from a provider that did not say, `parks` counting this one.

    The jitter only adds: coming back early earns another refusal.
    """
    doublings = min(max(parks, 1) - 1, 6)  # 2**6 minutes are past the hour
    return Micros(round(min(MINUTE * 2**doublings, HOUR) * (1 + dice / 10)))
