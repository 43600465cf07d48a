"""The task and the step that code is a part of: for tools and libraries that are not handed a context."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import TYPE_CHECKING

from taskyard.worker.control import Stopped

if TYPE_CHECKING:
    from taskyard.worker.context import Context

LONGEST_KIND = 200  # characters: with a digest of the whole, and a number, it makes the name of a step

# The task, and the name of the step. One variable: to set one takes a microsecond, of every attempt.
_current: ContextVar[tuple[Context | None, str]] = ContextVar("taskyard_task", default=(None, ""))


def enter_task(context: Context) -> None:
    """From here on, what runs in this coroutine, in those that it starts, and in their threads works on this task."""
    _current.set((context, ""))


def find_task() -> Context | None:
    """The task that is being worked on here; None outside of a handler, and where it has returned.

    What a handler left running when it raised, and a step of an attempt that is over, which may go on in a thread that
    nobody can end, are stopped where they ask: nobody would have what they do, or know its cost.
    """
    context, step = _current.get()
    if context is None or not context.is_over:
        return context
    if context.is_cut_short or step:
        raise Stopped(context.stopped or "over")
    return None


def current_task() -> Context:
    """The task that is being worked on here, such as by the tool of an agent. `LookupError` outside of a handler.

    In a thread, and so in a handler that is a plain function, `current_task().sync` has the same calls without `await`.
    """
    context = find_task()
    if context is None:
        raise LookupError("no task is being worked on here: current_task() is for handlers and what they call")
    return context


@contextmanager
def within_step(name: str) -> Generator[None]:
    """What runs inside is a part of this step."""
    context, _ = _current.get()
    before = _current.set((context, name))
    try:
        yield
    finally:
        _current.reset(before)


def enclosing_step() -> str:
    """The name of the step that this is a part of; empty outside of any."""
    return _current.get()[1]


def within_enclosing_step(kind: str) -> str:
    """The kind of a step, behind the name of the step that this is a part of. A long one ends in its digest."""
    kind = f"{step}/{kind}" if (step := enclosing_step()) else kind
    return kind if len(kind) <= LONGEST_KIND else f"{kind[:LONGEST_KIND]}~{sha256(kind.encode()).hexdigest()[:16]}"
