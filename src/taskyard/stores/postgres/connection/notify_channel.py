"""Wakes coroutines that wait for changes, of this process or another.

Other processes are notified by NOTIFY after the commit: at once after a quiet time, otherwise several writes together
(decision 20). A notification names its topics, so that only interested claimers wake. It may get lost: a poll of the
last event's number finds what it missed.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from secrets import token_hex

import asyncpg

from taskyard.core.errors import TaskyardError
from taskyard.core.task import LaneId
from taskyard.stores.postgres.connection.address import PostgresAddress
from taskyard.stores.postgres.connection.driver_errors import CONNECTION_LOST
from taskyard.stores.postgres.connection.pool import connect
from taskyard.stores.postgres.connection.wakeup import NOTHING, Wakeup
from taskyard.stores.postgres.fast.claim_cursors import ClaimCursors
from taskyard.stores.postgres.statements import Statements
from taskyard.stores.shared.waiters import ANYTHING, Waiters

_FIRST_PAUSE = 0.005  # seconds after the first notification in which writes are collected for the next
_LONGEST_PAUSE = 0.05  # and while writes go on: 20 notifications a second from one process
_LONGEST_PAYLOAD = 7_900  # bytes: PostgreSQL takes less than 8,000
_POLL_EVERY = 2.0  # seconds between polls while notifications arrive
_POLL_UNNOTIFIED_EVERY = 0.25  # and while they cannot
_POLLS_BEFORE_LISTENING = 40  # before the next attempt to listen
_ANSWER_WITHIN = 3.0  # seconds after which a listening connection without an answer counts as dead

Ask = Callable[[str, tuple[object, ...]], Awaitable[object]]


class NotifyChannel:
    def __init__(self, where: PostgresAddress, sql: Statements, ask: Ask, cursors: ClaimCursors) -> None:
        self._where = where
        self._sql = sql
        self._query = ask  # runs a statement by name on a pooled connection
        self._cursors = cursors
        self._name = token_hex(8)  # to recognize this process's own notifications
        self._channel = f"taskyard_{sql.schema}"
        self._seen: object = None
        self._waiters = Waiters()
        self._unsent: Wakeup | None = None
        self._stream_channel = f"taskyard_{sql.schema}_streams"
        self._streams = Waiters()
        self._unsent_streams: set[str] = set()  # tasks
        self._echoed = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None
        self._listener: asyncio.Task[None] | None = None

    @property
    def mark(self) -> int:
        return self._waiters.mark

    @property
    def streams_mark(self) -> int:
        return self._streams.mark

    async def open(self) -> None:
        self._seen = await self._query("event_count", ())

    async def close(self) -> None:
        self._waiters.wake()  # no write can follow, so wake all waiters
        self._streams.wake()
        if self._sender is not None:
            with suppress(asyncio.CancelledError):
                await self._sender  # other processes wait for the last writes
        if self._listener is not None:
            self._listener.cancel()
            with suppress(asyncio.CancelledError):
                await self._listener
        self._sender = self._listener = None

    def written(self, wakeup: Wakeup, *, notify: bool) -> None:
        """This process has written. Other processes are not notified of writes such as heartbeats."""
        self._cursors.note_ready(wakeup.ready_from)
        self._waiters.wake(wakeup.topics)
        if notify:
            self._unsent = wakeup | (self._unsent or NOTHING)
            self._begin_to_send()

    def streamed(self, task_ids: AbstractSet[str]) -> None:
        """This process has written to the streams of these tasks."""
        self._streams.wake(task_ids)
        self._unsent_streams |= task_ids
        self._begin_to_send()

    def _begin_to_send(self) -> None:
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    def listen(self) -> None:
        """Begin to listen, unless the listener runs already."""
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._listen())

    async def wait(self, mark: int, timeout: float, wanted: frozenset[str] | None) -> None:
        self.listen()
        await self._waiters.wait(mark, timeout, wanted)

    async def wait_for_streams(self, mark: int, timeout: float, wanted: frozenset[str] | None) -> None:
        self.listen()
        await self._streams.wait(mark, timeout, wanted)

    async def _send(self) -> None:
        pause = _FIRST_PAUSE
        if self._unsent is not None and not self._unsent.topics:
            await asyncio.sleep(pause)  # a claim, for example: no claimer waits for it
        while self._unsent is not None or self._unsent_streams:
            wakeup, self._unsent = self._unsent, None
            streams, self._unsent_streams = self._unsent_streams, set()
            with suppress(TaskyardError):  # other processes also poll
                if wakeup is not None:
                    await self._notify(wakeup)
                if streams:
                    await self._notify_streams(streams)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _notify(self, wakeup: Wakeup) -> None:
        payload = json.dumps([self._name, wakeup.ready_from, sorted(wakeup.others)])
        if len(payload) > _LONGEST_PAYLOAD:
            payload = json.dumps([self._name, ANYTHING, ANYTHING])
        await self._query("notify", (self._channel, payload))

    async def _notify_streams(self, task_ids: AbstractSet[str]) -> None:
        payload = json.dumps([self._name, sorted(task_ids)])
        if len(payload) > _LONGEST_PAYLOAD:
            payload = json.dumps([self._name, ANYTHING])
        await self._query("notify", (self._stream_channel, payload))

    async def _listen(self) -> None:
        """Listen while the store is open, on a new connection when one is lost."""
        while True:
            if not self._where.direct_url:
                await self._poll(_POLL_UNNOTIFIED_EVERY)
                continue
            try:
                await self._listen_once()
            except TimeoutError:
                for _ in range(_POLLS_BEFORE_LISTENING):
                    await self._poll(_POLL_UNNOTIFIED_EVERY)
            except (*CONNECTION_LOST, TaskyardError, asyncpg.PostgresError):
                await self._poll(random.uniform(0.5, 1.5) * _POLL_UNNOTIFIED_EVERY)

    async def _listen_once(self) -> None:
        connection = await connect(self._where, direct=True)
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        try:
            async with asyncio.timeout(_ANSWER_WITHIN):
                await connection.add_listener(self._channel, self._on_notify)
                await connection.add_listener(self._stream_channel, self._on_stream_notify)
                await self._await_echo()
            self._wake_all()  # writes before the LISTEN may have left no event
            while not lost.is_set():
                # Finds what a notification missed, and whether the connection is alive.
                async with asyncio.timeout(_ANSWER_WITHIN):
                    self._compare(await connection.fetchval(self._sql["event_count"]))
                with suppress(TimeoutError):
                    async with asyncio.timeout(_POLL_EVERY):
                        await lost.wait()
        finally:
            connection.terminate()
        raise ConnectionResetError

    async def _await_echo(self) -> None:
        """Wait for this process's own notification: a pooler may accept a LISTEN and deliver nothing."""
        self._echoed.clear()
        await self._notify(NOTHING)
        await self._echoed.wait()

    async def _poll(self, pause: float) -> None:
        with suppress(TaskyardError):
            self._compare(await self._query("event_count", ()))
        self._streams.wake()  # streams have no number that would show that there is nothing new
        await asyncio.sleep(pause)

    def _compare(self, count: object) -> None:
        if count != self._seen:
            self._seen = count
            self._waiters.wake()

    def _wake_all(self) -> None:
        self._cursors.clear()
        self._waiters.wake(ANYTHING)
        self._streams.wake(ANYTHING)

    def _on_stream_notify(self, _connection: asyncpg.Connection, _pid: int, _channel: str, payload: object) -> None:
        name, task_ids = json.loads(str(payload))
        if name != self._name:
            self._streams.wake(ANYTHING if task_ids is None else frozenset(task_ids))

    def _on_notify(self, _connection: asyncpg.Connection, _pid: int, _channel: str, payload: object) -> None:
        name, ready_from, others = json.loads(str(payload))
        if name == self._name:
            self._echoed.set()
        elif ready_from is None:
            self._wake_all()
        else:
            wakeup = Wakeup(
                {LaneId(int(lane)): (rank, seq) for lane, (rank, seq) in ready_from.items()}, frozenset(others)
            )
            self._cursors.note_ready(wakeup.ready_from)
            self._waiters.wake(wakeup.topics)
