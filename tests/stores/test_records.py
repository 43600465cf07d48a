"""Versioned documents, and what they make stale."""

import pytest

from taskyard.core.changes import (
    PLANNED_ON,
    Committed,
    Conflict,
    RecordChange,
)
from taskyard.core.json_value import Json
from taskyard.core.task import LaneId
from taskyard.stores.contract import Claimed, Stale, Store
from tests.stores.given import (
    ELSEWHERE,
    HERE,
    at_once,
    commit,
    committed,
    given_a_record,
    given_a_task,
    history,
    ids,
    row_of,
)
from tests.stores.plans import a_plan, take


async def test_a_record_is_written_where_it_is_still_at_the_version_that_was_read(store: Store):
    await committed(store, records=(RecordChange("note", HERE, "n", 0, {"text": "first"}),))
    first = await store.record("note", HERE, "n")
    assert first
    assert first.version > 0

    await committed(store, records=(RecordChange("note", HERE, "n", first.version, {"text": "second"}),))

    second = await store.record("note", HERE, "n")
    assert second
    assert (second.version, second.body) == (first.version + 1, {"text": "second"})
    for version in (0, first.version, second.version + 1):
        result = await commit(store, records=(RecordChange("note", HERE, "n", version, {"text": "third"}),))
        assert isinstance(result, Conflict)
    assert await store.record("note", HERE, "n") == second


async def test_a_record_without_a_body_is_removed(store: Store):
    await given_a_record(store, "note", "n", {})
    absent = RecordChange("note", HERE, "n", 0, None)
    assert isinstance(await commit(store, records=(absent,)), Conflict)

    await committed(store, records=(absent._replace(version=1),))

    assert await store.record("note", HERE, "n") is None
    assert isinstance(await commit(store, records=(absent._replace(version=1),)), Conflict)
    await given_a_record(store, "note", "n", {"again": True})
    assert await store.records("note") == [await store.record("note", HERE, "n")]


async def test_of_several_records_that_moved_the_first_is_named(store: Store):
    await given_a_record(store, "note", "a", {})
    behind = [RecordChange("note", HERE, name, version, {}) for name, version in (("new", 0), ("a", 0), ("gone", 1))]

    assert await commit(store, records=tuple(behind)) == Conflict("note:a")
    assert await store.record("note", HERE, "new") is None


async def test_a_graph_is_not_joined_by_two_at_once(store: Store, other: Store):
    await given_a_record(store, "dag", "d", {})
    join = RecordChange("dag", HERE, "d", 1, {"joined": True})

    results = await at_once(*(commit(each, records=(join,)) for each in (store, other) * 5))

    assert sum(isinstance(result, Committed) for result in results) == 1


@pytest.mark.parametrize("kind", sorted(PLANNED_ON))
async def test_a_record_that_claims_are_planned_on_makes_plans_stale_whenever_it_changes(store: Store, kind: str):
    task = await given_a_task(store)
    bodies: list[dict[str, Json] | None] = [{"n": 1}, {"n": 2}, None]
    for version, body in enumerate(bodies):
        plan = await a_plan(store)
        await committed(store, records=(RecordChange(kind, HERE, "x", version, body),))

        assert await store.claim(plan) == Stale((await store.config(HERE, LaneId(0))).epoch)

    assert await row_of(store, task.id) == task
    assert await history(store, task.id) == ["task.created"]
    assert ids((await take(store, await a_plan(store))).tasks) == [task.id]


async def test_a_record_that_no_claim_is_planned_on_leaves_plans_alone(store: Store):
    task = await given_a_task(store)
    plan = await a_plan(store)
    await given_a_record(store, "dag", "d", {})

    assert ids((await take(store, plan)).tasks) == [task.id]


async def test_a_refused_set_makes_no_plan_stale(store: Store):
    plan = await a_plan(store)
    assert isinstance(await commit(store, records=(RecordChange("agent", HERE, "ada", 9, {}),)), Conflict)

    assert await take(store, plan) == Claimed((), 0, took_all=True)


async def test_records_are_found_by_kind_and_workspace(store: Store):
    for kind, record_id, workspace in [("note", "b", HERE), ("note", "a", HERE), ("note", "a", ELSEWHERE)]:
        await given_a_record(store, kind, record_id, {"in": workspace}, workspace)
    await given_a_record(store, "other", "a", {})

    here = await store.records("note", HERE)
    everywhere = await store.records("note")

    assert sorted(record.id for record in here) == ["a", "b"]
    assert sorted((record.workspace, record.id) for record in everywhere) == [
        (ELSEWHERE, "a"),
        (HERE, "a"),
        (HERE, "b"),
    ]
    assert all(record.body == {"in": HERE} for record in here)
    assert await store.record("note", ELSEWHERE, "b") is None


# In the order of code points: a capital before a small letter, and what UTF-16 would put after the private use last.
IN_ORDER = [
    "A",
    "a",
    "a:",
    "a:1",
    "a:10",
    "a:2",
    "a:\ud7ff",
    "a:\ue000",
    "a:\U0001f600",
    "a:\U0010ffff",
    "a;",
    "b",
    "é",
]


async def given_pages(store: Store) -> None:
    for record_id in sorted(IN_ORDER, key=lambda each: each[::-1]):
        await given_a_record(store, "note", record_id, {"text": record_id})
    await given_a_record(store, "note", "a:elsewhere", {}, ELSEWHERE)
    await given_a_record(store, "other", "a:other", {})


async def test_a_page_has_the_highest_ids_first(store: Store):
    await given_pages(store)

    page = await store.page("note", HERE, limit=100)

    assert [record.id for record in page] == IN_ORDER[::-1]
    assert page[0] == await store.record("note", HERE, IN_ORDER[-1])
    assert await store.page("note", "nowhere", limit=100) == []


@pytest.mark.parametrize("prefix", ["", "a", "a:", "a:1", "a:\ud7ff", "a:\U0010ffff", "\U0010ffff", "z"])
@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_pages_follow_each_other_without_a_gap(store: Store, prefix: str, limit: int):
    await given_pages(store)
    found: list[str] = []
    below: str | None = None
    while page := await store.page("note", HERE, prefix=prefix, below=below, limit=limit):
        assert len(page) <= limit
        found += [record.id for record in page]
        below = page[-1].id

    assert found == [each for each in IN_ORDER[::-1] if each.startswith(prefix)]


async def test_a_page_begins_below_an_id_that_nothing_has(store: Store):
    await given_pages(store)

    below = [record.id for record in await store.page("note", HERE, prefix="a:", below="a:15", limit=2)]

    assert below == ["a:10", "a:1"]
    assert await store.page("note", HERE, prefix="b", below="a", limit=2) == []


async def test_what_was_removed_is_in_no_page(store: Store):
    for name in "abc":
        await given_a_record(store, "note", name, {})
    await committed(store, records=(RecordChange("note", HERE, "b", 1, None),))
    await given_a_record(store, "note", "c", {"changed": True})

    page = await store.page("note", HERE, limit=9)

    assert [(record.id, record.body) for record in page] == [("c", {"changed": True}), ("a", {})]


async def test_a_stored_body_is_not_changed_by_what_its_reader_does_with_it(store: Store):
    body: dict[str, Json] = {"list": [1]}
    await given_a_record(store, "note", "n", body)
    body["list"] = "changed by the writer"
    read = await store.record("note", HERE, "n")
    assert read
    read.body["list"] = "changed by the reader"

    again = await store.record("note", HERE, "n")

    assert again
    assert again.body == {"list": [1]}
