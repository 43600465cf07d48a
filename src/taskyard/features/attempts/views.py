"""What is answered to whoever works on a task."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, NamedTuple

from taskyard.core.json_value import Json
from taskyard.core.task import Status, TaskId
from taskyard.definition.view import FLAT, About, Money, Time, view
from taskyard.features.budgets.views import Spent


class Receipt(NamedTuple):
    """What was reached. The same call again gets the same receipt."""

    task_id: TaskId  # of the task that the call was about
    status: Status  # where the task stands after the call
    version: int  # of the task after the call
    failures: int  # those that counted
    wake_at: Time | None  # when it will be tried again, where it will


class Heartbeat(NamedTuple):
    """One task's heartbeat: what its agent reports, and under which lease."""

    task_id: str
    lease: str
    progress: Json = None
    cost_usd: str | float | int | Decimal | None = None
    tokens_input: int | None = None
    tokens_output: int | None = None
    tokens_cache_read: int | None = None
    tokens_cache_write: int | None = None
    model: str | None = None
    rate_limited_sec: float | None = None  # for how long a provider wants no more calls of its model

    @property
    def spent(self) -> Spent:
        return {
            "cost_usd": self.cost_usd,
            "tokens_input": self.tokens_input,
            "tokens_output": self.tokens_output,
            "tokens_cache_read": self.tokens_cache_read,
            "tokens_cache_write": self.tokens_cache_write,
            "model": self.model,
        }


class HeartbeatAnswer(NamedTuple):
    """What an agent must know after a heartbeat."""

    task_id: TaskId
    words: Annotated[tuple[str, ...], About("cancelled, lease_lost, budget_exceeded, slowdown, draining; none: go on.")]
    lease_expires_at: Time | None

    @property
    def must_stop(self) -> bool:
        return any(word in ("cancelled", "lease_lost", "budget_exceeded") for word in self.words)


class Waited(NamedTuple):
    """How a wait stands. Not over: the task is suspended, its lease is gone, and its handler must stop here."""

    over: Annotated[bool, About("False: the task is suspended, and the lease is gone.")]
    data: Json = None
    timed_out: bool = False
    by: Annotated[str | None, About("Who sent what ended the wait.")] = None


@view
class SuspendedView:
    """How a call that suspends a task was answered: a wait, or the receipt of a snooze."""

    SCHEMA = "Waited"

    waited: Annotated[Waited, FLAT]
    receipt: Receipt | None


class StepFacts(Spent, total=False):
    """What one step took and cost by itself, and not the attempt so far. What is absent or None is not known."""

    took_sec: float | None


@view
class StepView:
    """A step whose result is stored. What its agent did not report is null."""

    name: str
    attempt: int
    began_at: Time | None
    ended_at: Annotated[Time | None, About("When its result was stored.")]
    model: str | None
    cost: Money | None
    tokens_input: int | None
    tokens_output: int | None


class Child(NamedTuple):
    """How a spawned task ended, as its parent sees it."""

    task_id: TaskId
    status: Status
    output: Json


class Input(NamedTuple):
    """What a task builds on: an output of another, inlined, or left by reference where it is too big."""

    ref: str
    data: Json
    inlined: bool
