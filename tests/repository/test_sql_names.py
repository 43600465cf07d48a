"""A query has a name of its own: of two with one name, a store would take the later for both."""

import re
from collections import Counter
from pathlib import Path

import pytest

STORES = Path(__file__).parents[2] / "src/taskyard/stores"


def names_used_twice(texts: list[str]) -> list[str]:
    names = Counter(name for text in texts for name in re.findall(r"^-- name: (\w+)$", text, re.MULTILINE))
    return [name for name, number in names.items() if number > 1]


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_no_two_queries_of_a_store_have_one_name(store: str):
    texts = [path.read_text(encoding="utf-8") for path in sorted((STORES / store).rglob("*.sql"))]

    assert len(texts) > 3
    assert names_used_twice(texts) == []


def test_a_name_that_is_used_twice_is_found():
    assert names_used_twice(["-- name: whole\nselect 1", "-- name: load\n\n-- name: whole\n"]) == ["whole"]
