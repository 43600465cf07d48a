"""The preset is stored with the workspace, and a task is judged by the one it was put in under, in every process."""

import pytest

from taskyard.core import transitions
from taskyard.core.changes import ChangeSet, Committed, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Status
from taskyard.definition.definition import lane_of
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import status_of
from tests.yards import OpenYard, claim_that, definition_of, elapse, given_an_agent, row_of


async def state_of(yard: Yard, task_id: str) -> object:
    return (await yard.get(task_id)).to_dict()["state"]


async def put_in_by_loki(open_yard: OpenYard) -> Yard:
    """A process without the flag, on a yard that another opened with it."""
    await open_yard(preset="loki")
    return await open_yard()


# Which preset a process gets


async def test_an_unused_workspace_takes_the_first_preset_that_is_asked_for(open_yard: OpenYard):
    yard = await put_in_by_loki(open_yard)

    assert await yard.presets.current() == "loki"
    assert (await yard.enqueue("code")).preset == "loki"
    assert await (await open_yard(preset="loki")).presets.current() == "loki"


async def test_a_process_that_asks_for_another_than_the_stored_one_is_refused(open_yard: OpenYard):
    await open_yard(preset="loki")

    with pytest.raises(InvalidInput, match="must be loki, which is stored for workspace default"):
        await open_yard(preset="multica")


async def test_the_first_task_settles_the_preset_where_nobody_asked_for_one(open_yard: OpenYard):
    yard = await open_yard()
    await open_yard()  # looking is not asking
    await yard.enqueue("code")

    with pytest.raises(InvalidInput, match="must be standard"):
        await open_yard(preset="loki")


async def test_each_workspace_has_its_own(open_yard: OpenYard):
    await open_yard(preset="loki")
    other = await open_yard(workspace="other")

    assert await other.presets.current() == "standard"
    assert (await other.enqueue("code")).preset == "standard"


async def test_it_may_be_set_at_any_time_and_changes_no_task_that_is_there(open_yard: OpenYard, clock: ManualClock):
    yard = await open_yard()
    await given_an_agent(yard)
    before = await yard.enqueue("code", payload={"n": 1}, priority=70)

    await yard.presets.set("loki")
    after = await yard.enqueue("code", payload={"n": 2}, priority=10)

    assert [each.preset for each in (before, after)] == ["standard", "loki"]
    assert (await yard.get(before.id)).to_dict()["priority"] == 70
    assert [await state_of(yard, each.id) for each in (before, after)] == ["ready", "pending"]
    held = await claim_that(yard, before.id, start=True)  # though its agent has no capability of that name
    await yard.complete(held.id, held.lease)  # and without a report
    await open_yard(preset="loki")


async def test_a_preset_that_there_is_none_of_is_refused(open_yard: OpenYard):
    yard = await open_yard()

    with pytest.raises(InvalidInput, match="must be one of"):
        await yard.presets.set("odin")
    assert await yard.presets.current() == "standard"


# What a process without the flag does with tasks that were put in under another preset


async def test_a_claim_goes_by_the_tasks_own_preset(open_yard: OpenYard):
    yard = await put_in_by_loki(open_yard)
    task = await yard.enqueue("eng-backend")
    await given_an_agent(yard, "marketing", capabilities=["biz-marketing"])
    await given_an_agent(yard, "backend", capabilities=["eng-backend"])

    assert await yard.claim("marketing") == []
    assert [held.id for held in await yard.claim("backend")] == [task.id]


async def test_a_duplicate_is_found_by_the_stored_preset(open_yard: OpenYard):
    yard = await put_in_by_loki(open_yard)
    first = await yard.enqueue("code", payload={"n": 1})

    assert (await yard.enqueue("code", payload={"n": 1})).id == first.id


