"""Work that is made by events: once for each, and what did not fire says why."""

import asyncio

import pytest

from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.interference import ProcessDied, dying_after
from tests.sources.words import (
    ETL,
    MEND,
    RULE,
    attempts,
    behind,
    finish,
    given_a_report_on,
    last_fire,
    leaf_of,
    look_at_events,
    mends,
    reports,
)
from tests.yards import OpenYard, claim_that, elapse, given_an_agent, pass_unswept


async def test_a_graph_that_completes_hands_its_outputs_on(yard: Yard):
    await given_a_report_on(yard, tag="etl")
    dag_id = await finish(yard, ETL)

    [report] = await reports(yard)
    assert report.prompt == "Report on 7 rows of ETL"
    assert report.to_dict()["created_by"] == "event:report"
    assert [(given.ref, given.data) for given in await yard.tasks.inputs(report.id)] == [
        (f"task:{await leaf_of(yard, dag_id)}:output", {"rows": 7})
    ]
    fire = await last_fire(yard)
    assert (fire.outcome, fire.why, fire.task_id) == ("fired", f"{dag_id} completed", report.id)


async def test_a_graph_may_start_another_graph(yard: Yard):
    await given_an_agent(yard)
    tasks = [{"name": "a", "type": "draw", "payload": "{{ outputs }}"}, {"type": "send", "depends_on": ["a"]}]
    await yard.triggers.add("next", "dag", dag={"title": "After {{ dag.id }}", "tasks": tasks})
    dag_id = await finish(yard, ETL)

    fire = await last_fire(yard, "next")
    view = await yard.dags.get(str(fire.dag_id))
    [root] = view.roots
    assert (view.title, view.created_by) == (f"After {dag_id}", "event:next")
    assert (await yard.get(root)).payload == [{"rows": 7}]


async def test_one_end_fires_once_however_many_look_and_however_often(open_yard: OpenYard, clock: ManualClock):
    yards = [await open_yard() for _ in range(3)]
    await given_a_report_on(yards[0])
    await finish(yards[0], ETL)
    events = await behind(yards[0]).store.events(after=0, limit=1000)
    for _ in range(2):
        await asyncio.gather(*(behind(yard).local.event_triggers.follow(events) for yard in yards))
    await look_at_events(yards[0], clock)

    assert len(await reports(yards[0])) == len(await yards[0].triggers.fires("report")) == 1


async def test_a_process_that_dies_after_the_end_leaves_the_fire_to_the_sweep(yard: Yard, clock: ManualClock):
    await given_a_report_on(yard)
    dag = await yard.submit({**ETL, "tasks": [{"type": "load"}]})
    held = await claim_that(yard, dag.tasks["#0"].id, start=True)
    # It completes the task and ends the graph, which are two stored changes, and then it dies.
    with pytest.raises(ProcessDied):
        await dying_after(behind(yard), 2).complete(held.id, held.lease, {"rows": 1})
    assert await reports(yard) == []

    await look_at_events(yard, clock)
    clock.advance(seconds=6)
    await behind(yard).local.event_triggers.follow(await behind(yard).store.events(after=0, limit=1000))
    assert len(await reports(yard)) == 1


async def test_triggers_of_one_workspace_do_not_hear_of_another(open_yard: OpenYard, clock: ManualClock):
    ours, theirs = await open_yard(), await open_yard(workspace="theirs")
    await given_a_report_on(theirs)
    await given_an_agent(ours)
    await finish(ours, ETL)
    await look_at_events(ours, clock)

    assert await reports(ours) == await reports(theirs) == []


async def test_a_figure_that_turns_bad_makes_work(yard: Yard, clock: ManualClock):
    await yard.triggers.add("friction", "rule", settings=RULE, task=MEND)
    await attempts(yard, clock, "..x.")
    assert await mends(yard) == 0
    watched = (await yard.triggers.get("friction")).watched
    assert watched is not None
    assert (watched.mean, watched.attempts) == (0.25, 4)

    await attempts(yard, clock, "xx")
    [task] = await yard.find(type="mend")
    assert task.prompt == "failure_rate is 0.6 over 5 attempts of type code, above 0.4"
    assert (await yard.get(task.id)).payload == {"mean": 0.6}


async def test_it_does_so_once_in_its_window_and_on_new_attempts_only(yard: Yard, clock: ManualClock):
    await yard.triggers.add("friction", "rule", settings=RULE, task=MEND)
    await attempts(yard, clock, "xxxxx")
    await attempts(yard, clock, "xxxxx")
    assert await mends(yard) == 1
    assert (watched := (await yard.triggers.get("friction")).watched) is not None
    assert watched.quiet_until == (await last_fire(yard, "friction")).at + 3600 * 1_000_000

    await pass_unswept(yard, clock, 3601)
    assert await mends(yard) == 1
    await attempts(yard, clock, "x")
    assert await mends(yard) == 2
    await pass_unswept(yard, clock, 3601)
    await attempts(yard, clock, "xxxx")
    assert await mends(yard) == 2


async def test_attempts_are_seen_once_however_many_look(open_yard: OpenYard, clock: ManualClock):
    yards = [await open_yard() for _ in range(3)]
    await yards[0].triggers.add("friction", "rule", settings={**RULE, "over": 4}, task=MEND)
    await attempts(yards[0], clock, "xx")
    events = await behind(yards[0]).store.events(after=0, limit=1000)
    await asyncio.gather(*(behind(yard).local.event_triggers.follow(events) for yard in yards))

    assert (watched := (await yards[0].triggers.get("friction")).watched) is not None
    assert watched.attempts == 2


async def test_a_key_that_many_come_with_at_once_fires_once(open_yard: OpenYard):
    yards = [await open_yard() for _ in range(4)]
    await yards[0].triggers.add("inbox", "files", settings={"path": "/srv"}, task={"type": "read"})
    fires = await asyncio.gather(*(yard.triggers.fire("inbox", {}, key="a") for yard in yards))

    assert sorted(fire.outcome for fire in fires) == ["fired", "skipped", "skipped", "skipped"]
    assert len(await yards[0].find()) == 1


async def test_a_dry_run_says_what_would_happen_and_stores_nothing(yard: Yard):
    await yard.triggers.add(
        "inbox", "files", settings={"path": "/srv"}, task={"type": "read", "prompt": "{{ file.path }}"}
    )
    good = await yard.triggers.fire("inbox", {"file": {"path": "/srv/a"}}, dry_run=True)
    bad = await yard.triggers.fire("inbox", {}, dry_run=True)

    assert [good.outcome, bad.outcome] == ["fired", "failed"]
    assert await yard.find() == await yard.triggers.fires("inbox") == []


async def test_fires_and_keys_are_kept_for_as_long_as_work_is(yard: Yard, clock: ManualClock):
    await yard.triggers.add("inbox", "files", settings={"path": "/srv"}, task={"type": "read"})
    await yard.triggers.fire("inbox", {}, key="a")
    await elapse(yard, clock, 10)
    clock.advance(seconds=8 * 86_400)
    await yard.sweep()

    assert await yard.triggers.fires("inbox") == []
    assert await behind(yard).store.records("delivery") == []
