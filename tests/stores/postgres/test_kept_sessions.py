"""What tests on PostgreSQL hand on to each other, and what they do not: see tests/kept_sessions.py."""

import asyncio
import gc
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from typing import Any

import pytest

from taskyard.stores.postgres.connection.address import parse_address
from taskyard.stores.postgres.connection.pool import Pool
from taskyard.stores.postgres.connection.session import PostgresSession
from tests import kept_sessions
from tests.kept_sessions import KeptLoop

LOCKS = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"
SEEN = f"select concat_ws(' ', pg_backend_pid(), ({LOCKS}), current_setting('jit'))"
Use = Callable[[str], str]


@pytest.fixture
def loop() -> Iterator[KeptLoop]:
    with closing(KeptLoop()) as loop:
        yield loop
    loop.end()


def run(loop: KeptLoop, work: Coroutine[Any, Any, Any]) -> Any:
    """As each test is run: by a runner of its own, which closes the loop."""
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(work)


def test_a_test_leaves_nothing_in_the_loop_of_the_next(loop: KeptLoop):
    heard: list[str] = []
    own = set(loop.selector.get_map())
    here, there = socket.socketpair()

    async def leave() -> asyncio.TimerHandle:
        loop.add_reader(here, heard.append, "a file")
        loop.add_signal_handler(signal.SIGUSR2, heard.append, "a signal")
        loop.set_exception_handler(lambda _, context: heard.append(str(context)))
        heard.append(await asyncio.to_thread(str, "a thread"))
        return loop.call_later(60, heard.append, "a timer")

    async def look() -> int:
        there.send(b"!")
        await asyncio.to_thread(gc.collect)
        return len(asyncio.all_tasks())

    timer = run(loop, leave())

    assert run(loop, look()) == 1
    assert timer.cancelled()
    assert heard == ["a thread"]
    assert set(loop.selector.get_map()) == own
    assert loop.get_exception_handler() is None
    assert signal.getsignal(signal.SIGUSR2) == signal.SIG_DFL
    here.close()
    there.close()


@pytest.fixture
def use(url: str) -> Iterator[Use]:
    """Send a text in a session of the yard, as a test of its own. Answers which session it was."""

    async def send(text: str) -> str:
        pool = Pool(parse_address(url, ""))

        async def on(session: PostgresSession) -> str:
            await session.execute(text)
            return await session.fetchval(SEEN)

        answer = await pool.run(on)
        await pool.close()
        return answer

    yield lambda text: run(kept_sessions.loop(), send(text))
    kept_sessions.forget(parse_address(url, "").schema)


def test_a_session_is_handed_on_without_locks_and_settings(use: Use):
    first = use("select 1")

    assert use("select pg_advisory_lock(7); set jit = on") != first
    assert use("select 1") == first


def test_a_session_within_a_transaction_is_not_handed_on(use: Use):
    first = use("begin")

    assert use("select 1").split()[0] != first.split()[0]
