"""Which tests run on which stores: rules in memory, what a store does itself on all, anything else on one more."""

from collections import Counter
from pathlib import Path

import pytest

from tests import selection
from tests.local_only import LOCAL_ONLY
from tests.selection import BEYOND, is_worth_it, turn_of

TESTS = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def nothing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TASKYARD_TEST_STORES", raising=False)


def stores_of(path: str, test: str, *, is_first: bool = True) -> list[str]:
    stores = ("memory", *BEYOND)
    return [store for store in stores if is_worth_it(TESTS / path, test, store, is_first=is_first)]


def test_every_file_that_is_listed_exists():
    listed = selection.OF_EVERY_STORE | selection.OF_NO_STORE | selection.OF_NO_LINE | selection.OF_SERVED_STORES
    there = {path.stem for folder in ("guarantees", "server") for path in (TESTS / folder).glob("test_*.py")}
    worker = "".join(path.read_text(encoding="utf-8") for path in (TESTS / "worker").glob("test_*.py"))
    doors = {path.stem for folder in ("a2a", "mcp", "security") for path in (TESTS / folder).glob("test_*.py")}

    assert listed - there == set()
    assert doors >= selection.OF_BOTH_SERVED
    assert all(test in worker for test in selection.OF_EVERY_CONNECTION)


def test_what_a_store_does_itself_is_tried_on_every_store():
    assert set(stores_of("guarantees/test_keys.py", "test_a_key")) >= {"memory", "sqlite", "postgres", "redis"}


def test_anything_else_is_tried_in_memory_and_on_one_store_more():
    tests = [f"test_{number}" for number in range(400)]
    met = [stores_of("guarantees/test_why.py", test) for test in tests]

    assert {(len(stores), stores[0]) for stores in met} == {(2, "memory")}
    assert min(Counter(stores[1] for stores in met).values()) > 60


def test_rules_about_a_role_are_tried_on_one_store_and_crashes_attacks_and_the_matrix_of_calls_on_both():
    of_a_role = [stores_of("mcp/test_roles.py", "test_a_role"), stores_of("security/test_authorisation.py", "test_it")]
    of_a_role.append(stores_of("a2a/test_access.py", "test_a_role"))

    assert [len(stores) for stores in of_a_role] == [1, 1, 1]
    assert stores_of("mcp/test_kills.py", "test_a_task") == ["sqlite", "postgres"]
    assert stores_of("a2a/test_streams.py", "test_a_stream") == ["sqlite", "postgres"]
    assert stores_of("security/test_attacks.py", "test_an_attack") == ["sqlite", "postgres"]
    assert stores_of("security/test_matrix.py", "test_a_token") == ["sqlite", "postgres"]


def test_cases_of_a_test_differ_in_memory_only():
    assert stores_of("guarantees/test_keys.py", "test_a_key", is_first=False) == ["memory"]


def test_no_test_has_its_turn_beyond_a_server_that_it_is_not_tried_beyond():
    assert {turn_of(test, BEYOND) for test in LOCAL_ONLY} == {"sqlite", "postgres", "redis"}


def test_who_asks_for_a_store_gets_every_test_on_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TASKYARD_TEST_STORES", "redis")

    assert "redis" in stores_of("guarantees/test_why.py", "test_it", is_first=False)
