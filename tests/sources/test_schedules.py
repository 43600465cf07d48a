"""What schedules do by their policies, and what people do with them."""

from dataclasses import replace
from typing import Any

import pytest

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard, local_yard
from tests.sources.words import AUDIT, DAY, HOUR, fires, given_a_schedule, pass_by
from tests.yards import OpenYard, claim_that, data_of, elapse, given_an_agent


async def test_an_interval_is_counted_from_when_it_was_made(yard: Yard, clock: ManualClock):
    clock.advance(seconds=17)
    await given_a_schedule(yard, "every 90 seconds")
    for _ in range(4):
        await pass_by(yard, clock, 45)

    assert await fires(yard) == [("fired", "01-01T00:01"), ("fired", "01-01T00:03")]


async def test_a_schedule_begins_and_ends_when_it_is_asked_to(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, starts_at="2026-01-01T02:00:00Z", ends_at="2026-01-01T03:30:00Z", misfire="all")
    await pass_by(yard, clock, DAY)

    assert await fires(yard) == [("fired", "01-01T02:00"), ("fired", "01-01T03:00")]
    assert (await yard.schedules.get("audit")).schedule.next_at is None


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("skip", [("missed", "01-01T01:00")]),
        ("once", [("missed", "01-01T01:00"), ("fired", "01-01T05:00")]),
        ("all", [("fired", f"01-01T0{hour}:00") for hour in range(1, 6)]),
    ],
)
async def test_times_that_were_missed_follow_the_policy(
    yard: Yard, clock: ManualClock, policy: str, told: list[tuple[str, str]]
):
    await given_a_schedule(yard, misfire=policy)
    await pass_by(yard, clock, 5.5 * HOUR)
    assert await fires(yard) == told

    await pass_by(yard, clock, HOUR / 2)
    assert await fires(yard) == [*told, ("fired", "01-01T06:00")]


@pytest.mark.parametrize("policy", ["skip", "once", "all"])
async def test_nothing_is_made_up_for_beyond_the_window(yard: Yard, clock: ManualClock, policy: str):
    await given_a_schedule(yard, misfire=policy, misfire_window_sec=600)
    await pass_by(yard, clock, 5.5 * HOUR)

    assert await fires(yard) == [("missed", "01-01T01:00")]
    assert await yard.find() == []


async def test_a_graph_that_is_still_going_keeps_its_schedule_busy(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, task=None, dag={"tasks": [AUDIT]}, busy="skip")
    await pass_by(yard, clock, HOUR)
    await given_an_agent(yard)
    [task] = await yard.find()
    held = await claim_that(yard, task.id, start=True)
    await pass_by(yard, clock, HOUR)
    await yard.complete(held.id, held.lease)
    await pass_by(yard, clock, HOUR)

    assert [outcome for outcome, _ in await fires(yard)] == ["fired", "skipped", "fired"]


@pytest.mark.parametrize("made", [{"task": AUDIT}, {"task": None, "dag": {"tasks": [AUDIT]}}])
async def test_a_run_may_replace_the_one_before(yard: Yard, clock: ManualClock, made: dict[str, Any]):
    await given_a_schedule(yard, busy="replace", misfire="all", **made)
    await pass_by(yard, clock, HOUR)
    await pass_by(yard, clock, 2 * HOUR)

    assert [outcome for outcome, _ in await fires(yard)] == ["fired", "skipped", "fired"]
    assert {status for status, types in (await yard.tasks.stats()).items() if types} == {"ready", "cancelled"}


async def test_a_schedule_takes_anothers_place_only_where_that_is_stated(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard)
    with pytest.raises(InvalidInput, match="another schedule"):
        await given_a_schedule(yard, "every minute")
    await given_a_schedule(yard, "30 * * * *", replace=True)
    await pass_by(yard, clock, HOUR)

    assert await fires(yard) == [("fired", "01-01T00:30")]


async def test_a_task_that_is_there_already_is_the_one_that_is_meant(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, task={**AUDIT, "idempotency_key": "audit"}, misfire="all")
    await pass_by(yard, clock, 3 * HOUR)

    [task] = await yard.find()
    last = await yard.schedules.fires("audit")
    assert {fire.task_id for fire in last} == {task.id}
    assert "a live task has the key" in last[0].why


