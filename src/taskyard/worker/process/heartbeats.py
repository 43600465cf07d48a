"""The leases that one process holds: kept by heartbeats, watched for cancellation, and timed on this machine's clock.

What is left of a lease is measured on the monotonic clock from before the request was sent, so a worker never believes
in a lease that the store has given up. The clock is read whatever a call to the store does: a line that is silent
holds no attempt beyond its lease. Nothing here runs a handler; `supervisor` says in which loop all of this runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from time import monotonic

from taskyard.core.errors import TaskyardError
from taskyard.features.attempts.views import Heartbeat, HeartbeatAnswer
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.worker")
TICK = 0.2  # seconds between looks at who is due, and at whose lease has run out
SETTLED = 0.3  # seconds that an attempt runs before it is watched: short ones cost no look at the store
GATHER = 0.25  # seconds between looks at the leases, however much is written
QUIET = 10.0  # seconds after which the leases are looked at though nothing was heard of
PAUSE = 1.0  # seconds until a store that was away is listened to again
RUN_OUT = "lease_run_out"  # by this machine's clock: said to the worker, which tells its handler `lease_lost`
SHORTEST = 0.5  # seconds that a heartbeat has at least
MOST = 500  # heartbeats of one call: one row that is locked keeps only its own call waiting


class HeldAttempt:
    """A task that this process holds, and when its next heartbeat is due."""

    __slots__ = ("due", "expires", "lease", "on_word", "since", "task")

    def __init__(self, task: Held, since: float, on_word: Callable[[str, str], object]) -> None:
        self.task = task
        self.since = since
        self.on_word = on_word  # called with the lease and the word, from the thread of the heartbeats
        self.lease = task.lease
        self.prolong(since)

    @property
    def heartbeat(self) -> Heartbeat:
        return Heartbeat(self.task.id, self.lease)

    def prolong(self, since: float) -> None:
        """The lease counts from here on."""
        timeouts = self.task.timeouts
        self.due = since + timeouts.heartbeat_sec
        self.expires = since + timeouts.lease_sec


class HeartbeatSender:
    """Keeps the leases of one process alive, and passes on what it hears about them."""

    def __init__(self) -> None:
        # Workers add and remove while the sender reads: each is one step of the dictionary, so nothing is locked.
        self._held: dict[str, HeldAttempt] = {}

    def add(self, tasks: Iterable[Held], since: float, on_word: Callable[[str, str], object]) -> None:
        """Keep these leases, which were asked for at `since` on the monotonic clock."""
        self._held.update([(task.lease, HeldAttempt(task, since, on_word)) for task in tasks])

    def remove(self, lease: str) -> None:
        self._held.pop(lease, None)

    def held(self) -> list[HeldAttempt]:
        return list(self._held.values())

    # Heartbeats

    async def beat(self, yard: Yard) -> None:
        """Send each heartbeat when it is due, for ever."""
        while True:
            now = monotonic()
            if due := [attempt for attempt in self.held() if attempt.due <= now]:
                due.sort(key=lambda attempt: attempt.expires)
                calls = [due[first : first + MOST] for first in range(0, len(due), MOST)]
                await asyncio.gather(*(self._send(yard, each) for each in calls))
            await asyncio.sleep(TICK)

    async def _send(self, yard: Yard, due: Sequence[HeldAttempt]) -> None:
        asked = monotonic()
        try:
            # A heartbeat that is answered after the lease has run out is of no use, and holds up the others.
            async with asyncio.timeout(max(SHORTEST, min(each.expires for each in due) - asked)):
                answers = await yard.attempts.heartbeat_many([each.heartbeat for each in due])
        except TimeoutError:
            logger.warning("heartbeat not answered in time, will be tried again")
        except TaskyardError as error:
            logger.warning("heartbeat failed, will be tried again: %s", error)
        except Exception:
            logger.exception("heartbeat failed, will be tried again")
        else:
            for attempt, answer in zip(due, answers, strict=True):
                if not answer.must_stop:
                    attempt.prolong(asked)
                self._hear(attempt, answer)

    def _hear(self, attempt: HeldAttempt, answer: HeartbeatAnswer) -> None:
        if answer.must_stop:
            self.remove(attempt.lease)
        for word in answer.words:
            attempt.on_word(attempt.lease, word)

    # The clock

    async def keep_time(self) -> None:
        """End each attempt whose lease has run out, for ever, whatever became of its heartbeats."""
        while True:
            self.give_up()
            await asyncio.sleep(TICK)

    def give_up(self) -> None:
        """A lease that could not be kept is lost, whatever the store will say when it answers again."""
        now = monotonic()
        for attempt in self.held():
            if attempt.expires <= now:
                self.remove(attempt.lease)
                attempt.on_word(attempt.lease, RUN_OUT)

    # What others do with a task that is held

    async def listen(self, yard: Yard) -> None:
        """Hear of cancelled tasks and lost leases, for ever: by the store's wake-ups, not by asking all the time.

        One wait for the whole process. Without an attempt that has run for a moment the store is not asked at all;
        with one, at most once each `GATHER` seconds, and only where something was written.
        """
        while True:
            try:
                await self._listen_once(yard)
            except TaskyardError as error:
                logger.debug("cancellations cannot be heard: %s", error)  # heartbeats say so, where it lasts
                await asyncio.sleep(PAUSE)
            except Exception:
                logger.exception("cancellations cannot be heard")
                await asyncio.sleep(PAUSE)

    async def _listen_once(self, yard: Yard) -> None:
        if not self._has_settled():
            await asyncio.sleep(TICK)
            return
        mark = await yard.mark()  # before the look, so that what is written after it is heard of
        held = self.held()
        answers = await yard.attempts.check_leases([(each.task.id, each.lease) for each in held])
        for attempt, answer in zip(held, answers, strict=True):
            if answer.must_stop:
                self._hear(attempt, answer)
        await yard.changed(mark, QUIET)
        await asyncio.sleep(GATHER)

    def _has_settled(self) -> bool:
        now = monotonic()
        return any(now - attempt.since > SETTLED for attempt in self.held())
