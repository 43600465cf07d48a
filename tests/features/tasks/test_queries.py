"""Lists in another order, within a time, and what a filter may be set to."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.units import to_iso
from taskyard.features.tasks.lookup import queries
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import claim_that, given_a_running_task, given_an_agent


async def titles(yard: Yard, sort: str) -> list[str]:
    return [row.title for row in await yard.tasks.rows(sort=sort)]


async def given_three(yard: Yard, clock: ManualClock) -> None:
    """One that failed and cost much, one that took long, one that waits and is urgent."""
    await given_an_agent(yard)
    dear = await given_a_running_task(yard, title="dear", retry={"strategy": "immediate"})
    await yard.fail(dear.id, dear.lease, "crash", cost_usd="2")
    again = await claim_that(yard, dear.id, start=True)
    await yard.complete(again.id, again.lease, {}, cost_usd="1")
    slow = await given_a_running_task(yard, title="slow", tags=["night"], subject="issue:7")
    clock.advance(seconds=60)
    await yard.complete(slow.id, slow.lease, {})
    await yard.enqueue("mail", title="urgent", priority=5, queue="post")
    clock.advance(seconds=1)
    await yard.tasks.set_priority((await yard.find(type="mail"))[0].id, 4)


async def test_a_list_is_sorted_by_what_is_asked_for(yard: Yard, clock: ManualClock):
    await given_three(yard, clock)

    assert await titles(yard, "newest") == ["urgent", "slow", "dear"]
    assert await titles(yard, "oldest") == ["dear", "slow", "urgent"]
    assert (await titles(yard, "cost"))[0] == "dear"
    assert (await titles(yard, "failures"))[0] == "dear"
    assert await titles(yard, "took") == ["slow", "dear", "urgent"]
    assert (await titles(yard, "priority"))[0] == "urgent"
    assert (await titles(yard, "updated"))[0] == "urgent"
    with pytest.raises(InvalidInput, match="sort: must be one of newest"):
        await yard.find(sort="loudest")


@pytest.mark.parametrize("sort", queries.SORTS)
async def test_pages_of_every_order_have_each_task_once(yard: Yard, clock: ManualClock, sort: str):
    await given_three(yard, clock)
    seen, cursor = list[str](), 0

    while page := await yard.tasks.rows(sort=sort, limit=2, cursor=cursor):
        seen += [row.title for row in page]
        if (after := queries.cursor_after(page, 2, cursor, sort)) is None:
            break
        cursor = after

    assert sorted(seen) == ["dear", "slow", "urgent"]


async def test_a_list_is_of_a_time_and_of_a_reason(yard: Yard, clock: ManualClock):
    await given_three(yard, clock)
    middle = to_iso((await yard.find(type="mail"))[0].created_at)

    assert [row.title for row in await yard.tasks.rows(since=middle)] == ["urgent"]
    assert [row.title for row in await yard.tasks.rows(until=middle)] == ["slow", "dear"]
    assert [row.title for row in await yard.tasks.rows(reason="crash")] == ["dear"]
    assert (await yard.tasks.count(reason="crash")).counts["completed"] == 1
    assert (await yard.tasks.bulk("rerun", by="me", dry_run=True, reason="timeout")).task_ids == ()
    with pytest.raises(InvalidInput, match="since"):
        await yard.find(since="yesterday")


@pytest.mark.parametrize(
    ("field", "begins", "expected"),
    [
        ("type", "M", ["mail"]),
        ("queue", "", ["default", "post"]),
        ("tag", "ni", ["night"]),
        ("subject", "issue:", ["issue:7"]),
        ("agent", "work", ["worker"]),
        ("reason", "cra", ["crash"]),
    ],
)
async def test_what_is_there_is_suggested(yard: Yard, clock: ManualClock, field: str, begins: str, expected: list[str]):
    await given_three(yard, clock)

    assert await yard.tasks.suggest(field, begins=begins) == expected


async def test_only_some_fields_have_suggestions(yard: Yard):
    with pytest.raises(InvalidInput, match="field: must be one of type, queue"):
        await yard.tasks.suggest("prompt")
