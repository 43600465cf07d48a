"""Reports of a workspace, from its attempts and from its stored days."""

from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.features.reports import rules, service
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard


async def given_work(yard: Yard, clock: ManualClock) -> None:
    """A task that fails once and is completed then, and another that is completed a day later."""
    await yard.agents.register("ada", "coder", max_concurrent_tasks=9)
    await yard.enqueue("code", tags=["x", "y"], subject="issue:1")
    clock.advance(seconds=5)
    [held] = await yard.claim("ada", start=True)
    clock.advance(seconds=10)
    await yard.fail(held.id, held.lease, "crash", cost_usd="0.50", model="opus")
    clock.advance(seconds=100)
    await yard.sweep()
    [held] = await yard.claim("ada", start=True)
    clock.advance(seconds=20)
    await yard.complete(held.id, held.lease, {}, cost_usd="1.00", model="haiku")
    clock.advance(seconds=86_400)
    await yard.enqueue("write", queue="slow")
    [held] = await yard.claim("ada", start=True)
    clock.advance(seconds=1)
    await yard.complete(held.id, held.lease, {}, cost_usd="2.00", model="opus")
    await yard.sweep()


def table(report: Any) -> dict[tuple[str | None, ...], tuple[float | None, ...]]:
    return {row.group: row.values for row in report.rows}


async def test_attempts_are_reported_by_what_their_tasks_have(yard: Yard, clock: ManualClock):
    await given_work(yard, clock)
    measures = ["attempts", "failed", "cost", "duration_p99"]

    by_type = await yard.reports.make(by="type", measures=measures)
    by_tag = await yard.reports.make(by="tag", measures="cost")
    by_model = await yard.reports.make(by=["agent", "model"], measures="attempts")
    by_day = await yard.reports.make(by="day", measures="completed")

    assert table(by_type) == {("code",): (2, 1, 1.5, 20.0), ("write",): (1, 0, 2.0, 1.0)}
    assert (by_type.total.values, by_type.read, by_type.is_cut) == ((3, 1, 3.5, 20.0), 2, False)
    assert table(by_tag) == {("x",): (1.5,), ("y",): (1.5,), (None,): (2.0,)}
    assert table(by_model) == {("coder", "opus"): (2,), ("coder", "haiku"): (1,)}
    assert [row.values for row in by_day.rows] == [(1,), (1,)]


async def test_the_wait_of_an_attempt_begins_with_the_task_or_with_the_end_of_the_one_before(
    yard: Yard, clock: ManualClock
):
    await given_work(yard, clock)

    found = await yard.reports.make(by="model", measures="wait", type="code")

    assert table(found) == {("opus",): (5.0,), ("haiku",): (100.0,)}


@pytest.mark.parametrize(
    ("which", "number"), [({"type": "code"}, 2), ({"queue": "slow"}, 1), ({"tag": "y"}, 2), ({"subject": "issue:2"}, 0)]
)
async def test_a_report_is_narrowed_down_like_a_list(
    yard: Yard, clock: ManualClock, which: dict[str, Any], number: int
):
    await given_work(yard, clock)

    assert (await yard.reports.make(measures="attempts", **which)).total.values == (number,)


async def test_stored_days_tell_the_same_of_what_they_store(yard: Yard, clock: ManualClock):
    await given_work(yard, clock)

    cost = await yard.reports.make(by=["type", "model"], measures="cost", source="days")
    mine = await yard.reports.make(by="day", measures=["cost", "completed"], source="days", type="code")

    assert table(cost) == {("write", "opus"): (2.0,), ("code", "haiku"): (1.0,), ("code", "opus"): (0.5,)}
    assert table(cost) == table(await yard.reports.make(by=["type", "model"], measures="cost"))
    assert ([row.values for row in mine.rows], mine.read) == ([(1.5, 1)], 2)


async def test_a_time_is_of_tasks_put_in_or_of_whole_days(yard: Yard, clock: ManualClock):
    await given_work(yard, clock)
    [first, second] = (await yard.reports.make(by="day", measures="attempts")).rows
    morning, next_morning = f"{first.group[0]}T00:00:00Z", f"{second.group[0]}T00:00:00Z"

    attempts = await yard.reports.make(measures="attempts", since=morning, until=next_morning)
    days = await yard.reports.make(by="day", measures="cost", since=morning, until=next_morning, source="days")

    assert attempts.total.values == (2,)
    assert table(days) == {first.group: (1.5,)}
    with pytest.raises(InvalidInput, match="since"):
        await yard.reports.make(since=next_morning, until=morning)


async def test_a_report_that_reads_only_the_newest_tasks_says_so(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    await given_work(yard, clock)
    monkeypatch.setattr(rules, "MOST_TASKS", 1)
    monkeypatch.setattr(service, "AT_ONCE", 1)

    found = await yard.reports.make(measures="attempts")

    assert (table(found), found.read, found.is_cut) == ({("write",): (1,)}, 1, True)


async def test_too_many_rows_are_cut_and_counted_in_the_whole(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    await given_work(yard, clock)
    monkeypatch.setattr(rules, "MOST_ROWS", 1)

    found = await yard.reports.make(by="model", measures="attempts")

    assert (len(found.rows), found.rows_left_out, found.total.values) == (1, 1, (3,))
