"""Presets: the words, scales and habits of each of the five systems, on the same rules."""

import pytest

from taskyard.core.errors import InvalidInput, ReportRequired
from taskyard.core.task import Status
from taskyard.definition.task_fields import TaskFields
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.graphs import claim_all, given_a_graph, states, status_of, task
from tests.yards import OpenYard, claim_that, definition_of, elapse, given_a_claimed_task, given_an_agent

PRESETS = ["standard", "factory", "loki", "multica", "ade", "automechanica"]


async def opened(open_yard: OpenYard, preset: str) -> Yard:
    """A yard of this preset, with an agent that takes its work."""
    yard = await open_yard(preset=preset)
    await given_an_agent(yard, capabilities=["code", "review"])
    return yard


async def state_of(yard: Yard, task_id: str) -> object:
    return (await yard.get(task_id)).to_dict()["state"]


async def complete(yard: Yard, held: Held) -> None:
    await yard.complete(held.id, held.lease, {"done": True}, decision_report={"decision": "it is done"})


# Words


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("standard", ["pending", "ready", "claimed", "running", "retrying", "completed", "dead_lettered", "cancelled"]),
        ("factory", ["pending", "ready", "claimed", "running", "retrying", "completed", "dead_lettered", "cancelled"]),
        (
            "loki",
            ["pending", "pending", "in-progress", "in-progress", "pending", "completed", "dead-letter", "cancelled"],
        ),
        ("multica", ["queued", "queued", "dispatched", "running", "queued", "completed", "failed", "cancelled"]),
        ("ade", ["pending", "pending", "running", "running", "pending", "completed", "failed", "cancelled"]),
        ("automechanica", ["pending", "pending", "leased", "running", "pending", "completed", "dead", "cancelled"]),
    ],
)
async def test_each_state_has_the_presets_word(open_yard: OpenYard, clock: ManualClock, preset: str, words: list[str]):
    yard = await opened(open_yard, preset)
    told = await yard.enqueue(
        "code",
        payload={"n": 1},
        run_after="2026-01-01T00:00:10Z",
        timeouts={"claim_ttl_sec": 60},
        max_attempts=2,
        retry={"retry_on": [], "jitter": 0},
    )
    said = [await state_of(yard, told.id)]
    await elapse(yard, clock, 10)
    said.append(await state_of(yard, told.id))
    held = await claim_that(yard, told.id)
    said.append(await state_of(yard, told.id))
    await yard.start(held.id, held.lease)
    said.append(await state_of(yard, told.id))
    await yard.fail(held.id, held.lease, "crash", retry_after_sec=20)
    said.append(await state_of(yard, told.id))
    await elapse(yard, clock, 20)
    await complete(yard, await claim_that(yard, told.id, start=True))
    said.append(await state_of(yard, told.id))

    dead = await yard.enqueue("code", payload={"n": 2}, max_attempts=1)
    held = await claim_that(yard, dead.id, start=True)
    await yard.fail(held.id, held.lease, "crash")
    said.append(await state_of(yard, dead.id))
    cancelled = await yard.enqueue("code", payload={"n": 3})
    await yard.cancel(cancelled.id)
    said.append(await state_of(yard, cancelled.id))

    assert said == words
    assert (await yard.get(dead.id)).to_dict()["status"] == "dead_lettered"  # the yard's own word is there too


@pytest.mark.parametrize(
    ("preset", "claimed"),
    [
        ("standard", Status.CLAIMED),
        ("multica", Status.CLAIMED),
        ("loki", Status.RUNNING),
        ("ade", Status.RUNNING),
        ("automechanica", Status.RUNNING),
    ],
)
async def test_where_there_is_no_claim_time_a_claim_is_a_start(open_yard: OpenYard, preset: str, claimed: Status):
    yard = await opened(open_yard, preset)
    waiting = await yard.enqueue("code")

    held = await claim_that(yard, waiting.id)

    assert held.status is claimed
    version = (await yard.get(held.id)).version
    receipt = await yard.start(held.id, held.lease)
    assert receipt.version == version + (claimed is Status.CLAIMED)


# Priorities