async def test_a_sweep_without_the_flag_counts_lost_leases_as_the_task_does(open_yard: OpenYard, clock: ManualClock):
    yard = await put_in_by_loki(open_yard)
    await given_an_agent(yard, capabilities=["code"])
    task = await yard.enqueue("code")
    await claim_that(yard, task.id)
    await elapse(yard, clock, 3601)

    lost = await yard.get(task.id)
    assert lost.status is Status.READY
    assert [(attempt.reason, attempt.counted) for attempt in lost.attempts] == [("heartbeat_timeout", False)]


async def test_breakers_count_what_the_tasks_own_preset_counts(open_yard: OpenYard):
    yard = await open_yard()
    await given_an_agent(yard, capabilities=["code"])
    await yard.breakers.set_policy(failure_threshold=1)
    await yard.queues.set_preset("legacy", "loki")
    await yard.enqueue("code", queue="legacy")
    await yard.queues.set_preset("legacy", None)

    (held,) = await yard.claim("worker")
    await yard.fail(held.id, held.lease, "crash")
    assert await yard.breakers.list() == []  # it is no dead letter

    await yard.enqueue("code")
    (held,) = await yard.claim("worker", start=True)
    await yard.fail(held.id, held.lease, "crash")
    assert [view.state.value for view in await yard.breakers.list()] == ["open"]


async def test_a_rerun_repeats_the_preset_too(open_yard: OpenYard):
    yard = await open_yard(preset="ade")
    task = await yard.enqueue("code")
    await yard.cancel(task.id)
    await yard.presets.set("standard")

    assert (await yard.rerun(task.id)).preset == "ade"


async def test_what_is_dead_is_pruned_where_the_tasks_own_preset_says_so(open_yard: OpenYard, clock: ManualClock):
    yard = await open_yard(retention_days=1)
    await given_an_agent(yard)
    await yard.queues.set_preset("chat", "ade")
    kept, forgotten = [await yard.enqueue("code", queue=queue, max_attempts=1) for queue in ("default", "chat")]
    for held in await yard.claim("worker", count=2, start=True):
        await yard.fail(held.id, held.lease, "crash")
    clock.advance(seconds=3 * 86_400)
    await elapse(yard, clock, 120)

    assert await status_of(yard, kept.id) is Status.DEAD_LETTERED
    assert forgotten.id not in {task.id for task in await yard.find()}


# A yard of the release before


async def given_a_yard_without_a_stored_preset(yard: Yard) -> str:
    """A task of preset loki in the lane in which the release before put it."""
    task = await yard.enqueue("code")
    plain = lane_of(await definition_of(yard, task.id), failures=0)._replace(capabilities=())
    (lane,) = await yard.store.lanes([plain])
    record = await yard.store.record("workspace", "default", "default")
    assert record is not None
    body = {name: value for name, value in record.body.items() if name != "preset"}
    change = transitions.relane(await row_of(yard, task.id), lane=lane, now=yard.now())
    unsettled = RecordChange("workspace", "default", "default", record.version, body)
    (landed,) = await yard.store.commit([ChangeSet(changes=(change,), records=(unsettled,), at=yard.now())])
    assert isinstance(landed, Committed)
    return task.id


async def test_a_yard_of_the_release_before_gets_its_preset_by_a_migration(open_yard: OpenYard, clock: ManualClock):
    yard = await open_yard(preset="loki")
    task_id = await given_a_yard_without_a_stored_preset(yard)
    clock.advance(seconds=2)
    with pytest.raises(InvalidInput, match="taskyard migrate apply --preset loki"):
        await open_yard(preset="loki")

    assert await yard.presets.adopt("loki") == 1

    assert await yard.presets.current() == "loki"
    await given_an_agent(yard, "marketing", capabilities=["biz-marketing"])
    await given_an_agent(yard, "coder", capabilities=["code"])
    assert await yard.claim("marketing") == []
    await claim_that(yard, task_id, by="coder")
    with pytest.raises(InvalidInput, match="must be loki"):
        await yard.presets.adopt("multica")
