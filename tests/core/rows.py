"""Rows of tasks in every state, each come to by the verbs that lead there."""

from collections.abc import Callable
from typing import Any

from taskyard.core import transitions
from taskyard.core.changes import Change, Limit
from taskyard.core.policy import PRESETS
from taskyard.core.task import AgentId, Hot, LaneId, Status, next_due
from taskyard.core.units import SECOND, Micros, MicroUsd
from taskyard.definition.definition import born
from tests.core.defining import NOW, defined
from tests.core.hostile import task

ADA = AgentId("ada")
BOB = AgentId("bob")
STEM = "stem"  # what a claim's lease is made from


def later(seconds: float) -> Micros:
    return Micros(NOW + round(seconds * SECOND))


_PLAIN = born(
    defined(task()), PRESETS["standard"], lane=LaneId(7), blocked=False, height=0, wake_at=None, now=NOW
)._replace(seq=1)


def a_row(**fields: Any) -> Hot:
    """A ready task of the preset standard that has just come in; a story says where it differs."""
    row = _PLAIN._replace(**fields)
    return row if "due_at" in fields else row._replace(due_at=next_due(row))


def claimed(hot: Hot, *, start: bool = False, agent: AgentId = ADA, reserved: int = 0, circuit: int = 0) -> Hot:
    return transitions.claim(
        hot,
        agent=agent,
        runtime=None,
        lease=STEM,
        circuit=circuit,
        reserved=MicroUsd(reserved),
        start=start,
        now=NOW,
    ).after


def running(hot: Hot, *, agent: AgentId = ADA, reserved: int = 0, circuit: int = 0) -> Hot:
    return claimed(hot, start=True, agent=agent, reserved=reserved, circuit=circuit)


def retrying(hot: Hot, *, wake_at: Micros) -> Change:
    return transitions.retry(hot, reason="crash", error="it broke", counted=True, wake_at=wake_at, now=NOW)


def buried(hot: Hot) -> Hot:
    return transitions.bury(hot, reason="crash", error="it broke", counted=True, poison=False, now=NOW).after


# How to get there from ready. In created and failed no task rests: such rows are made up.
_WAYS: dict[Status, Callable[[Hot], Hot]] = {
    Status.CREATED: lambda hot: hot._replace(status=Status.CREATED),
    Status.PENDING: lambda hot: transitions.park(hot, blocker="key:k", now=NOW).after,
    Status.READY: lambda hot: hot,
    Status.CLAIMED: claimed,
    Status.RUNNING: running,
    Status.VALIDATING: lambda hot: transitions.submit(running(hot), now=NOW).after,
    Status.COMPLETED: lambda hot: transitions.complete(running(hot), validated=False, now=NOW).after,
    Status.FAILED: lambda hot: hot._replace(status=Status.FAILED),
    Status.RETRYING: lambda hot: retrying(running(hot), wake_at=later(10)).after,
    Status.DEAD_LETTERED: lambda hot: buried(running(hot)),
    Status.CANCELLED: lambda hot: transitions.cancel(hot, reason="not wanted", now=NOW).after,
}


def a_row_in(status: Status, **fields: Any) -> Hot:
    """A task that has come to rest in this state."""
    return _WAYS[status](a_row(**fields))


def free(name: str, *, ceiling: int | None = None, held: int = 0, spent: int = 0) -> Limit:
    """A ceiling, under which nothing is held unless the story says so."""
    return Limit("default", name, ceiling, held, spent)
