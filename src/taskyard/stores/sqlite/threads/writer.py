"""The one thread of this process that writes.

It takes whatever is waiting and makes one transaction of it, so that many calls share one flush to the disk. Nobody is
answered before the commit. While idle it looks whether other processes have written, for as long as anybody waits to
hear of that: closely when the log is heard to be written to, seldom otherwise.

What is small goes first: a large set is rolled back and begun again when something small comes while it is being
written, a few times at most.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any

import apsw

from taskyard.core.changes import ChangeSet
from taskyard.core.errors import StoreReplaced
from taskyard.core.units import SECOND, Micros
from taskyard.stores.shared.store_clock import StoreClock
from taskyard.stores.shared.timeouts import CALL_TIMEOUT
from taskyard.stores.sqlite import clock_rewind
from taskyard.stores.sqlite.commits import Answer, land
from taskyard.stores.sqlite.connection import connect, refusal_of
from taskyard.stores.sqlite.schema import prepare
from taskyard.stores.sqlite.statements import SQL
from taskyard.stores.sqlite.threads.checkpoints import Checkpoints
from taskyard.stores.sqlite.threads.futures import answer, refuse, tell
from taskyard.stores.sqlite.threads.log_watch import Ear, Lookout, ear_at
from taskyard.stores.sqlite.transaction import GaveWay, Transaction
from taskyard.stores.sqlite.yard_file import SameFile

logger = logging.getLogger("taskyard")
Work = Callable[[Transaction], Any]
_MOST_JOBS = 256  # of one transaction, so that the first of them is not kept waiting by the last
_MOST_SETS = 2_000
_LARGE = 200  # rows from which on a set has a transaction of its own, so that nobody else waits for its commit
_MOST_WAYS = 2  # times that a large set is begun again, because something small came while it was being written
REPORTED_EVERY = 60.0  # seconds from one message about a clock that went back to the next


@dataclass(slots=True, eq=False)
class Job:
    """Something to be done in a transaction, and who waits for it."""

    future: asyncio.Future[Any]
    work: Work | None = None
    sets: Sequence[ChangeSet] = ()  # instead of work: sets of several jobs may land together
    urgent: bool = False
    is_large: bool = False
    gave_way: int = 0  # times


class Writer:
    def __init__(
        self,
        path: Path,
        time: StoreClock,
        loop: asyncio.AbstractEventLoop,
        wrote: Callable[[], None],
        *,
        migrates: bool = True,
        call_timeout: float = CALL_TIMEOUT,
    ) -> None:
        self._path = path
        self._call_timeout = call_timeout
        self._migrates = migrates
        self._time = time
        self._loop = loop
        self._wrote = wrote  # called on the loop after a commit, of this process or another
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._large: deque[Job] = deque()  # each waits for the small ones that came in while the one before it ran
        self._came = 0  # small jobs so far, counted on the loop
        self._taken = 0  # of them, counted on the thread
        self._checkpoints = Checkpoints(path, call_timeout)
        self._stopping = False
        self._seen = 0
        self._thread = Thread(target=self._run, name=f"taskyard writes {path.name}", daemon=True)
        self._ready: asyncio.Future[bytes] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._watched = 0  # how many wait for the writes of other processes
        self._lookout = Lookout()
        self._log = ""  # the file that every commit is written to first
        self._ear: Ear | None = None
        self._reported = -REPORTED_EVERY
        self._same = SameFile(path)  # until it is open
        self.secret = b""

    # Called on the loop.

    async def start(self) -> None:
        self._thread.start()
        try:
            self.secret = await self._ready
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Finish what is waiting, then end."""
        self._stopping = True
        self._jobs.put(None)
        if self._ear is not None:
            self._ear.close()
            self._ear = None  # those who still wait have their end to come
        await self._ended
        self._thread.join()

    async def do(self, work: Work, *, urgent: bool = False) -> Any:
        return await self._put(Job(self._loop.create_future(), work=work, urgent=urgent))

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Answer]:
        is_large = any(len(each.tasks) + len(each.changes) > _LARGE for each in sets)
        return await self._put(Job(self._loop.create_future(), sets=sets, is_large=is_large))

    async def _put(self, job: Job) -> Any:
        self._came += not job.is_large
        self._jobs.put(job)
        return await job.future

    def watch(self) -> None:
        """Look for other processes' writes: now, and until nobody waits any more."""
        self._watched += 1
        if self._watched == 1:
            self._listen()
        self._jobs.put(None)

    def unwatch(self) -> None:
        self._watched -= 1
        if not self._watched and self._ear is not None:
            self._ear.rest()

    def _listen(self) -> None:
        # Not before somebody waits: there are few ears, and most who open a yard only write.
        self._ear = self._ear or ear_at(self._log, self._loop, self._stirred)
        self._lookout.hears = self._ear is not None
        if self._ear is not None:
            self._ear.listen()

    def _stirred(self) -> None:
        if self._lookout.stirred():
            self._jobs.put(None)

    # The thread.

    def _run(self) -> None:
        try:
            with closing(self._connect()) as connection, closing(self._checkpoints):
                while not self._stopping or self._large or not self._jobs.empty():
                    self._turn(connection)
        except BaseException as error:
            tell(self._loop, refuse, [self._ready], refusal_of(error, self._path) or error)
        finally:
            tell(self._loop, answer, [(self._ended, None)])

    def _connect(self) -> apsw.Connection:
        connection = connect(self._path, writes=True, call_timeout=self._call_timeout)
        try:
            secret = prepare(connection, migrates=self._migrates, call_timeout=self._call_timeout)
            self._time.observe(connection.execute(SQL["numbers"]).get[0])
            self._seen = connection.execute(SQL["data_version"]).get
            self._log = connection.filename_wal
            self._checkpoints.watch(connection)
            self._same = SameFile(self._path)
        except BaseException:
            connection.close()
            raise
        tell(self._loop, answer, [(self._ready, secret)])
        return connection

    def _turn(self, connection: apsw.Connection) -> None:
        jobs = self._next()
        if jobs:
            self._do(connection, jobs)
        if self._large:
            self._do(connection, [self._large.popleft()])
        self._checkpoints.bring_to_end(connection)
        if self._watched and (seen := connection.execute(SQL["data_version"]).get) != self._seen:
            self._seen = seen
            self._lookout.committed()
            tell(self._loop, self._wrote)

    def _next(self) -> list[Job]:
        """Whatever small is waiting, heartbeats first; nothing when it is time to look about."""
        jobs: list[Job] = []
        try:
            pause = self._lookout.pause() if self._watched else None
            job = self._jobs.get(block=not self._large, timeout=pause)
            sets = 0
            while True:
                if job is not None:
                    self._take(job, jobs)
                    sets += len(job.sets)
                if len(jobs) >= _MOST_JOBS or sets >= _MOST_SETS:
                    break
                job = self._jobs.get_nowait()
        except Empty:
            pass
        return sorted(jobs, key=lambda job: not job.urgent)

    def _take(self, job: Job, small: list[Job]) -> None:
        self._taken += not job.is_large
        if not job.future.cancelled():
            (self._large if job.is_large else small).append(job)

    def _do(self, connection: apsw.Connection, jobs: Sequence[Job]) -> None:
        try:
            answers, wrote = self._transact(connection, jobs)
        except GaveWay:
            jobs[0].gave_way += 1
            self._large.appendleft(jobs[0])
            return
        except BaseException as error:
            refusal = refusal_of(error, self._path, connection)
            if len(jobs) == 1 or isinstance(error, apsw.BusyError | StoreReplaced):
                tell(self._loop, refuse, [job.future for job in jobs], refusal or error)
                return
            # One of them is at fault, or all of them together are too large: none shall suffer for another.
            for job in jobs:
                self._do(connection, [job])
            return
        tell(self._loop, answer, list(zip((job.future for job in jobs), answers, strict=True)))
        if wrote:
            self._lookout.committed()
            tell(self._loop, self._wrote)

    def _transact(self, connection: apsw.Connection, jobs: Sequence[Job]) -> tuple[list[Any], bool]:
        try:
            self._same.check()
            connection.execute(SQL["begin"])
            transaction = Transaction(connection, self._time, self._must_give_way if _gives_way(jobs) else None)
            if transaction.went_back:
                clock_rewind.cut_all(transaction)
            answers = _work(transaction, jobs)
            wrote = transaction.finish()
            connection.execute(SQL["commit"])
            self._same.check()
        except BaseException:
            # A full disk has rolled it back by itself.
            if connection.in_transaction:
                connection.execute(SQL["rollback"])
            raise
        if transaction.went_back:
            self._report_jump(transaction.went_back)
        return answers, wrote

    def _must_give_way(self) -> bool:
        return self._came != self._taken

    def _report_jump(self, back: Micros) -> None:
        """Seldom: two processes whose clocks disagree would fill the log."""
        if monotonic() - self._reported > REPORTED_EVERY:
            self._reported = monotonic()
            logger.warning(
                "%s: the clock went back by %.1f s since the last write; leases and delays were cut to their own "
                "lengths. Look at the clocks of the processes that have this file open",
                self._path,
                back / SECOND,
            )


def _gives_way(jobs: Sequence[Job]) -> bool:
    return len(jobs) == 1 and jobs[0].is_large and jobs[0].gave_way < _MOST_WAYS


def _work(transaction: Transaction, jobs: Sequence[Job]) -> list[Any]:
    """Do each; the sets of jobs that follow each other land together."""
    answers: list[Any] = []
    place = 0
    while place < len(jobs):
        job = jobs[place]
        if job.work is not None:
            answers.append(job.work(transaction))
            place += 1
            continue
        alike = next((n for n in range(place, len(jobs)) if jobs[n].work is not None), len(jobs))
        landed = iter(land(transaction, [each for job in jobs[place:alike] for each in job.sets]))
        answers += [[next(landed) for _ in job.sets] for job in jobs[place:alike]]
        place = alike
    return answers
