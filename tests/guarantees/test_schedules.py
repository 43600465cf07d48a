"""Work that is made by time: each nominal time fires at most once, and what did not fire says why."""

import asyncio

import pytest

from taskyard.core.errors import NotFound
from taskyard.core.units import Micros, from_iso, to_iso
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.interference import ProcessDied, dying_after, losing_an_answer
from tests.sources.words import AUDIT, DAY, HOUR, behind, fires, given_a_schedule, pass_by, short
from tests.yards import OpenYard


async def test_a_time_that_has_come_makes_its_task(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, "every day at 02:30 Europe/Berlin")
    await pass_by(yard, clock, DAY)

    [task] = await yard.find()
    [fire] = await yard.schedules.fires("audit")
    assert (task.id, task.type, task.prompt) == (fire.task_id, "audit", "Audit of 2026-01-01")
    assert task.to_dict()["created_by"] == "cron:audit"
    assert task.to_dict()["trigger"] == {
        "type": "schedule",
        "ref": fire.id,
        "summary": "every day at 02:30 Europe/Berlin",
    }
    assert fire.nominal == from_iso("2026-01-01T01:30:00Z")


async def test_a_time_that_has_come_makes_its_graph(yard: Yard, clock: ManualClock):
    tasks = [{"name": "fetch", "type": "fetch"}, {"type": "report", "depends_on": ["fetch"]}]
    await given_a_schedule(yard, task=None, dag={"title": "Report of {{ fire.wall }}", "tasks": tasks})
    await pass_by(yard, clock, HOUR)

    [fire] = await yard.schedules.fires("audit")
    assert fire.dag_id is not None
    dag = await yard.dags.get(fire.dag_id)
    assert (dag.title, dag.created_by, len(dag.tasks)) == ("Report of 2026-01-01T01:00:00+00:00", "cron:audit", 2)


async def test_many_who_sweep_at_once_fire_each_time_once(open_yard: OpenYard, clock: ManualClock):
    yards = [await open_yard() for _ in range(4)]
    await given_a_schedule(yards[0], misfire="all")
    for _ in range(3):
        clock.advance(seconds=4 * HOUR)
        await asyncio.gather(*(behind(yard).on_store.sweeper.fire_schedules() for yard in yards))

    assert await fires(yards[0]) == [("fired", f"01-01T{hour:02}:00") for hour in range(1, 13)]
    assert len(await yards[0].find()) == 12


@pytest.mark.parametrize("commits", [0, 1, 2])
async def test_a_process_that_dies_while_firing_neither_doubles_nor_loses(yard: Yard, clock: ManualClock, commits: int):
    await given_a_schedule(yard, misfire="all")
    await yard.schedules.add("other", "0 * * * *", task=AUDIT, misfire="all")
    clock.advance(seconds=3 * HOUR)
    with pytest.raises(ProcessDied):
        await dying_after(behind(yard), commits).sweep()
    await pass_by(yard, clock, 2)

    assert await fires(yard) == await fires(yard, "other") == [("fired", f"01-01T0{hour}:00") for hour in (1, 2, 3)]
    assert len(await yard.find()) == 6


@pytest.mark.parametrize("stored", [True, False])
async def test_an_answer_that_is_lost_while_firing_neither_doubles_nor_loses(
    yard: Yard, clock: ManualClock, stored: bool
):
    await given_a_schedule(yard)
    clock.advance(seconds=HOUR)
    await asyncio.gather(losing_an_answer(behind(yard), stored=stored).sweep(), return_exceptions=True)
    await pass_by(yard, clock, 2)

    assert await fires(yard) == [("fired", "01-01T01:00")]
    assert len(await yard.find()) == 1


async def test_a_sweep_fires_for_every_workspace(open_yard: OpenYard, clock: ManualClock):
    ours, theirs = await open_yard(), await open_yard(workspace="theirs")
    await given_a_schedule(ours)
    await given_a_schedule(theirs)
    await pass_by(ours, clock, HOUR)

    assert await fires(ours) == await fires(theirs) == [("fired", "01-01T01:00")]
    assert [task.workspace for task in await theirs.find()] == ["theirs"]


async def test_more_than_fits_into_one_change_is_caught_up_with(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, "* * * * *", misfire="all")
    await pass_by(yard, clock, 10 * HOUR)

    assert (await yard.tasks.stats())["ready"] == {"audit": 600}


async def test_a_busy_schedule_skips_and_says_what_is_still_going(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, busy="skip")
    await pass_by(yard, clock, HOUR)
    await pass_by(yard, clock, HOUR)
    assert await fires(yard) == [("fired", "01-01T01:00"), ("skipped", "01-01T02:00")]

    [skipped, fired] = await yard.schedules.fires("audit")
    assert skipped.why == f"the run before is still going: {fired.task_id}"
    await yard.cancel(str(fired.task_id))
    await pass_by(yard, clock, HOUR)
    assert (await fires(yard))[-1] == ("fired", "01-01T03:00")


async def test_a_paused_schedule_goes_on_from_when_it_is_resumed(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, misfire="all")
    await yard.schedules.pause("audit")
    await pass_by(yard, clock, 5 * HOUR)
    assert (await yard.schedules.get("audit")).next_times == ()

    await yard.schedules.resume("audit")
    await pass_by(yard, clock, HOUR)
    assert await fires(yard) == [("fired", "01-01T06:00")]


async def test_a_schedule_may_be_run_now_also_while_it_is_paused(yard: Yard):
    await given_a_schedule(yard, paused=True)
    fire = await yard.schedules.run("audit")

    assert (fire.nominal, fire.why) == (None, "run by human:local")
    assert [task.id for task in await yard.find()] == [fire.task_id]
    assert await fires(yard) == [("fired", None)]


async def test_next_times_and_last_fires_are_shown(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, "every weekday at 09:00 America/New_York")
    await pass_by(yard, clock, 1.5 * DAY)
    view = await yard.schedules.get("audit")

    assert [to_iso(at)[:13] for at in view.next_times] == [f"2026-01-{day:02}T14" for day in (2, 5, 6, 7, 8)]
    assert [fire.outcome.value for fire in view.fires] == ["fired"]
    assert [each.schedule.id for each in await yard.schedules.list()] == ["audit"]


async def test_fires_are_read_page_by_page(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard, misfire="all")
    await pass_by(yard, clock, 5 * HOUR)
    first = await yard.schedules.fires("audit", limit=2)
    second = await yard.schedules.fires("audit", limit=2, below=first[-1].key)

    assert [short(each.nominal or Micros(0)) for each in (*first, *second)] == [
        f"01-01T0{hour}:00" for hour in (5, 4, 3, 2)
    ]


async def test_a_schedule_that_is_removed_fires_no_more_and_its_name_is_free(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard)
    await yard.schedules.remove("audit")
    await pass_by(yard, clock, 5 * HOUR)

    assert await yard.find() == await yard.schedules.list() == []
    with pytest.raises(NotFound):
        await yard.schedules.get("audit")
    await given_a_schedule(yard)
    await pass_by(yard, clock, HOUR)
    assert await fires(yard) == [("fired", "01-01T06:00")]


async def test_a_removed_schedule_is_forgotten_with_its_last_fire(yard: Yard, clock: ManualClock):
    await given_a_schedule(yard)
    await pass_by(yard, clock, HOUR)
    await yard.schedules.remove("audit")
    for _ in range(3):
        await pass_by(yard, clock, 4 * DAY)

    assert await behind(yard).store.records("schedule") == []
    assert await behind(yard).store.records("fire") == []