@pytest.mark.parametrize(
    ("preset", "first_to_last", "inside"),
    [
        ("standard", [0, 9, 50, 100], [0, 9, 50, 100]),
        ("loki", [10, 9, 5, 1], [0, 11, 55, 99]),
        ("multica", [4, 3, 2, 1, 0], [0, 25, 50, 75, 100]),
        ("ade", [0, 1, 5, 9], [0, 11, 55, 99]),
        ("automechanica", [0, 1, 2, 3], [0, 33, 66, 99]),
    ],
)
async def test_a_presets_priorities_keep_their_order_and_are_shown_as_given(
    open_yard: OpenYard, preset: str, first_to_last: list[int], inside: list[int]
):
    yard = await opened(open_yard, preset)
    made = {
        priority: await yard.enqueue("code", payload={"n": priority}, priority=priority)
        for priority in reversed(first_to_last)
    }

    claimed = [each.id for each in await claim_all(yard, len(made))]

    assert claimed == [made[priority].id for priority in first_to_last]
    assert [(await definition_of(yard, made[priority].id)).priority for priority in first_to_last] == inside
    for priority, each in made.items():
        assert (await yard.get(each.id)).to_dict()["priority"] == priority


@pytest.mark.parametrize(
    ("preset", "outside"),
    [("standard", (-1, 101)), ("loki", (0, 11)), ("multica", (-1, 5)), ("ade", (-1, 10)), ("automechanica", (-1, 4))],
)
async def test_a_priority_outside_the_presets_scale_is_refused(
    open_yard: OpenYard, preset: str, outside: tuple[int, int]
):
    yard = await opened(open_yard, preset)

    for priority in outside:
        with pytest.raises(InvalidInput, match="priority"):
            await yard.enqueue("code", priority=priority)

    assert await yard.find() == []


@pytest.mark.parametrize(
    ("preset", "low", "high"),
    [
        ("standard", 60, 50),
        ("factory", 60, 50),
        ("loki", 1, 2),
        ("multica", 1, 2),
        ("ade", 9, 8),
        ("automechanica", 3, 2),
    ],
)
async def test_only_standard_and_factory_tasks_age_by_themselves(
    open_yard: OpenYard, clock: ManualClock, preset: str, low: int, high: int
):
    yard = await opened(open_yard, preset)
    old = await yard.enqueue("code", payload={"n": 1}, priority=low)
    clock.advance(seconds=60 * 3600)
    fresh = await yard.enqueue("code", payload={"n": 2}, priority=high)

    claimed = [each.id for each in await yard.claim("worker", count=2)]

    ages = preset in ("standard", "factory")
    assert claimed == ([old.id, fresh.id] if ages else [fresh.id, old.id])


# What makes two tasks the same


async def test_in_standard_only_a_given_key_makes_two_tasks_the_same(open_yard: OpenYard):
    yard = await opened(open_yard, "standard")
    first = await yard.enqueue("code", payload={"n": 1})

    assert (await yard.enqueue("code", payload={"n": 1})).created
    hashed = await yard.enqueue("code", payload={"n": 1}, dedup="payload")
    assert hashed.id != first.id
    assert (await yard.enqueue("code", payload={"n": 1}, dedup="payload")).id == hashed.id


async def test_in_loki_the_same_payload_is_the_same_task(open_yard: OpenYard):
    yard = await opened(open_yard, "loki")
    first = await yard.enqueue("code", payload={"a": 1, "b": [2]})

    again = await yard.enqueue("code", payload={"b": [2], "a": 1})
    assert (again.id, again.created) == (first.id, False)
    assert (await yard.enqueue("code", payload={"a": 1, "b": [3]})).created
    # Where the payload says nothing, prompt and type do.
    asked = await yard.enqueue("code", prompt="compare")
    assert (await yard.enqueue("code", prompt="compare")).id == asked.id
    assert (await yard.enqueue("review", prompt="compare")).created

    await yard.cancel(first.id)
    assert (await yard.enqueue("code", payload={"a": 1, "b": [2]})).created


