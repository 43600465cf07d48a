"""The one thread of this process that writes to the file: a group commit.

It takes all waiting jobs and runs them in one transaction, so that many calls share one flush to the disk. No caller
gets an answer before the commit. While idle, and while a coroutine waits for writes, the thread polls for commits of
other processes: often after a write to the log, rarely otherwise.

Small jobs go first: if one arrives before a large set of new tasks is committed, that is rolled back, and begun again
once no short call is under way, a few times at most. Patient jobs, which no task waits for, run one by one while
nothing else waits, or late with the rest.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, NamedTuple

import apsw

from taskyard.core.changes import ChangeSet
from taskyard.core.errors import StoreReplaced, YardClosed
from taskyard.core.units import SECOND, Micros
from taskyard.stores.shared import rows
from taskyard.stores.shared.store_clock import StoreClock
from taskyard.stores.shared.timeouts import CALL_TIMEOUT
from taskyard.stores.sqlite import clock_rewind
from taskyard.stores.sqlite.commits import Answer, commit_sets
from taskyard.stores.sqlite.connection import connect, translate_error
from taskyard.stores.sqlite.fast.log_watch import LogWatch, PollSchedule, watch_log
from taskyard.stores.sqlite.log.log_append import last_numbers
from taskyard.stores.sqlite.log.streams import DecidedAppends
from taskyard.stores.sqlite.schema import prepare
from taskyard.stores.sqlite.statements import SQL
from taskyard.stores.sqlite.threads.checkpoints import Checkpoints
from taskyard.stores.sqlite.threads.futures import call_on_loop, reject, resolve
from taskyard.stores.sqlite.transaction import Preempted, SqliteTransaction
from taskyard.stores.sqlite.writes.new_tasks import Definitions
from taskyard.stores.sqlite.yard_file import FileIdentity
from taskyard.stores.turns import gives_way, in_pieces, pause

logger = logging.getLogger("taskyard")
Work = Callable[[SqliteTransaction], Any]
Wake = Callable[[AbstractSet[str] | None], None]  # given the topics of what was written; None: unknown
_MOST_JOBS = 256  # in one transaction, so that the first job does not wait long for the last
_MOST_SETS = 2_000
_LARGE = 200  # rows above which a set gets its own transaction, so that no other call waits for its commit
_MOST_PREEMPTIONS = 2  # times that a large set is rolled back for small jobs and begun again
_MOST_PREEMPTIONS_GIVING_WAY = 8  # the same for a call that gives way to short ones
_PATIENCE = 0.05  # seconds after which a patient job waits no longer for a moment without others
REPORTED_EVERY = 60.0  # seconds between log messages about a clock that went back


@dataclass(slots=True, eq=False)
class WriteJob:
    """Work for a transaction, and the future that its caller waits for."""

    future: asyncio.Future[Any]
    work: Work | None = None
    sets: Sequence[ChangeSet] = ()  # instead of work: the sets of adjacent jobs are committed together
    urgent: bool = False
    is_large: bool = False
    is_preemptible: bool = False  # whether a small job that arrives has it rolled back, and `Preempted` raised
    definitions: Definitions | None = None
    patient_until: float | None = None  # of a patient job: when it joins the others, by the monotonic clock
    decided: DecidedAppends | None = None  # goes instead of the work, where the job is alone and nothing has changed


class Written(NamedTuple):
    """What one transaction has done."""

    answers: list[Any]
    has_changed: bool = False  # more than streams
    topics: AbstractSet[str] = frozenset()  # that waiting claims are woken for
    streamed: AbstractSet[str] = frozenset()  # the tasks to whose streams it has written


class Writer:
    def __init__(
        self,
        path: Path,
        time: StoreClock,
        loop: asyncio.AbstractEventLoop,
        wrote: Wake,
        streamed: Wake,
        *,
        migrates: bool = True,
        call_timeout: float = CALL_TIMEOUT,
    ) -> None:
        self._path = path
        self._call_timeout = call_timeout
        self._migrates = migrates
        self._time = time
        self._loop = loop
        self._wrote = wrote  # called on the event loop after a commit of this process or another
        self._streamed = streamed  # the same for streams, with the tasks that they are of
        self._jobs: SimpleQueue[WriteJob | None] = SimpleQueue()
        self._large: deque[WriteJob] = deque()  # one at a time, between batches of small jobs
        self._patient: deque[WriteJob] = deque()  # the oldest first
        self._arrived = 0  # number of small jobs, counted on the event loop
        self._taken = 0  # number of small jobs taken, counted in the thread
        self._checkpoints = Checkpoints(path, call_timeout)
        self._stopping = False
        self._seen = 0
        self._thread = Thread(target=self._run, name=f"taskyard writes {path.name}", daemon=True)
        self._ready: asyncio.Future[bytes] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._watchers = 0  # how many coroutines wait for writes of other processes
        self._polling = PollSchedule()
        self._log = ""  # path of the write-ahead log
        self._watch: LogWatch | None = None
        self._reported = -REPORTED_EVERY
        self._identity = FileIdentity(path)  # read again when the file is open
        self.secret = b""

    # These run on the event loop.

    async def start(self) -> None:
        self._thread.start()
        try:
            self.secret = await self._ready
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Finish the waiting jobs, then end the thread."""
        self._stopping = True
        self._jobs.put(None)
        if self._watch is not None:
            self._watch.close()
            self._watch = None  # waiting coroutines still call `unwatch`
        await self._ended
        self._thread.join()

    async def do(
        self, work: Work, *, urgent: bool = False, patient: bool = False, decided: DecidedAppends | None = None
    ) -> Any:
        job = WriteJob(self._loop.create_future(), work=work, urgent=urgent, decided=decided)
        job.patient_until = monotonic() + _PATIENCE if patient else None
        return await self._put(job)

    async def commit(self, sets: Sequence[ChangeSet]) -> list[Answer]:
        if any(len(each.tasks) + len(each.changes) > _LARGE for each in sets):
            return await self._commit_large(sets)
        return await self._put(WriteJob(self._loop.create_future(), sets=sets))

    async def _commit_large(self, sets: Sequence[ChangeSet]) -> list[Answer]:
        """Write when no short call is under way. If a small job comes meanwhile it goes first, and this is repeated."""
        defined = [task.definition for each in sets for task in each.tasks]
        made = await in_pieces(rows.format_definitions, defined)
        definitions = {id(definition): row for definition, row in zip(defined, made, strict=True)}
        most = _MOST_PREEMPTIONS_GIVING_WAY if gives_way() else _MOST_PREEMPTIONS
        for tried in count():
            await pause()
            if self._stopping:
                raise YardClosed
            job = WriteJob(self._loop.create_future(), sets=sets, is_large=True, definitions=definitions)
            # Only new tasks: claims wait for the ends of a drain, which take less long than to begin them again.
            job.is_preemptible = bool(defined) and tried < most
            with suppress(Preempted):
                return await self._put(job)
        raise AssertionError("the last try is not preempted")

    async def _put(self, job: WriteJob) -> Any:
        self._arrived += not job.is_large
        self._jobs.put(job)
        return await job.future

    def _answer(self, futures: Sequence[asyncio.Future[Any]], written: Written) -> None:
        resolve(list(zip(futures, written.answers, strict=True)))
        if written.has_changed:
            self._wrote(written.topics)
        if written.streamed:
            self._streamed(written.streamed)

    def watch(self) -> None:
        """Poll for writes of other processes: now, and until the last `unwatch`."""
        self._watchers += 1
        if self._watchers == 1:
            self._listen()
        self._jobs.put(None)

    def unwatch(self) -> None:
        self._watchers -= 1
        if not self._watchers and self._watch is not None:
            self._watch.pause_watch()

    def _listen(self) -> None:
        # Only when a coroutine waits: inotify instances are few, and most processes that open a yard only write.
        self._watch = self._watch or watch_log(self._log, self._loop, self._on_log_write)
        self._polling.is_watched = self._watch is not None
        if self._watch is not None:
            self._watch.listen()

    def _on_log_write(self) -> None:
        if self._polling.note_log_write():
            self._jobs.put(None)

    # These run in the thread.

    def _run(self) -> None:
        try:
            with closing(self._connect()) as connection, closing(self._checkpoints):
                while not self._stopping or self._large or self._patient or not self._jobs.empty():
                    self._run_once(connection)
        except BaseException as error:
            call_on_loop(self._loop, reject, [self._ready], translate_error(error, self._path) or error)
        finally:
            call_on_loop(self._loop, resolve, [(self._ended, None)])

    def _connect(self) -> apsw.Connection:
        connection = connect(self._path, writes=True, call_timeout=self._call_timeout)
        try:
            secret = prepare(connection, migrates=self._migrates, call_timeout=self._call_timeout)
            self._time.observe(last_numbers(connection).clock)
            self._seen = connection.execute(SQL["data_version"]).get
            self._log = connection.filename_wal
            self._checkpoints.watch(connection)
            self._identity = FileIdentity(self._path)
        except BaseException:
            connection.close()
            raise
        call_on_loop(self._loop, resolve, [(self._ready, secret)])
        return connection

    def _run_once(self, connection: apsw.Connection) -> None:
        jobs = self._take_jobs()
        if jobs:
            self._run_jobs(connection, jobs)
        if self._large:
            self._run_jobs(connection, [self._large.popleft()])
        self._checkpoints.finish_log(connection)
        if self._watchers and (seen := connection.execute(SQL["data_version"]).get) != self._seen:
            self._seen = seen
            self._polling.note_commit()
            call_on_loop(self._loop, self._wrote, None)
            call_on_loop(self._loop, self._streamed, None)

    def _take_jobs(self) -> list[WriteJob]:
        """Take all small jobs that wait, heartbeats first, then patient ones that are due. Empty: time to poll."""
        jobs: list[WriteJob] = []
        try:
            pause = self._polling.pause() if self._watchers else None
            job = self._jobs.get(block=not self._large and not self._patient, timeout=pause)
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
        jobs.sort(key=lambda job: not job.urgent)
        return jobs + self._take_patient(alone=not jobs) if self._patient else jobs

    def _take_patient(self, *, alone: bool) -> list[WriteJob]:
        """The next patient job if nothing else waits; otherwise those that have waited for long."""
        jobs: list[WriteJob] = []
        while self._patient and ((alone and not jobs) or monotonic() > (self._patient[0].patient_until or 0)):
            jobs.append(self._patient.popleft())
        return jobs

    def _take(self, job: WriteJob, small: list[WriteJob]) -> None:
        self._taken += not job.is_large
        if not job.future.cancelled():
            (self._large if job.is_large else small if job.patient_until is None else self._patient).append(job)

    def _run_jobs(self, connection: apsw.Connection, jobs: Sequence[WriteJob]) -> None:
        try:
            inserted = None if jobs[0].decided is None else self._insert_decided(connection, jobs, jobs[0].decided)
            written = inserted or self._transact(connection, jobs)
        except Preempted as preempted:
            call_on_loop(self._loop, reject, [jobs[0].future], preempted)
            return
        except BaseException as error:
            refusal = translate_error(error, self._path, connection)
            if len(jobs) == 1 or isinstance(error, apsw.BusyError | StoreReplaced):
                call_on_loop(self._loop, reject, [job.future for job in jobs], refusal or error)
                return
            # One job is at fault, or the jobs together are too large: run each alone, so that no job fails for another.
            for job in jobs:
                self._run_jobs(connection, [job])
            return
        if written.has_changed:
            self._polling.note_commit()
        # One call for both: each wakes the loop, which costs more than a lone write does otherwise.
        call_on_loop(self._loop, self._answer, [job.future for job in jobs], written)

    def _insert_decided(
        self, connection: apsw.Connection, jobs: Sequence[WriteJob], decided: DecidedAppends
    ) -> Written | None:
        """Append to streams by one statement. None: it takes a transaction."""
        if len(jobs) > 1:
            return None
        self._identity.check()
        growth = decided.insert(connection)
        self._identity.check()
        return None if growth is None else Written([growth], streamed=growth.ends.keys())

    def _transact(self, connection: apsw.Connection, jobs: Sequence[WriteJob]) -> Written:
        try:
            self._identity.check()
            connection.execute(SQL["begin"])
            transaction = SqliteTransaction(
                connection,
                self._time,
                self._should_yield if jobs[0].is_preemptible else None,
                jobs[0].definitions,
            )
            if transaction.went_back:
                clock_rewind.cut_times(transaction)
            answers = _run_work(transaction, jobs)
            has_changed = transaction.finish()
            transaction.yield_to_others()
            connection.execute(SQL["commit"])
            self._identity.check()
        except BaseException:
            # SQLite has rolled back by itself if the disk is full.
            if connection.in_transaction:
                connection.execute(SQL["rollback"])
            raise
        if transaction.went_back:
            self._report_jump(transaction.went_back)
        return Written(answers, has_changed, transaction.topics, transaction.streamed)

    def _should_yield(self) -> bool:
        return self._arrived != self._taken and not self._stopping

    def _report_jump(self, back: Micros) -> None:
        """Log the jump, at most once a minute: two processes whose clocks disagree would fill the log."""
        if monotonic() - self._reported > REPORTED_EVERY:
            self._reported = monotonic()
            logger.warning(
                "%s: the clock went back by %.1f s since the last write; leases and delays were cut to their own "
                "lengths. Look at the clocks of the processes that have this file open",
                self._path,
                back / SECOND,
            )


def _run_work(transaction: SqliteTransaction, jobs: Sequence[WriteJob]) -> list[Any]:
    """Run each job. The sets of adjacent jobs are committed together."""
    answers: list[Any] = []
    place = 0
    while place < len(jobs):
        job = jobs[place]
        if job.work is not None:
            answers.append(job.work(transaction))
            place += 1
            continue
        end = next((n for n in range(place, len(jobs)) if jobs[n].work is not None), len(jobs))
        answered = iter(commit_sets(transaction, [each for job in jobs[place:end] for each in job.sets]))
        answers += [[next(answered) for _ in job.sets] for job in jobs[place:end]]
        place = end
    return answers
