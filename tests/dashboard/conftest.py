"""One server for each store, one browser for tests that follow each other, and for each test a workspace of its own.

A page stays open too: to load it anew is most of what a browser works for a short test. Whoever comes next signs in by
its form. `enter_anew` gives a browser that has never been here.

No browser for longer: while it is open, Playwright keeps an event loop going, and no other test could run one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

import taskyard
from scripts.build_dashboard import BUILT
from taskyard.sync import SyncYard
from tests.dashboard.browsing import USUAL, Visit, log_in, serving, started, visiting
from tests.dashboard.scenes import Scene, given_a_scene
from tests.dashboard.survey import Found, in_english, in_german
from tests.servers import free_port
from tests.storage import asked_for, url_of

STORES = [name for name in ("sqlite", "postgres") if name in asked_for()]
# A page is the same on every store, and what it asks for is tried on each by the tests of the server. What a store can
# change is how soon a page hears of something: these are tried on every store, all others usually on the first.
ON_EVERY_STORE = frozenset({"test_live"})
_numbers = count(1)
_open = ExitStack()  # the browser, until the next test is none of these
_pages: dict[str, Page] = {}  # those that stay open, by the address of their server
FAILED = pytest.StashKey[bool]()


class Place(NamedTuple):
    """A store, and a server of it."""

    url: str
    address: str


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = [item for item in items if item.path.parent == Path(__file__).parent]
    spared = [item for item in here if _store_of(item) not in (STORES[0], "") and not _is_of_every_store(item)]
    if "TASKYARD_TEST_STORES" not in os.environ:
        config.hook.pytest_deselected(items=spared)
        items[:] = [item for item in items if item not in spared]


def _is_of_every_store(item: pytest.Item) -> bool:
    # Those that have servers of their own, by `store`, are about the servers.
    return item.path.stem in ON_EVERY_STORE and "place" in getattr(item, "fixturenames", ())


def _store_of(item: pytest.Item) -> str:
    given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return str(given.get("place", given.get("store", "")))


@pytest.fixture
def browser() -> Browser:
    return _opened_browser()


@cache
def _opened_browser() -> Browser:
    if not (BUILT / "index.html").exists():
        pytest.fail("the dashboard is not built: make dashboard", pytrace=False)
    playwright = _open.enter_context(sync_playwright())
    browser = started(playwright.chromium)
    _open.callback(browser.close)
    return browser


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path.parent != item.path.parent:
        _opened_browser.cache_clear()
        _pages.clear()
        _open.close()


def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    node.stash[FAILED] = True


@pytest.fixture(scope="session", params=STORES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    folder: Path = tmp_path_factory.mktemp("dashboard")
    url = url_of(request.param, folder)
    with serving(url, free_port()) as address:
        yield Place(url, address)


@pytest.fixture(scope="session")
def english_pages(place: Place) -> dict[str, Found]:
    return _surveyed(place, in_english, color_scheme="dark")


@pytest.fixture(scope="session")
def german_pages(place: Place) -> dict[str, Found]:
    return _surveyed(place, in_german, locale="de")


def _surveyed(place: Place, survey: Callable[[Visit, Scene], dict[str, Found]], **options: Any) -> dict[str, Found]:
    with (
        taskyard.connect_sync(place.url, workspace=survey.__name__, sweeps=False) as yard,
        visiting(_opened_browser(), place.address, **options) as visit,
    ):
        log_in(visit, yard.tokens.create("olga", "admin").text)
        return survey(visit, given_a_scene(yard))


@pytest.fixture
def yard(place: Place) -> Generator[SyncYard]:
    """A workspace of the test's own, past the server: what others do while somebody looks."""
    with taskyard.connect_sync(place.url, workspace=f"test-{next(_numbers)}", sweeps=False) as yard:
        yield yard


Enter = Callable[..., Visit]


@pytest.fixture
def enter(
    request: pytest.FixtureRequest, browser: Browser, place: Place, yard: SyncYard, enter_anew: Enter
) -> Generator[Enter]:
    """Lets somebody in, with a token of the role; where the browser must be a certain one, with one of their own."""
    with ExitStack() as visits:

        def enter(role: str = "admin", viewport: ViewportSize = USUAL["viewport"], **options: Any) -> Visit:
            if options:
                return enter_anew(role, viewport=viewport, **options)
            token = yard.tokens.create("olga", role).text
            return visits.enter_context(_in_turn(request.node, browser, place.address, token, viewport))

        yield enter


@contextmanager
def _in_turn(test: pytest.Item, browser: Browser, address: str, token: str, viewport: ViewportSize) -> Generator[Visit]:
    """A visit with the page that stays open; with another where that one is in use. What a test spoilt is closed."""
    page = _pages.pop(address, None) or browser.new_context(**USUAL).new_page()
    page.set_viewport_size(viewport)
    visit = Visit(page, address, token)
    yield visit
    if visit.leave() and FAILED not in test.stash and address not in _pages:
        _pages[address] = page
    else:
        page.context.close()
    assert visit.troubles == []


@pytest.fixture
def enter_anew(browser: Browser, place: Place, yard: SyncYard) -> Generator[Enter]:
    """Lets somebody in whose browser has never been here."""
    with ExitStack() as visits:

        def enter(role: str = "admin", **options: Any) -> Visit:
            visit = visits.enter_context(visiting(browser, place.address, **options))
            log_in(visit, yard.tokens.create("olga", role).text)
            return visit

        yield enter


@pytest.fixture
def visit(enter: Enter) -> Visit:
    """Somebody who may do everything."""
    return enter()
