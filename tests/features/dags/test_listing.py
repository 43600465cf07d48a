"""Graphs by how they stand, what they are called, who put them in, and when."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.units import to_iso
from taskyard.features.dags import service
from taskyard.features.dags.listing import DagFilter
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard

ONE = [{"name": "a", "type": "code"}]


async def given_graphs(yard: Yard, clock: ManualClock) -> None:
    first = await yard.submit({"title": "Nightly Report", "tags": ["etl"], "tasks": ONE}, created_by="human:ann")
    await yard.dags.cancel(first.id)
    clock.advance(seconds=10)
    await yard.submit({"title": "A landing page", "tags": ["web"], "tasks": ONE}, created_by="human:bob")


@pytest.mark.parametrize(
    "which",
    [
        DagFilter(status=["cancelled"]),
        DagFilter(text="report"),
        DagFilter(tag="etl"),
        DagFilter(created_by="human:ann"),
        DagFilter(status=["cancelled", "failed"], text="NIGHT", tag="etl"),
    ],
)
async def test_a_list_of_graphs_has_those_that_match(yard: Yard, clock: ManualClock, which: DagFilter):
    await given_graphs(yard, clock)

    assert [each.title for each in await yard.dags.list(**which)] == ["Nightly Report"]


async def test_a_graph_that_nobody_has_begun_is_found_as_pending_and_one_that_was_begun_as_running(yard: Yard):
    begun = await yard.submit({"title": "begun", "tasks": ONE})
    await yard.agents.register("worker", keep=True)
    await yard.claim("worker", start=True)
    fresh = await yard.submit({"title": "fresh", "tasks": ONE})

    found = {status: [each.id for each in await yard.dags.list(status=[status])] for status in ("pending", "running")}

    assert found == {"pending": [fresh.id], "running": [begun.id]}
    assert len(await yard.dags.list(status=["pending", "running"])) == 2


async def test_graphs_are_found_by_their_time_and_by_their_id(yard: Yard, clock: ManualClock):
    await given_graphs(yard, clock)
    newest, oldest = await yard.dags.list()
    assert newest.created_at is not None

    assert await yard.dags.list(since=to_iso(newest.created_at)) == [newest]
    assert await yard.dags.list(until=to_iso(newest.created_at)) == [oldest]
    assert await yard.dags.list(text=oldest.id[:20]) == [oldest] or oldest.id[:20] == newest.id[:20]
    with pytest.raises(InvalidInput, match="status: must be one of"):
        await yard.dags.list(status=["sleeping"])


async def test_a_page_that_read_enough_goes_on_where_it_stopped(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(service, "MOST_LOOKED_AT", 2)
    monkeypatch.setattr(service, "MOST_LISTED", 2)
    wanted = await yard.submit({"title": "needle", "tasks": ONE})
    for number in range(4):
        await yard.submit({"title": f"hay {number}", "tasks": ONE})
    found, cursor, pages = list[str](), None, 0

    while True:
        page = await yard.dags.page(limit=1, cursor=cursor, text="needle")
        found, cursor, pages = found + [each.id for each in page.dags], page.cursor, pages + 1
        if cursor is None:
            break

    assert found == [wanted.id]
    assert pages > 1
