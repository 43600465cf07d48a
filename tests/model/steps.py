"""One step of a history: which call, by whom, with what, and what goes wrong meanwhile.

A step says everything, so that a list of steps is a history that can be replayed, on any store, and made shorter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from taskyard.core.task import DagId, TaskId

HERE, ELSEWHERE = "default", "elsewhere"  # the two workspaces of every run
LEASED = frozenset(
    {
        *("start", "heartbeat", "complete", "fail", "release"),
        *("attempts.checkpoint", "attempts.pin_session", "attempts.sleep", "attempts.wait_for", "tasks.spawn"),
    }
)
NO_CALL = frozenset({"advance", "deliver", "again", "reopen"})  # what happens to a yard without being asked of it
ENDING = frozenset({"complete", "fail", "release"})  # answered as the first time when repeated


@dataclass(frozen=True, slots=True)
class Mishap:
    """What goes wrong in the middle of a call."""

    # dies_before, dies_after: the process is gone before or after its n-th write; delayed: it is gone, and the write
    # arrives when it is delivered; meanwhile: another process makes a call of its own before the n-th of this one's.
    kind: str
    nth: int = 0
    step: Step | None = None

    def __repr__(self) -> str:
        return _shown(self)


@dataclass(frozen=True, slots=True)
class Step:
    # A call of the yard by its name, or: advance (the clock), deliver (a delayed write), again (a write that has been
    # committed arrives once more), reopen (the store is closed and opened).
    verb: str
    given: dict[str, Any] = field(default_factory=dict[str, Any])  # `hold` stands for a task and its lease: "7.2"
    process: int = 0
    workspace: str = HERE
    roll: float = 0.5  # what the yard's dice show
    mishap: Mishap | None = None

    def __repr__(self) -> str:
        return _shown(self)


def _shown(what: Step | Mishap) -> str:
    """As it can be pasted into a test, without what goes without saying."""
    first, *rest = fields(what)
    words = [repr(getattr(what, first.name))]
    for each in rest:
        value = getattr(what, each.name)
        if value not in (each.default, {}):
            words.append(f"{each.name}={value!r}")
    return f"{type(what).__name__}({', '.join(words)})"


def task(number: int) -> TaskId:
    return TaskId(f"task_{number:026}")


def dag(number: int) -> DagId:
    return DagId(f"dag_{number:026}")


def hold_of(task_id: str, attempt: int) -> str:
    """The name of one attempt: of task 7 the second is 7.2."""
    return f"{int(task_id.removeprefix('task_'))}.{attempt}"
