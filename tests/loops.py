"""The event loop of each test: a new one, but for tests on PostgreSQL, which take turns at one.

The conftest.py of a folder imports the hooks, which are then called for the tests of that folder.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar

import pytest

from tests.selection import store_of

_store = ContextVar("store", default="")  # of the test that runs


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _store.set(store_of(item))


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"loop": _loop_of_the_test}


def _loop_of_the_test() -> asyncio.AbstractEventLoop:
    if _store.get() != "postgres":
        return asyncio.new_event_loop()
    from tests import kept_sessions  # noqa: PLC0415 - it loads the driver

    return kept_sessions.loop()