async def test_in_multica_one_task_of_a_subject_waits_for_an_agent_at_a_time(open_yard: OpenYard):
    yard = await opened(open_yard, "multica")
    first = await yard.enqueue("code", subject="issue:42", agent="worker", prompt="first")

    async def once_more() -> tuple[str, bool]:
        again = await yard.enqueue("code", subject="issue:42", agent="worker", prompt="again")
        return again.id, again.created

    assert await once_more() == (first.id, False)
    held = await claim_that(yard, first.id)
    assert await once_more() == (first.id, False)
    await yard.start(held.id, held.lease)

    second, created = await once_more()
    assert created
    assert await yard.claim("worker") == []  # one of the pair at a time
    await complete(yard, held)
    await claim_that(yard, second)


@pytest.mark.parametrize("end", ["fail", "release"])
async def test_in_multica_a_task_that_waits_again_is_the_one_that_waits(open_yard: OpenYard, end: str):
    yard = await opened(open_yard, "multica")
    about: TaskFields = {"subject": "issue:42", "agent": "worker"}
    held = await claim_that(yard, (await yard.enqueue("code", **about)).id, start=True)

    await (yard.fail(held.id, held.lease, "timeout") if end == "fail" else yard.release(held.id, held.lease))

    again = await yard.enqueue("code", **about)
    assert (again.id, again.created) == (held.id, False)


async def test_in_multica_a_task_that_waits_again_leaves_the_place_to_one_that_came_meanwhile(open_yard: OpenYard):
    yard = await opened(open_yard, "multica")
    about: TaskFields = {"subject": "issue:42", "agent": "worker"}
    held = await claim_that(yard, (await yard.enqueue("code", **about)).id, start=True)
    meanwhile = await yard.enqueue("code", **about)

    await yard.fail(held.id, held.lease, "timeout")

    assert meanwhile.created
    assert (await yard.enqueue("code", **about)).id == meanwhile.id
    assert [await status_of(yard, each) for each in (held.id, meanwhile.id)] == [Status.CANCELLED, Status.READY]


async def test_in_multica_other_subjects_agents_and_tasks_without_one_are_apart(open_yard: OpenYard):
    yard = await opened(open_yard, "multica")

    made = [
        await yard.enqueue("code", subject="issue:42", agent="worker"),
        await yard.enqueue("code", subject="issue:43", agent="worker"),
        await yard.enqueue("code", subject="issue:42", agent="reviewer"),
        await yard.enqueue("code", agent="worker"),
        await yard.enqueue("code", agent="worker"),
    ]

    assert all(each.created for each in made)
    assert len(await yard.claim("worker", count=10)) == 4


@pytest.mark.parametrize("preset", ["ade", "standard"])
async def test_a_minted_id_makes_a_repeated_call_harmless(open_yard: OpenYard, preset: str):
    yard = await opened(open_yard, preset)
    minted = "task_01ARZ3NDEKTSV4RRFFQ69G5FAV"

    first = await yard.enqueue("code", id=minted, payload={"n": 1})
    again = await yard.enqueue("code", id=minted, payload={"n": 1})

    assert (first.id, first.created, again.id, again.created) == (minted, True, minted, False)
    assert len(await yard.find()) == 1


@pytest.mark.parametrize("preset", ["ade", "automechanica"])
async def test_in_ade_and_automechanica_the_same_payload_is_another_task(open_yard: OpenYard, preset: str):
    yard = await opened(open_yard, preset)

    made = [await yard.enqueue("code", payload={"n": 1}, subject="issue:1", agent="worker") for _ in range(2)]

    assert [each.created for each in made] == [True, True]


# Habits


@pytest.mark.parametrize(("preset", "cascades"), [(each, each != "factory") for each in PRESETS])
async def test_a_cancel_cascades_by_default_but_in_factory(open_yard: OpenYard, preset: str, cascades: bool):
    yard = await opened(open_yard, preset)
    dag = await given_a_graph(yard, task("a", payload={"n": 1}), task("b", "a", payload={"n": 2}))

    await yard.cancel(dag.tasks["a"].id)

    left = Status.CANCELLED if cascades else Status.PENDING
    assert await states(yard, dag) == {"a": Status.CANCELLED, "b": left}


async def test_what_a_caller_says_about_a_cascade_counts_more_than_the_preset(open_yard: OpenYard):
    for preset, cascade in (("standard", False), ("factory", True)):
        yard = await open_yard(preset=preset, workspace=preset)
        dag = await given_a_graph(yard, task("a"), task("b", "a"))
        await yard.cancel(dag.tasks["a"].id, cascade=cascade)
        assert (await states(yard, dag))["b"] is (Status.CANCELLED if cascade else Status.PENDING)


