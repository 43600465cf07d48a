"""Long work in turns: whoever else waits for the loop has it between two of them.

A large call of a server also waits between its turns while short calls are under way, for a limited time in all: so a
short call takes as long as it would without the large one. A call that may be one of a flood also rests after each turn
where short calls have come lately: it takes a third of the time at most, and the next short call finds it at rest.
A call that appends to streams waits until the server has been quiet for a moment, since the call that picks a task up
follows the one that put it in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")
TURN = 10  # items: less than half a millisecond of drafting
LONG_TURN = 50  # items that take a tenth of that: between two turns the loop looks at its sockets, which costs as much
FREED_AT_ONCE = 200  # items
SHORT = 0.05  # seconds after which a call that is still under way waits for something itself
PATIENCE = 0.25  # seconds that a large call waits for short ones, all its turns together
PATIENCE_OF_STREAMS = 0.05  # the same for a call that appends to streams, whose readers wait for it
QUIET = 0.003  # seconds without a short call for which such a call waits
LATELY = 0.5  # seconds for which more short calls are expected after one has begun
REST = 2.0  # times the length of a turn that such a call rests after it, where short calls come
_LONGEST_TURN = 0.02  # seconds of a turn that count: what takes longer waits for the store most of the time
_LOOK_EVERY = 0.001  # seconds


class ShortCalls:
    """The calls under way that large ones give way to."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self._begun: dict[_ShortCall, float] = {}  # the newest last
        self._last_began = float("-inf")  # of those that ended well: what a flood is refused is no reason to rest
        self._last_left = float("-inf")

    @contextmanager
    def call(self) -> Generator[Callable[[], None]]:
        """Count one until this ends, or until what is given is called: where the call turns out to be large."""
        call, began = _ShortCall(self), self.clock()
        self._begun[call] = began
        _call.set(call)  # for `at_rest`, which does nothing once the call has ended
        try:
            yield call.end
            if not call.has_ended:
                self._last_began = max(self._last_began, began)
        finally:
            call.has_ended = True
            self.leave(call)

    def join(self, call: _ShortCall) -> None:
        self._begun[call] = self.clock()

    def leave(self, call: _ShortCall) -> None:
        if self._begun.pop(call, None) is not None:
            self._last_left = self.clock()

    def drop(self, call: _ShortCall) -> None:
        """It was none: the server has been as quiet as without it."""
        self._begun.pop(call, None)

    @property
    def are_under_way(self) -> bool:
        """Whether one began a moment ago: the others wait for work or for time, and nothing here delays them."""
        return bool(self._begun) and self._begun[next(reversed(self._begun))] > self.clock() - SHORT

    def have_ended_for(self, seconds: float) -> bool:
        """Whether none is under way, nor was within so many seconds."""
        return not self.are_under_way and self._last_left <= self.clock() - seconds

    @property
    def come_lately(self) -> bool:
        return self._last_began > self.clock() - LATELY


@dataclass(slots=True, eq=False)
class _ShortCall:
    """A call that is counted, except while it is at rest."""

    calls: ShortCalls
    has_ended: bool = False  # or has turned out to be large

    def end(self) -> None:
        """It has turned out to be large."""
        self.has_ended = True
        self.calls.drop(self)

    @contextmanager
    def at_rest(self) -> Generator[None]:
        self.calls.leave(self)
        try:
            yield
        finally:
            if not self.has_ended:  # a task that the call began may go on for longer
                self.calls.join(self)


_call: ContextVar[_ShortCall | None] = ContextVar("_call", default=None)


def at_rest() -> AbstractContextManager[None]:
    """While this task waits for what others write: no large call needs to give way to it until it goes on."""
    return nullcontext() if (call := _call.get()) is None else call.at_rest()


@dataclass(slots=True)
class _Patience:
    """How a large call gives way: for how long yet, and how much rest its turns so far have left it with."""

    calls: ShortCalls
    rests: bool
    left: float  # seconds
    quiet: float  # seconds without a short call that it waits for
    resumed: float  # when the turn under way began, by the clock of the calls
    owed: float = 0.0  # seconds of rest

    async def wait(self) -> None:
        if self.rests and self.calls.come_lately:
            self.owed += REST * min(self.calls.clock() - self.resumed, _LONGEST_TURN)
        if self.owed >= _LOOK_EVERY:
            resting, self.owed = self.owed, 0.0
            await asyncio.sleep(resting)
        while self.left > 0 and not self.calls.have_ended_for(self.quiet):
            self.left -= _LOOK_EVERY
            await asyncio.sleep(_LOOK_EVERY)
        self.resumed = self.calls.clock()


_patience: ContextVar[_Patience | None] = ContextVar("_patience", default=None)


@contextmanager
def giving_way(
    calls: ShortCalls, *, rests: bool = False, patience: float | None = None, quiet: float = 0.0
) -> Generator[None]:
    """Let these go first at every pause of this task, and rest for them if that is asked for.

    It waits for so long in all (None: `PATIENCE`) until no short call is under way, nor has been for `quiet` seconds.
    """
    left = PATIENCE if patience is None else patience
    token = _patience.set(_Patience(calls, rests, left, quiet, calls.clock()))
    try:
        yield
    finally:
        _patience.reset(token)


@contextmanager
def in_haste() -> Generator[None]:
    """Let others have the loop at every pause, and wait for none of them: for work under locks that they may need."""
    token = _patience.set(None)
    try:
        yield
    finally:
        _patience.reset(token)


async def pause() -> None:
    """Between two turns: let others have the loop, and let the short calls end that this task gives way to."""
    await asyncio.sleep(0)
    if (patience := _patience.get()) is not None:
        await patience.wait()


def gives_way() -> bool:
    """Whether this task lets short calls go first: it is a large call of a server, which others may be waiting for."""
    return _patience.get() is not None


async def pause_if_many(items: Sized) -> None:
    """A pause between two steps that each take in all of so many items."""
    if len(items) > LONG_TURN:
        await pause()


async def let_go(items: list[Any]) -> None:
    """Empty a list of many in turns: to free what they hold takes a while too."""
    while items:
        del items[-FREED_AT_ONCE:]
        await pause_if_many(items)


async def in_turns(make: Callable[[Item], Made], items: Sequence[Item], *, turn: int = TURN) -> list[Made]:
    """What `make` gives for each, in order."""
    if len(items) <= turn:
        return list(map(make, items))
    return await in_pieces(lambda piece: map(make, piece), items, size=turn)


async def in_pieces(
    make: Callable[[Sequence[Item]], Iterable[Made]], items: Sequence[Item], *, size: int = LONG_TURN
) -> list[Made]:
    """The same where `make` takes several items: what they have in common is made once for each piece."""
    if len(items) <= size:
        return list(make(items))
    made: list[Made] = []
    for start in range(0, len(items), size):
        if start:
            await pause()
        made += make(items[start : start + size])
    return made
