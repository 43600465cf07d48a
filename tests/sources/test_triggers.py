"""What triggers pass over, refuse to do, and say about it."""

from typing import Any

import pytest

from taskyard.core.errors import InvalidInput, NotFound
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.sources.words import (
    ETL,
    MEND,
    REPORT,
    RULE,
    finish,
    given_a_report_on,
    last_fire,
    look_at_events,
    mends,
    reports,
)
from tests.yards import claim_that, data_of, given_a_dead_letter, given_an_agent


async def test_a_lone_task_is_its_own_graph(yard: Yard, clock: ManualClock):
    await given_a_report_on(yard, type="load")
    task = await yard.enqueue("load", title="Lone")
    held = await claim_that(yard, task.id, start=True)
    await yard.complete(held.id, held.lease, {"rows": 3})
    await look_at_events(yard, clock)

    assert [report.prompt for report in await reports(yard)] == ["Report on 3 rows of Lone"]


async def test_a_graph_that_fails_fires_who_listens_to_that(yard: Yard, clock: ManualClock):
    await yard.triggers.add("alarm", "dag", settings={"status": ["failed"]}, task={"type": "report"})
    await given_a_dead_letter(yard, "load")
    await look_at_events(yard, clock)

    assert [fire.outcome for fire in await yard.triggers.fires("alarm")] == ["fired"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"tag": "other"}, "no tag other"), ({"title": "Other"}, "title is not Other"), ({"type": "x"}, "type x")],
)
async def test_a_graph_that_is_not_meant_is_passed_over_and_that_is_shown(
    yard: Yard, clock: ManualClock, settings: dict[str, str], why: str
):
    await given_a_report_on(yard, **settings)
    dag_id = await finish(yard, ETL)
    await look_at_events(yard, clock)
    view = await yard.triggers.get("report")

    assert await reports(yard) == list(view.fires) == []
    assert dag_id in str(view.passed_over)
    assert why in str(view.passed_over)