async def test_in_loki_an_agent_takes_the_types_it_is_capable_of(open_yard: OpenYard):
    yard = await open_yard(preset="loki")
    await given_an_agent(yard, "reviewer", capabilities=["review"])
    await yard.enqueue("code")
    review = await yard.enqueue("review")

    assert [each.id for each in await yard.claim("reviewer", count=2)] == [review.id]


async def test_in_loki_a_task_is_completed_with_a_decision_report_and_the_lease_waits_for_it(open_yard: OpenYard):
    yard = await opened(open_yard, "loki")
    held = await claim_that(yard, (await yard.enqueue("code")).id)

    with pytest.raises(ReportRequired):
        await yard.complete(held.id, held.lease, {"done": True})
    await complete(yard, held)

    assert (await yard.get(held.id)).to_dict()["output"] == {
        "type": "json",
        "validation": "none",
        "validation_schema": None,
        "data": {"done": True},
        "attempt": 1,
        "artifacts": [],
        "decision_report": {"decision": "it is done"},
    }


async def test_in_multica_an_autopilots_task_is_never_retried_and_others_keep_their_session(open_yard: OpenYard):
    yard = await opened(open_yard, "multica")
    autopilot = await given_a_claimed_task(yard, trigger={"type": "autopilot"})
    await yard.fail(autopilot.id, autopilot.lease, "timeout")
    assert await status_of(yard, autopilot.id) is Status.DEAD_LETTERED

    held = await given_a_claimed_task(yard)
    await yard.attempts.pin_session(held.id, held.lease, session_id="s1", work_dir="/srv/page")
    await yard.fail(held.id, held.lease, "timeout")

    again = await claim_that(yard, held.id)
    assert (await yard.get(again.id)).to_dict()["session"] == {
        "session_id": "s1",
        "work_dir": "/srv/page",
        "runtime": None,
        "fresh": False,
    }


# One queue of its own


async def test_a_queue_may_have_a_preset_of_its_own(open_yard: OpenYard):
    yard = await opened(open_yard, "standard")
    await yard.queues.set_preset("legacy", "loki")

    legacy = await yard.enqueue("code", queue="legacy", priority=10, payload={"n": 1})
    plain = await yard.enqueue("code", priority=10, payload={"n": 1})

    assert (await yard.enqueue("code", queue="legacy", payload={"n": 1})).id == legacy.id
    assert (await yard.enqueue("code", payload={"n": 1})).created
    assert [(await definition_of(yard, each.id)).priority for each in (legacy, plain)] == [0, 10]
    assert [await state_of(yard, each.id) for each in (legacy, plain)] == ["pending", "ready"]
    with pytest.raises(InvalidInput, match="priority"):
        await yard.enqueue("code", queue="legacy", priority=11)


async def test_a_queues_preset_is_known_to_every_process(open_yard: OpenYard, clock: ManualClock):
    yard = await opened(open_yard, "standard")
    other = await open_yard()
    await other.enqueue("code", queue="legacy")
    await yard.queues.set_preset("legacy", "loki")
    clock.advance(seconds=1)

    with pytest.raises(InvalidInput, match="from 1 to 10"):
        await other.enqueue("code", queue="legacy", priority=50)


async def test_a_queues_preset_can_be_taken_back_and_must_exist(open_yard: OpenYard):
    yard = await opened(open_yard, "standard")
    await yard.queues.set_preset("legacy", "loki")
    await yard.queues.set_preset("legacy", None)

    task = await yard.enqueue("code", queue="legacy", priority=50)
    assert (await definition_of(yard, task.id)).priority == 50
    with pytest.raises(InvalidInput, match="preset"):
        await yard.queues.set_preset("legacy", "odin")


async def test_a_queue_that_is_paused_keeps_its_preset(open_yard: OpenYard):
    yard = await opened(open_yard, "standard")
    await yard.queues.set_preset("legacy", "loki")
    await yard.queues.pause("legacy")
    await yard.queues.resume("legacy")

    task = await yard.enqueue("code", queue="legacy", priority=10)
    assert (await definition_of(yard, task.id)).priority == 0
