"""The thread beside the handlers' loop: what must go on whatever a handler does.

It has a loop and a connection of its own. Heartbeats, the clock of the leases, cancellations, signals and the end of
the grace period are seen to there, so a handler that blocks its loop, or does not let itself be cancelled, holds up
none of them. While the handlers' loop is blocked this thread also makes the sweeps that it would make.

A store that lives in the handlers' loop has no second connection: its leases are seen to in that loop.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from time import sleep
from typing import Any

from taskyard.core.errors import TaskyardError
from taskyard.host import SWEEP_EVERY
from taskyard.worker.process.heartbeats import PAUSE, HeartbeatSender, HeldAttempt
from taskyard.worker.process.membership import be_heard
from taskyard.worker.process.runtime_files import Process
from taskyard.worker.process.signals import Signals
from taskyard.yard import Yard, twin_of

logger = logging.getLogger("taskyard.worker")
LOOK = 0.25  # seconds between looks whether the handlers' loop goes on
BLOCKED_LOOKS = 4  # unanswered one after the other: it is blocked
LAST_RELEASE = 5.0  # seconds in which leases are given back before a process is ended by force
AGAIN = 0.5  # seconds until what has not ended is cancelled again
CLOSING = 2.0  # seconds that the second connection has to close


class Supervisor:
    """Looks after what one process holds. `start` and `stop` are called in the handlers' loop."""

    def __init__(
        self, yard: Yard, heartbeats: HeartbeatSender, process: Process, *, on_signal: Callable[[], float] | None = None
    ) -> None:
        self.heartbeats = heartbeats
        self._process = process
        self._yard = yard
        # Called in the thread at the first signal; says within how many seconds the process ends by itself.
        self._on_signal = on_signal
        self._twin: asyncio.Future[Yard] | None = None  # the second connection, once it is open; None: there is none
        self._signals: Signals | None = None
        self._signalled = 0  # the number of the first signal
        self._handlers_loop: asyncio.AbstractEventLoop | None = None
        self._handlers_thread = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopping = False
        self._over = asyncio.Event()
        self._stopped = threading.Event()  # the same for a thread that has not begun yet
        self._starting: asyncio.TimerHandle | None = None
        self.has_begun = False
        self._thread: threading.Thread | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._unanswered = 0  # looks at the handlers' loop, one after the other

    def start(self, *, after: float = 0.0) -> None:
        """Begin, at once or after some seconds: where most is over by then, a thread and a connection are spared."""
        self._handlers_loop = asyncio.get_running_loop()
        self._handlers_thread = threading.get_ident()
        if self._on_signal is not None and threading.current_thread() is threading.main_thread():
            self._signals = Signals()
        twin = twin_of(self._yard)
        if twin is None:
            self._starting = self._handlers_loop.call_later(after, self._keep_leases_here)
        self._thread = threading.Thread(target=self._run, args=(twin, after), name="taskyard supervisor", daemon=True)
        self._thread.start()

    def _keep_leases_here(self) -> None:
        self.has_begun = True
        self._tasks = [asyncio.create_task(work) for work in self._keeping(self._yard)]

    async def stop(self) -> None:
        if self._signals is not None:
            self._signals.close()
        if self._starting is not None:
            self._starting.cancel()
        await _ended(self._tasks)
        self._is_stopping = True
        self._stopped.set()
        if self._loop is not None:
            with suppress(RuntimeError):  # it is closed already
                self._loop.call_soon_threadsafe(self._over.set)
        if self._thread is not None and not self.has_begun:
            self._thread.join()  # it does nothing but end
        elif self._thread is not None:
            await asyncio.to_thread(self._thread.join)
        await work_is_over()

    def _keeping(self, yard: Yard) -> list[Coroutine[Any, Any, None]]:
        return [
            self.heartbeats.beat(yard),
            self.heartbeats.keep_time(),
            self.heartbeats.listen(yard),
            be_heard(yard, self._process),
        ]

    # In the thread

    def _run(self, twin: Yard | None, after: float) -> None:
        if not after or not self._stopped.wait(after):
            self.has_begun = True
            asyncio.run(self._supervise(twin))

    async def _supervise(self, twin: Yard | None) -> None:
        self._loop = asyncio.get_running_loop()
        if self._is_stopping:  # before there was a loop to stop
            return
        works = [self._watch()]
        if self._signals is not None:
            works.append(self._hear_signals(self._signals))
        if twin is not None:
            self._twin = self._loop.create_future()
            works += [self.heartbeats.keep_time(), self._keep_leases(twin, self._twin)]
        tasks = [asyncio.create_task(work) for work in works]
        try:
            await self._over.wait()
        finally:
            await _ended(tasks)

    async def _keep_leases(self, twin: Yard | None, opened: asyncio.Future[Yard]) -> None:
        """Open the second connection, for as long as that takes, and keep the leases through it."""
        while twin is not None:
            try:
                await twin.open()
                break
            except TaskyardError as error:
                logger.warning("leases cannot be kept yet: %s", error)
            except Exception:
                logger.exception("leases cannot be kept yet")
            await asyncio.sleep(PAUSE)
            twin = twin_of(self._yard)
        if twin is not None:
            opened.set_result(twin)
            await self._keep_leases_through(twin)

    async def _keep_leases_through(self, twin: Yard) -> None:
        works = (
            self.heartbeats.beat(twin),
            self.heartbeats.listen(twin),
            be_heard(twin, self._process),
            self._sweep_in_its_stead(twin),
        )
        tasks = [asyncio.create_task(work) for work in works]
        try:
            await asyncio.wait(tasks)
        finally:
            await _ended(tasks)
            with suppress(TimeoutError, TaskyardError):
                await asyncio.wait_for(twin.close(), CLOSING)

    async def _watch(self) -> None:
        """Name what blocks the handlers' loop."""
        answered = threading.Event()
        answered.set()
        while True:
            await asyncio.sleep(LOOK)
            if not answered.is_set():
                self._unanswered += 1
                if self._unanswered == BLOCKED_LOOKS:
                    logger.warning("the event loop is blocked by %s", self._whereabouts())
                continue
            if self._is_blocked:
                logger.warning("the event loop goes on, after %.1f s", self._unanswered * LOOK)
            self._unanswered = 0
            if self.heartbeats.held() and not self._ask(answered):
                return

    @property
    def _is_blocked(self) -> bool:
        # Counted and not timed: a machine that slept has two loops that are late, and none that is blocked.
        return self._unanswered >= BLOCKED_LOOKS

    async def _sweep_in_its_stead(self, twin: Yard) -> None:
        """The sweeps of this process are made in the handlers' loop: while that is blocked, they are made here."""
        while self._yard.sweeps:
            await asyncio.sleep(SWEEP_EVERY)
            if self._is_blocked:
                try:
                    await twin.sweep()
                except TaskyardError as error:
                    logger.warning("sweep failed: %s", error)

    def _ask(self, answered: threading.Event) -> bool:
        """Have the handlers' loop answer; False where it is closed."""
        assert self._handlers_loop is not None
        answered.clear()
        try:
            self._handlers_loop.call_soon_threadsafe(answered.set)
        except RuntimeError:
            return False
        return True

    def _whereabouts(self) -> str:
        """Which handler it is, and where it stands."""
        assert self._handlers_loop is not None
        running = asyncio.current_task(self._handlers_loop)
        name = "what runs in it" if running is None else running.get_name()
        frame = sys._current_frames().get(self._handlers_thread)  # pyright: ignore[reportPrivateUsage]
        stack = "".join(traceback.format_stack(frame)) if frame is not None else ""
        return f"{name}; it stands here:\n{stack.rstrip()}"

    # Signals and the end

    @property
    def signalled(self) -> int:
        """The number of the signal that asked to stop; 0: none has."""
        return self._signalled

    async def _hear_signals(self, signals: Signals) -> None:
        assert self._on_signal is not None
        heard = signals.heard()
        # `anext` answers None once the signals are closed: the handlers have ended, and so does this process.
        if (first := await anext(heard, None)) is None:
            return
        self._signalled = first
        try:
            async with asyncio.timeout(self._on_signal()):
                second = await anext(heard, None)
        except TimeoutError:
            await self._end("the grace period is over, and a handler has not stopped")
        else:
            if second is not None:
                await self._end("asked to stop now")

    async def _end(self, why: str) -> None:
        """Give back what is held, as far as that can be done in a moment, and end the process."""
        held = self.heartbeats.held()
        logger.error("%s: gives back %d tasks, and ends", why, len(held))
        try:
            async with asyncio.timeout(LAST_RELEASE):
                await self._release(held)
        except TimeoutError:
            logger.warning("the store did not answer: the tasks are taken back when their leases run out")
        end_process(128 + self._signalled)

    async def _release(self, held: list[HeldAttempt]) -> None:
        if self._twin is not None:
            twin = await asyncio.shield(self._twin)  # a signal may come before the second connection is open
            await asyncio.gather(*(_released(twin, each) for each in held))


