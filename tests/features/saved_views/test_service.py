"""Saved views: seen by everybody in the workspace, replaced under their name, bounded."""

import pytest

from taskyard.core.errors import InvalidInput, NotFound
from taskyard.features.saved_views import rules
from taskyard.yard import Yard


async def test_a_view_is_saved_replaced_listed_and_removed(yard: Yard):
    await yard.saved_views.save("stuck", "tasks", "status=ready&sort=oldest", by="human:ann")
    await yard.saved_views.save("failed graphs", "dags", "status=failed", description="For Monday", by="human:ann")
    await yard.saved_views.save("stuck", "tasks", "status=pending", by="human:bob")

    found = [(each.name, each.page, each.query, each.by) for each in await yard.saved_views.list()]
    assert found == [
        ("failed graphs", "dags", "status=failed", "human:ann"),
        ("stuck", "tasks", "status=pending", "human:bob"),
    ]
    await yard.saved_views.remove("stuck")
    assert [each.name for each in await yard.saved_views.list()] == ["failed graphs"]
    with pytest.raises(NotFound):
        await yard.saved_views.remove("stuck")


@pytest.mark.parametrize(
    ("page", "query", "field"),
    [
        ("nowhere", "status=ready", "page"),
        ("tasks", "?status=ready", "query"),
        ("tasks", "a=b#c", "query"),
        ("tasks", "a b", "query"),
        ("tasks", "x" * 2001, "query"),
    ],
)
async def test_a_view_is_a_page_and_what_its_address_asks_for(yard: Yard, page: str, query: str, field: str):
    with pytest.raises(InvalidInput, match=field):
        await yard.saved_views.save("bad", page, query)


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred", "turned\u202earound", ""])
async def test_a_view_has_a_name_of_one_line(yard: Yard, name: str):
    with pytest.raises(InvalidInput, match="name: must"):
        await yard.saved_views.save(name, "tasks", "")


async def test_there_are_only_so_many(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rules, "MOST_VIEWS", 2)
    for name in ("one", "two"):
        await yard.saved_views.save(name, "tasks", "")

    with pytest.raises(InvalidInput, match="2 views are saved"):
        await yard.saved_views.save("three", "tasks", "")
    await yard.saved_views.save("two", "tasks", "status=ready")
