"""One `yard` fixture over every store. No test that uses it knows which one it has."""

import gc
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.yard import Yard, local_yard
from tests.local_only import HTTP, mark_local_only
from tests.scheduling import Scheduling, rank_of
from tests.selection import MADE_FOR_A_STORE, is_worth_it, store_of
from tests.storage import asked_for, give_back, in_memory, opener, take
from tests.yards import OpenYard

if place := in_memory():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(place))  # where pytest makes every tmp_path
# Each client of httpx reads the certificates that it trusts, and those of a machine take 20 ms. Nobody has this key.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "data/authority.pem")
# How long generated data take says how busy the machine is, and nothing of the code. `--hypothesis-profile` goes first.
settings.register_profile("taskyard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("taskyard")
gc.disable()  # until all tests are collected: none of them is garbage
FOUND = pytest.StashKey[set[str]]()  # what the folder of the project had when the tests began
MAY_LEAVE = {".hypothesis", ".pytest_cache", ".taskyard", ".tools"}  # git ignores them


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=asked_for())
async def open_yard(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncIterator[OpenYard]:
    """Opens the same yard as often as wanted, as other processes, workspaces or presets would have it.

    Whatever a test does to them, the history of each workspace must hold together afterwards.
    """
    take(request.param, tmp_path)
    open_store = opener(request.param, tmp_path, clock)
    opened: dict[int, Yard] = {}
    workspaces: dict[str, Yard] = {}

    async def open_yard(**options: Any) -> Yard:
        store = open_store()
        usual = Options(sweeps=False, transcripts=tmp_path / "transcripts", dice=lambda: 0.5)
        yard = local_yard(store, replace(usual, **options))
        if id(store) not in opened:
            await yard.open()
            opened[id(store)] = yard
        else:
            await yard.local.presets.agree()
            await yard.local.retention.agree()
        workspaces.setdefault(yard.workspace, yard)
        return await stack.enter_async_context(_beyond_a_server(yard)) if request.param == HTTP else yard

    async with AsyncExitStack() as stack:
        yield open_yard
    verified = [await yard.verify() for yard in workspaces.values()]
    for yard in opened.values():
        await yard.close()
    give_back(request.param, tmp_path)
    assert all(each.ok for each in verified), "\n".join(map(str, verified))


def _beyond_a_server(yard: Yard) -> AbstractAsyncContextManager[Yard]:
    from tests.remote import beyond_a_server  # noqa: PLC0415 - to load the server takes longer than most tests

    return beyond_a_server(yard)


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    """A yard of the standard preset."""
    return await open_yard(preset="standard")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_local_only(items)
    wanted = [item for item in items if _is_wanted(item)]
    config.hook.pytest_deselected(items=list(set(items) - set(wanted)))
    items[:] = wanted
    items.sort(key=lambda item: rank_of(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


def _is_wanted(item: pytest.Item) -> bool:
    test = item.originalname if isinstance(item, pytest.Function) else item.name
    return is_worth_it(item.path, test, store_of(item), is_first=_is_first_case(item))


def _is_first_case(item: pytest.Item) -> bool:
    given = item.callspec.indices if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return all(index == 0 for name, index in given.items() if name not in MADE_FOR_A_STORE)


def pytest_collection_finish() -> None:
    """Tests are a million objects by now: to look through them for garbage, even once, takes a second."""
    gc.freeze()
    gc.set_threshold(5_000)  # young objects: most of a test are gone with it
    gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    session.stash[FOUND] = _names_in(session.config.rootpath)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if servers := sys.modules.get("tests.servers"):  # where one was asked for
        servers.end_all()
    _must_have_left_nothing(session)


def _must_have_left_nothing(session: pytest.Session) -> None:
    """What a test writes into the folder of the project would be committed with the next change."""
    left = _names_in(session.config.rootpath) - session.stash[FOUND] - MAY_LEAVE
    if left and not hasattr(session.config, "workerinput"):  # pytest-xdist's processes leave it to the first one
        sys.stderr.write(f"\ntests left {', '.join(sorted(left))} in {session.config.rootpath}\n")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}
