"""Presets: the numbers and words in which one yard differs from another.

A preset is data. It changes what the rules are given, never which rules there are, so nothing here decides anything
about a task. The defaults of `Policy` are the preset standard; every other preset says only where it differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType

from taskyard.core.errors import InvalidInput
from taskyard.core.rate_limit import Recognition
from taskyard.core.retry import RetryPolicy, Strategy
from taskyard.core.task import Definition, Status
from taskyard.core.units import MINUTE, SECOND, Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityScale:
    """A preset's own priorities, and their place on the yard's scale from 0 (first) to 100 (last)."""

    lowest: int
    highest: int
    high_first: bool  # a higher number is more urgent
    step: int  # how far apart two neighbours are on the yard's scale

    def inward(self, value: int) -> int:
        """The yard's priority for one of this scale."""
        if not self.lowest <= value <= self.highest:
            raise InvalidInput("priority", self.rule)
        return (self.highest - value if self.high_first else value - self.lowest) * self.step

    def outward(self, value: int) -> int:
        """The priority of this scale that is nearest to one of the yard's."""
        steps = min(max(value + self.step // 2, 0) // self.step, self.highest - self.lowest)
        return self.highest - steps if self.high_first else self.lowest + steps

    @property
    def rule(self) -> str:
        return f"must be a whole number from {self.lowest} to {self.highest}"


class Dedup(StrEnum):
    """What makes two tasks the same to a producer that gives no idempotency key."""

    EXPLICIT = "explicit"  # nothing: only a given key counts
    PAYLOAD = "payload"  # the hash of the payload
    SUBJECT = "subject"  # subject and agent, while the task has not started
    ID = "id"  # the id, which the producer mints
    NONE = "none"


class BreakerCounts(StrEnum):
    ATTEMPT = "attempt"  # every counted failure
    DEAD_LETTER = "dead_letter"  # only a task's last
    NOTHING = "nothing"  # a breaker moves only by hand, and by its probes


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    failure_threshold: int = 5  # consecutive ones
    half_open_after: Micros = MINUTE
    counts: BreakerCounts = BreakerCounts.ATTEMPT
    # By type, where they differ.
    thresholds: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    waits: Mapping[str, Micros] = field(default_factory=lambda: MappingProxyType({}))

    def threshold(self, type: str) -> int:
        return self.thresholds.get(type, self.failure_threshold)

    def wait(self, type: str) -> Micros:
        """How long a breaker of this type is open before it lets a probe through."""
        return self.waits.get(type, self.half_open_after)


_OWN_WORDS: Mapping[Status, str] = MappingProxyType({status: status.value for status in Status})


def _words(*, waiting: str, claimed: str, running: str, dead: str) -> Mapping[Status, str]:
    return MappingProxyType(
        {
            Status.CREATED: waiting,
            Status.PENDING: waiting,
            Status.READY: waiting,
            Status.RETRYING: waiting,
            Status.CLAIMED: claimed,
            Status.RUNNING: running,
            Status.VALIDATING: running,
            Status.COMPLETED: "completed",
            Status.FAILED: "failed",
            Status.DEAD_LETTERED: dead,
            Status.CANCELLED: "cancelled",
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    name: str
    priority: PriorityScale = PriorityScale(lowest=0, highest=100, high_first=False, step=1)
    default_priority: int = 50  # in the preset's own scale
    boost: int = 10  # hundredths per minute
    max_attempts: int = 3
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    claim_ttl_sec: int = 60  # 0: a claim goes straight to running
    heartbeat_sec: int = 30
    lease_sec: int = 90
    run_sec: int | None = None  # where the task has no max_duration_sec
    counts_lost_leases: bool = True
    uncounted_losses: int = 10  # a lost lease counts after so many that did not
    delays_lost_leases: bool = True  # False: what was lost with its lease is eligible at once
    parks_rate_limits: bool = True  # False: a rate limit fails the attempt like any other error
    rate_limit_parks: int = 10  # a rate limit counts after so many that did not
    recognition: Recognition = Recognition.STRICT
    cascades: bool = True  # cancelling takes the dependents along, where the caller does not say
    dedup: Dedup = Dedup.EXPLICIT
    words: Mapping[Status, str] = field(default_factory=lambda: _OWN_WORDS)
    shown_reasons: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({})
    )  # the yard's word -> the preset's
    breaker: BreakerPolicy = field(default_factory=BreakerPolicy)
    types_are_capabilities: bool = False  # an agent takes the types that are among its capabilities
    report_required: bool = False
    remembers: bool = False  # finished tasks are found by similar work, where an embedder is configured
    never_retried_triggers: frozenset[str] = frozenset()
    dag_fails_at_first_death: bool = False
    prunes_dead: bool = False
    runtime_keeps_lease: bool = False  # a runtime's heartbeat extends what its agents hold
    resumes_subject: bool = False  # a new task goes on with the last session of its subject and agent

    def __hash__(self) -> int:
        # Mappings have no hash; equal policies have equal names. Tables made from a policy are cached under it.
        return hash(self.name)


_STANDARD = Policy(name="standard")

_FACTORY = Policy(name="factory", cascades=False)

_LOKI = Policy(
    name="loki",
    priority=PriorityScale(lowest=1, highest=10, high_first=True, step=11),
    default_priority=5,  # the lowest that its document calls normal
    boost=0,
    retry=RetryPolicy(initial_delay=MINUTE, max_delay=None, jitter=0.0, no_retry_on=frozenset()),
    claim_ttl_sec=0,
    heartbeat_sec=60,
    lease_sec=3600,
    counts_lost_leases=False,
    delays_lost_leases=False,
    recognition=Recognition.LITERAL,
    dedup=Dedup.PAYLOAD,
    words=_words(waiting="pending", claimed="in-progress", running="in-progress", dead="dead-letter"),
    breaker=BreakerPolicy(
        counts=BreakerCounts.DEAD_LETTER, thresholds=MappingProxyType({"ops-security": 3, "biz-marketing": 10})
    ),
    types_are_capabilities=True,
    report_required=True,
)

_MULTICA = Policy(
    name="multica",
    priority=PriorityScale(lowest=0, highest=4, high_first=True, step=25),
    default_priority=2,
    boost=0,
    max_attempts=2,
    retry=RetryPolicy(
        strategy=Strategy.IMMEDIATE,
        initial_delay=Micros(0),
        max_delay=None,
        jitter=0.0,
        retry_on=frozenset({"timeout", "runtime_offline", "runtime_recovery", "claim_expired", "heartbeat_timeout"}),
        no_retry_on=frozenset(),
    ),
    claim_ttl_sec=300,
    heartbeat_sec=15,
    lease_sec=75,
    run_sec=9000,
    parks_rate_limits=False,
    dedup=Dedup.SUBJECT,
    words=_words(waiting="queued", claimed="dispatched", running="running", dead="failed"),
    shown_reasons=MappingProxyType({"claim_expired": "timeout", "heartbeat_timeout": "runtime_offline"}),
    breaker=BreakerPolicy(counts=BreakerCounts.NOTHING),
    never_retried_triggers=frozenset({"autopilot"}),
    runtime_keeps_lease=True,
    resumes_subject=True,
)

_ADE = Policy(
    name="ade",
    priority=PriorityScale(lowest=0, highest=9, high_first=False, step=11),
    default_priority=5,
    boost=0,
    retry=RetryPolicy(initial_delay=SECOND, jitter=0.1, no_retry_on=frozenset()),
    claim_ttl_sec=0,
    heartbeat_sec=5,
    lease_sec=30,
    run_sec=300,
    dedup=Dedup.ID,
    words=_words(waiting="pending", claimed="running", running="running", dead="failed"),
    prunes_dead=True,
)

_AUTOMECHANICA = Policy(
    name="automechanica",
    priority=PriorityScale(lowest=0, highest=3, high_first=False, step=33),
    default_priority=2,  # medium
    boost=0,
    retry=RetryPolicy(
        strategy=Strategy.QUADRATIC,
        initial_delay=Micros(5 * SECOND),
        max_delay=None,
        jitter=0.0,
        no_retry_on=frozenset(),
    ),
    claim_ttl_sec=0,
    heartbeat_sec=10,
    lease_sec=30,
    delays_lost_leases=False,
    dedup=Dedup.NONE,
    words=_words(waiting="pending", claimed="leased", running="running", dead="dead"),
    remembers=True,
    dag_fails_at_first_death=True,
)

DEFAULT = _STANDARD.name  # of a workspace that has none stored
PRESETS: Mapping[str, Policy] = MappingProxyType(
    {policy.name: policy for policy in (_STANDARD, _FACTORY, _LOKI, _MULTICA, _ADE, _AUTOMECHANICA)}
)


def preset(name: str) -> Policy:
    try:
        return PRESETS[name]
    except (KeyError, TypeError):  # unknown, or no text at all
        raise InvalidInput("preset", f"must be one of {', '.join(PRESETS)}") from None


def other_preset(stored: str, workspace: str) -> InvalidInput:
    """The error for a process that expects another preset than the stored one."""
    return InvalidInput(
        "preset", f"must be {stored}, which is stored for workspace {workspace}; `taskyard preset set` changes it"
    )


def policy_of(definition: Definition) -> Policy:
    """The preset that a task was put in under. It is judged by no other, whatever its workspace has by now."""
    return PRESETS[definition.preset]


@lru_cache(maxsize=16)
def reporting(policy: Policy) -> Policy:
    """The same policy, but that a task is completed only with a decision report."""
    return replace(policy, report_required=True)
