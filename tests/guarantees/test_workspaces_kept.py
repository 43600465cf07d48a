"""Workspaces of one process: one that is in use stays the same, and those that nobody uses are not kept for ever."""

import gc
import weakref

import pytest

from taskyard.ledger.clock import SystemClock
from taskyard.ledger.options import Options
from taskyard.stores.memory import MemoryStore
from taskyard.workspaces import KEPT, Workspaces


@pytest.fixture
async def workspaces() -> Workspaces:
    return Workspaces(MemoryStore(clock=SystemClock()), Options())


def ask_for_many(workspaces: Workspaces) -> None:
    for number in range(KEPT + 1):
        workspaces.of(f"other {number}")


async def test_a_workspace_in_use_is_the_same_however_many_others_are_asked_for(workspaces: Workspaces):
    used = workspaces.of("used")

    ask_for_many(workspaces)

    assert workspaces.of("used") is used
    assert workspaces.of("default") is workspaces.first


async def test_a_workspace_that_nobody_uses_is_let_go(workspaces: Workspaces):
    unused = weakref.ref(workspaces.of("unused"))

    ask_for_many(workspaces)
    gc.collect()

    assert unused() is None