async def _released(yard: Yard, attempt: HeldAttempt) -> None:
    try:
        await yard.release(attempt.task.id, attempt.lease)
    except TaskyardError as error:
        logger.warning("%s: could not be given back: %s", attempt.task.id, error)


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel them until they have ended: `asyncio.wait_for` may swallow a cancellation that comes with its answer."""
    left: Iterable[asyncio.Task[None]] = tasks
    while left := [task for task in left if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=AGAIN)


async def work_is_over() -> None:
    """End what is kept for work, where no other worker of this process needs it."""
    for at_end in list(after_the_work):
        await at_end()


def end_process(status: int) -> None:
    """End this process here and now: no handler, thread or exit function can hold it up."""
    for at_end in list(before_the_end):
        at_end()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def end_process_within(seconds: float, status: int) -> None:
    """Let the process end by itself, and end it when it has not: a thread that cannot be stopped may hold it up."""

    def end() -> None:
        sleep(seconds)
        logger.error("has not ended by itself within %g s, and ends by force", seconds)
        end_process(status)

    threading.Thread(target=end, name="taskyard end", daemon=True).start()


before_the_end: set[Callable[[], object]] = set()  # what is done even then: programs that were started are ended
after_the_work: set[Callable[[], Coroutine[Any, Any, None]]] = set()  # the watchdog over programs is ended