async def test_what_people_did_with_a_schedule_is_on_record(yard: Yard):
    await given_a_schedule(yard)
    await yard.schedules.pause("audit")
    await yard.schedules.resume("audit")
    await yard.schedules.remove("audit")

    told = [await data_of(yard, f"schedule.{verb}") for verb in ("added", "paused", "resumed", "removed")]
    assert told == [[{"schedule": "audit", "by": "human:local"}]] * 4


async def test_fires_are_kept_for_as_long_as_work_is(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, "every day at noon", misfire="all", misfire_window_sec=30 * DAY)
    await pass_by(yard, clock, 10 * DAY)
    await pass_by(yard, clock, HOUR)

    assert [when for _, when in await fires(yard)] == [f"01-{day:02}T12:00" for day in range(4, 11)]


async def test_a_template_that_no_longer_fits_is_reported_and_stops_nothing(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, task={**AUDIT, "queue": "slow", "priority": 77})
    await yard.queues.set_preset("slow", "loki")
    await pass_by(yard, clock, HOUR)
    [failed] = await yard.schedules.fires("audit")
    assert failed.outcome == "failed"
    assert "priority" in failed.why

    await yard.queues.set_preset("slow", None)
    await pass_by(yard, clock, HOUR)
    assert [outcome for outcome, _ in await fires(yard)] == ["failed", "fired"]


async def test_a_schedule_keeps_pace_with_a_yard_that_is_kept_swept(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, "every minute")
    await elapse(yard, clock, 180)

    assert await fires(yard) == [("fired", f"01-01T00:0{minute}") for minute in (1, 2, 3)]


# What makes no sense


NONSENSE: list[tuple[str, dict[str, Any]]] = [
    ("when", {"when": "whenever it suits"}),
    ("when", {"when": "61 * * * *"}),
    ("when", {"when": "0 0 30 2 *"}),
    ("when", {"when": "every day at 25:00"}),
    ("when", {"when": "0 * * * * Mars/Olympus"}),
    ("when", {"when": "0 * * * * Europe/../etc/passwd"}),
    ("when", {"when": "every 0 seconds"}),
    ("id", {"schedule_id": "a/b"}),
    ("type", {"task": {"prompt": "no type"}}),
    ("template", {"task": {"type": "x", "prompt": "{{ fire.nothing }}"}}),
    ("task", {"task": {"type": "x", "prompt": "{{ 1 + 1 }}"}}),
    ("task", {"task": {"type": "x", "id": "task_00000000000000000000000000"}}),
    ("task", {"dag": {"tasks": [AUDIT]}}),
    ("priority", {"task": {"type": "x", "priority": 101}}),
]


async def test_a_schedule_that_makes_no_sense_is_refused_and_not_stored(yard: Yard):
    for field, given in NONSENSE:
        asked: dict[str, Any] = {"schedule_id": "audit", "when": "0 * * * *", "task": AUDIT, **given}
        with pytest.raises(InvalidInput) as refused:
            await yard.schedules.add(**asked)
        assert field in str(refused.value.facts["field"])

    assert await yard.schedules.list() == []


# What verify finds


async def test_verify_finds_a_fire_that_made_two_things_and_a_schedule_that_nobody_will_look_at(
    open_yard: OpenYard, clock: ManualClock
):
    opened = await open_yard()
    # Of this workspace the fixture does not know: what it knows of must be sound afterwards.
    yard = local_yard(opened.store, replace(opened.options, workspace="damaged"))
    await given_a_schedule(yard)
    await pass_by(yard, clock, HOUR)
    [fire] = await yard.schedules.fires("audit")
    await yard.enqueue("audit", created_by="cron:audit", trigger={"type": "schedule", "ref": fire.id})
    [entry] = await yard.store.records("agenda")
    await yard.store.commit([ChangeSet(records=(RecordChange(*entry[:4], None),), at=yard.now())])

    doubled, lost = (await yard.verify()).problems
    assert fire.id in doubled
    assert "in nobody's agenda" in lost