async def test_what_ended_before_the_trigger_was_added_does_not_fire_it(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    await finish(yard, ETL)
    clock.advance(seconds=1)
    await given_a_report_on(yard)
    await look_at_events(yard, clock)

    assert await reports(yard) == []


async def test_conditions_on_what_came_decide_too(yard: Yard):
    await given_an_agent(yard)
    await yard.triggers.add("report", "dag", only={"output.rows": [1, 2]}, task=REPORT)
    await finish(yard, ETL)
    assert ((await last_fire(yard)).outcome, (await last_fire(yard)).why) == ("skipped", "output.rows is 7")

    await finish(yard, ETL, output={"rows": 2})
    assert (await last_fire(yard)).outcome == "fired"


async def test_a_path_that_leads_nowhere_is_a_failure_that_is_shown(yard: Yard):
    await given_a_report_on(yard)
    await finish(yard, ETL, output={"lines": 1})

    fire = await last_fire(yard)
    assert (fire.outcome, await reports(yard)) == ("failed", [])
    assert "output.rows" in fire.why


async def test_a_trigger_does_not_start_itself(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    await yard.triggers.add("again", "dag", dag=ETL)
    await finish(yard, ETL)
    for _ in range(2):
        (held,) = await yard.claim("worker", start=True)
        await yard.complete(held.id, held.lease)
    await look_at_events(yard, clock)

    assert len(await yard.triggers.fires("again")) == 1
    assert "does not start itself" in str((await yard.triggers.get("again")).passed_over)


async def test_triggers_that_start_each_other_come_to_an_end(yard: Yard):
    await given_an_agent(yard)
    for number, other in (("one", "b"), ("two", "a")):
        await yard.triggers.add(
            number, "dag", settings={"tag": "ab".replace(other, "")}, dag={"tags": [other], "tasks": [{"type": "load"}]}
        )
    await yard.submit({"tags": ["a"], "tasks": [{"type": "load"}]})
    rounds = 0
    while held := await yard.claim("worker", start=True):
        await yard.complete(held[0].id, held[0].lease)
        rounds += 1

    assert rounds == 22
    assert "20 fires in a row" in (await last_fire(yard, "two")).why + (await last_fire(yard, "one")).why


async def test_a_paused_trigger_lets_graphs_pass(yard: Yard):
    await given_a_report_on(yard)
    await yard.triggers.pause("report")
    await finish(yard, ETL)
    assert await reports(yard) == []

    await yard.triggers.resume("report")


@pytest.mark.parametrize(("measure", "above"), [("cost_usd", 0.25), ("duration_sec", 5)])
async def test_cost_and_duration_are_watched_too(yard: Yard, clock: ManualClock, measure: str, above: float):
    settings = {"measure": measure, "above": above, "over": 2}
    await yard.triggers.add("friction", "rule", settings=settings, task=MEND)
    await given_an_agent(yard)
    for _ in range(2):
        await yard.enqueue("code")
        (held,) = await yard.claim("worker", start=True)
        clock.advance(seconds=6)
        await yard.complete(held.id, held.lease, cost_usd="0.3")
    await look_at_events(yard, clock)

    assert await mends(yard) == 1


async def test_a_provider_that_asks_to_wait_is_no_failure(yard: Yard, clock: ManualClock):
    await yard.triggers.add("friction", "rule", settings={**RULE, "over": 1, "above": 0}, task=MEND)
    await given_an_agent(yard)
    await yard.enqueue("code")
    (held,) = await yard.claim("worker", start=True)
    await yard.fail(held.id, held.lease, "rate_limit", "slow down")
    await look_at_events(yard, clock)

    assert await mends(yard) == 0


# By hand


async def test_a_trigger_is_fired_by_hand_and_once_for_a_key(yard: Yard):
    await yard.triggers.add(
        "inbox", "files", settings={"path": "/srv/inbox"}, task={"type": "read", "prompt": "{{ file.path }}"}
    )
    data = {"file": {"path": "/srv/inbox/a.csv"}}
    first, second = [await yard.triggers.fire("inbox", data, key="a") for _ in range(2)]

    assert [first.outcome, second.outcome] == ["fired", "skipped"]
    assert "came before" in second.why
    assert [task.prompt for task in await yard.find()] == ["/srv/inbox/a.csv"]


async def test_a_trigger_that_is_removed_fires_no_more_and_its_name_is_free(yard: Yard):
    await given_a_report_on(yard)
    await yard.triggers.remove("report")
    await finish(yard, ETL)

    assert await reports(yard) == await yard.triggers.list() == []
    with pytest.raises(NotFound):
        await yard.triggers.get("report")
    await given_a_report_on(yard)
    assert [view.trigger.id for view in await yard.triggers.list()] == ["report"]


async def test_a_trigger_takes_anothers_place_only_where_that_is_stated(yard: Yard):
    await given_a_report_on(yard)
    with pytest.raises(InvalidInput, match="another trigger"):
        await given_a_report_on(yard)
    with pytest.raises(InvalidInput, match="must stay dag"):
        await yard.triggers.add("report", "webhook", ready_made="json", replace=True)
    await yard.triggers.add("report", "dag", task={"type": "other"}, replace=True)

    assert (await yard.triggers.get("report")).trigger.template == {"task": {"type": "other"}}


async def test_what_people_did_with_a_trigger_is_on_record(yard: Yard):
    await given_a_report_on(yard)
    await yard.triggers.pause("report")
    await yard.triggers.resume("report")
    await yard.triggers.remove("report")

    told = [await data_of(yard, f"trigger.{verb}") for verb in ("added", "paused", "resumed", "removed")]
    assert told == [[{"trigger": "report", "source": "dag", "by": "human:local"}]] * 4


# What makes no sense

NONSENSE: list[tuple[str, dict[str, Any]]] = [
    ("source", {"source": "smoke-signal"}),
    ("settings.colour", {"settings": {"colour": "red"}}),
    ("settings.status", {"settings": {"status": ["gone"]}}),
    ("settings.above", {"source": "rule", "settings": {"measure": "failure_rate"}}),
    ("settings.path", {"source": "files"}),
    ("settings.scheme", {"source": "webhook", "settings": {"scheme": "none"}}),
    ("only", {"only": {"a.b": {"matches": ".*"}}}),
    ("task", {"task": None}),
    ("type", {"task": {"prompt": "{{ output }}"}}),
    ("priority", {"task": {"type": "x", "priority": 101, "prompt": "{{ output }}"}}),
    ("task", {"task": {"type": "x", "prompt": "{{ output.rows"}}),
    ("id", {"trigger_id": "../x"}),
    ("ready_made", {"ready_made": "everything"}),
]


async def test_a_trigger_that_makes_no_sense_is_refused_and_not_stored(yard: Yard):
    for field, given in NONSENSE:
        asked: dict[str, Any] = {"trigger_id": "report", "source": "dag", "task": {"type": "report"}, **given}
        with pytest.raises(InvalidInput) as refused:
            await yard.triggers.add(**asked)
        assert field in str(refused.value.facts["field"])

    assert await yard.triggers.list() == []
