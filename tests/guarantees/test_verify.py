"""`verify` finds what it is there to find: each damage is planted in a yard that was sound, and is then reported."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from taskyard.core import transitions
from taskyard.core.changes import Blocker, Change, ChangeSet, Committed, Count, Edge, NewTask, RecordChange, Spend
from taskyard.core.json_value import Json
from taskyard.core.task import AgentId, Hot, Status, TaskId
from taskyard.features.dags.views import Dag
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from taskyard.yard import Yard, local_yard
from tests.graphs import bury, claim_all, given_a_graph, task, work_off
from tests.yards import OpenYard, claim_that, elapse, given_a_running_task, given_an_agent

DAMAGED = "damaged"
NOBODY = TaskId("task_01ARZ3NDEKTSV4RRFFQ69G5FAV")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """A yard with something in every state that damage is done to."""

    yard: Yard
    ready: str
    running: Held
    completed: str
    dead: str
    dag: Dag  # first is completed, second is ready, third waits for it

    async def row(self, task_id: str) -> Hot:
        return (await self.yard.store.load([TaskId(task_id)]))[TaskId(task_id)]

    async def plant(self, **parts: Any) -> None:
        """Write past every rule: the store keeps its guards, and knows nothing of what a change means."""
        (landed,) = await self.yard.store.commit([ChangeSet(at=self.yard.now(), **parts)])
        assert isinstance(landed, Committed), landed

    async def move(self, task_id: str, event: str = "task.damaged", **fields: Any) -> None:
        """A change that no verb would make, with an event that says just what was done."""
        hot = await self.row(task_id)
        after = hot._replace(**{"version": hot.version + 1, **fields})
        told = transitions.created_event(after, "nobody", "code")._replace(event=event, data=None)
        await self.plant(changes=(Change(hot, after, told),))


async def given_a_sound_yard(open_yard: OpenYard) -> Sound:
    opened = await open_yard()
    # Of this workspace the fixture does not know: what it knows of must be sound afterwards.
    yard = local_yard(opened.store, replace(opened.options, workspace=DAMAGED))
    await given_an_agent(yard)
    dead = await given_a_running_task(yard)
    await bury(yard, dead)
    completed = await given_a_running_task(yard, idempotency_key="once")
    await yard.complete(completed.id, completed.lease, cost_usd="0.25")
    running = await given_a_running_task(yard, concurrency_key="repository")
    dag = await given_a_graph(yard, task("first", priority=0), task("second", "first"), task("third", "second"))
    first = await claim_that(yard, dag.tasks["first"].id, start=True)
    await yard.complete(first.id, first.lease)
    ready = await yard.enqueue("code")
    assert (await yard.verify()).problems == ()
    return Sound(yard=yard, ready=ready.id, running=running, completed=completed.id, dead=dead.id, dag=dag)


Damage = Callable[[Sound], Awaitable[None]]


async def a_failed_probe_leaves_its_breaker_half_open(sound: Sound) -> None:
    breaker: dict[str, Json] = {"generation": 1, "opened_at": 0, "why": "damage"}
    await sound.plant(records=(RecordChange("breaker", DAMAGED, "code", 0, breaker),))
    held = await sound.row(sound.running.id)
    probing = held._replace(circuit=1)
    change = transitions.retry(
        probing, reason="crash", error="", counted=True, wake_at=held.updated_at, now=held.updated_at,
        facts={"type": "code", "probe": 1},
    )  # fmt: skip
    await sound.plant(changes=(change._replace(before=held),))


async def a_dead_letter_is_cancelled_by_nobody(sound: Sound) -> None:
    dead = await sound.row(sound.dead)
    await sound.plant(changes=(transitions.cancel(dead, reason="gone", now=dead.updated_at),))


async def a_version_is_skipped(sound: Sound) -> None:
    await sound.move(sound.ready, version=3)


async def a_task_goes_where_no_verb_leads(sound: Sound) -> None:
    await sound.move(sound.ready, status=Status.COMPLETED)


async def a_final_state_is_left(sound: Sound) -> None:
    await sound.move(sound.completed, status=Status.READY)


async def a_task_is_completed_twice(sound: Sound) -> None:
    await sound.move(sound.completed, event="task.completed")


async def a_row_moves_without_its_event(sound: Sound) -> None:
    hot = await sound.row(sound.ready)
    told = transitions.created_event(hot, "nobody", "code")._replace(event="task.damaged", version=2)
    await sound.plant(changes=(Change(hot, hot._replace(version=2, status=Status.RETRYING), told),))


async def a_task_appears_that_nobody_enqueued(sound: Sound) -> None:
    hot = await sound.row(sound.ready)
    (definition,) = (await sound.yard.store.definitions([hot.id])).values()
    told = transitions.created_event(hot, "nobody", "code")
    born = NewTask(hot._replace(id=NOBODY, seq=0), definition._replace(id=NOBODY), told._replace(task_id=None))
    await sound.plant(tasks=(born,))


async def something_happens_to_a_task_that_is_not_there(sound: Sound) -> None:
    hot = await sound.row(sound.ready)
    await sound.plant(events=(transitions.created_event(hot._replace(id=NOBODY), "nobody", "code"),))


async def an_attempt_number_is_skipped(sound: Sound) -> None:
    hot = await sound.row(sound.ready)
    # The event says it too, so that only the numbers are wrong.
    told = transitions.created_event(hot, "nobody", "code")._replace(
        event="task.running", version=2, status=Status.RUNNING, attempt=2, data='{"from":"ready","through":["claimed"]}'
    )
    after = hot._replace(
        version=2, status=Status.RUNNING, attempt=2, lease="held", agent=AgentId(sound.running.worker or "")
    )
    await sound.plant(changes=(Change(hot, after, told),))


async def an_attempt_ends_without_a_record(sound: Sound) -> None:
    await sound.move(sound.running.id, status=Status.COMPLETED, event="task.completed", lease=None)


async def a_failure_is_forgotten(sound: Sound) -> None:
    await sound.move(sound.dead, failures=0)


async def a_task_fails_more_often_than_it_may(sound: Sound) -> None:
    await sound.move(sound.dead, failures=4)


async def a_lease_is_missing(sound: Sound) -> None:
    await sound.move(sound.running.id, lease=None)


async def a_lease_is_left_behind(sound: Sound) -> None:
    await sound.move(sound.running.id, status=Status.VALIDATING)


async def a_task_waits_for_nothing(sound: Sound) -> None:
    await sound.move(sound.ready, status=Status.PENDING, wait=1)


async def a_task_waits_for_what_is_done(sound: Sound) -> None:
    await sound.move(sound.ready, status=Status.PENDING, wait=1)
    await sound.plant(blockers=(Blocker(TaskId(sound.ready), 1, f"task:{sound.completed}"),))


async def a_parent_waits_for_a_child_that_is_dead(sound: Sound) -> None:
    await sound.move(sound.ready, status=Status.PENDING, wait=1)
    await sound.plant(blockers=(Blocker(TaskId(sound.ready), 1, f"child:{sound.dead}"),))


async def a_dependent_is_released_too_early(sound: Sound) -> None:
    await sound.move(sound.dag.tasks["third"].id, status=Status.READY)


async def a_blocker_is_missing(sound: Sound) -> None:
    third = TaskId(sound.dag.tasks["third"].id)
    await sound.move(third, wait=1)
    await sound.plant(blockers=(Blocker(third, 1, "signal:approval"),))


async def a_graph_gets_a_cycle(sound: Sound) -> None:
    first, third = (TaskId(sound.dag.tasks[name].id) for name in ("first", "third"))
    await sound.plant(edges=(Edge(third, first, "depends"),))


async def a_task_is_needed_and_not_marked(sound: Sound) -> None:
    await sound.plant(edges=(Edge(TaskId(sound.completed), TaskId(sound.ready), "depends"),))


async def a_dag_does_not_count_who_needs_it(sound: Sound) -> None:
    await sound.plant(edges=(Edge(TaskId(sound.dag.tasks["first"].id), TaskId(sound.ready), "depends"),))


async def a_task_does_not_wait_for_another_dag(sound: Sound) -> None:
    await sound.plant(edges=(Edge(TaskId(sound.dead), TaskId(sound.dag.tasks["second"].id), "depends"),))


async def tasks_of_two_dags_wait_for_each_other(sound: Sound) -> None:
    third = TaskId(sound.dag.tasks["third"].id)
    await sound.move(sound.ready, status=Status.PENDING, wait=1)
    waits = (Blocker(TaskId(sound.ready), 1, f"task:{third}"), Blocker(third, 0, f"task:{sound.ready}"))
    await sound.plant(blockers=waits)


async def a_graph_miscounts_its_tasks(sound: Sound) -> None:
    await sound.plant(counts=(Count(DAMAGED, f"dag:{sound.dag.id}:live", 1),))


async def a_graph_ends_too_early(sound: Sound) -> None:
    record = await sound.yard.store.record("dag", DAMAGED, sound.dag.id)
    assert record is not None
    body = {**record.body, "status": "completed"}
    await sound.plant(records=(RecordChange("dag", DAMAGED, sound.dag.id, record.version, body),))


async def a_slot_is_never_given_back(sound: Sound) -> None:
    await sound.plant(spends=(Spend(DAMAGED, "slots:worker", 1),))


async def a_slot_is_given_back_twice(sound: Sound) -> None:
    await sound.plant(spends=(Spend(DAMAGED, "slots:worker", -1),))


async def a_key_is_held_by_nobody(sound: Sound) -> None:
    await sound.plant(spends=(Spend(DAMAGED, "key:other", 1),))


async def a_probe_is_leaked(sound: Sound) -> None:
    await sound.plant(spends=(Spend(DAMAGED, "probe:code:1", 1),))


async def money_is_lost(sound: Sound) -> None:
    await sound.plant(spends=(Spend(DAMAGED, "agent:worker", 0, -1),))


async def money_is_spent_that_nobody_spent(sound: Sound) -> None:
    await sound.plant(spends=(Spend(DAMAGED, f"dag:{sound.dag.id}", 0, 1),))


@pytest.mark.parametrize(
    ("damage", "report"),
    [
        (a_version_is_skipped, "{ready} has versions [1, 3]"),
        (a_task_goes_where_no_verb_leads, "{ready} went from ready to completed (event task.damaged)"),
        (a_final_state_is_left, "{completed} went from completed to ready (event task.damaged)"),
        (a_task_is_completed_twice, "{completed} was completed more than once"),
        (a_failed_probe_leaves_its_breaker_half_open, "{running} failed as the probe of code, and its breaker did not"),
        (a_dead_letter_is_cancelled_by_nobody, "{dead} was cancelled as a dead letter, and no decision is on record"),
        (a_row_moves_without_its_event, "{ready} is retrying at 2, and its events end in ready at 2"),
        (a_task_appears_that_nobody_enqueued, "{nobody} has no events"),
        (something_happens_to_a_task_that_is_not_there, "{nobody} has events and no row"),
        (an_attempt_number_is_skipped, "{ready} was claimed as attempts [2], and its row says 2"),
        (an_attempt_ends_without_a_record, "{running} has records of attempts [], and 1 have ended"),
        (a_failure_is_forgotten, "{dead} counts 0 failures, and 1 are on record"),
        (a_task_fails_more_often_than_it_may, "{dead} failed 4 times of 3"),
        (a_lease_is_missing, "{running} is running, and its lease is missing"),
        (a_lease_is_left_behind, "{running} is validating, and its lease is there"),
        (a_task_waits_for_nothing, "{ready} is pending and waits for nothing"),
        (a_task_waits_for_what_is_done, "{ready} waits for {completed}, which is completed"),
        (a_parent_waits_for_a_child_that_is_dead, "{ready} waits for {dead}, which is dead_lettered"),
        (a_dependent_is_released_too_early, "{third} is ready, and {second}, which it depends on, is ready"),
        (a_blocker_is_missing, "{third} is pending, and {second}, which it depends on, is ready"),
        (a_graph_gets_a_cycle, "{dag} has a cycle: "),
        (a_task_is_needed_and_not_marked, "{ready} depends on {completed}, which is of another DAG and is not marked"),
        (a_dag_does_not_count_who_needs_it, "{ready} depends on {first}, which is of another DAG and is not marked"),
        (a_task_does_not_wait_for_another_dag, "{second} is ready, and {dead}, which it depends on, is dead_lettered"),
        (tasks_of_two_dags_wait_for_each_other, "what waits now has a cycle: "),
        (a_graph_miscounts_its_tasks, "{dag} counts 3 live, and has 2"),
        (a_graph_ends_too_early, "{dag} is completed, and 2 of its tasks are not over"),
        (a_slot_is_never_given_back, "slots:worker: 2 is held, and its attempts hold 1"),
        (a_slot_is_given_back_twice, "slots:worker: 0 is held, and its attempts hold 1"),
        (a_key_is_held_by_nobody, "key:other: 1 is held, and its attempts hold 0"),
        (a_probe_is_leaked, "probe:code:1: 1 is held, and its attempts hold 0"),
        (money_is_lost, "agent:worker: 249999 was spent, and its attempts cost 250000"),
        (money_is_spent_that_nobody_spent, "dag:{dag}: 1 was spent, and its attempts cost 0"),
    ],
)
async def test_damage_is_found_where(open_yard: OpenYard, damage: Damage, report: str):
    sound = await given_a_sound_yard(open_yard)

    await damage(sound)

    verified = await sound.yard.verify()
    names = {name: each.id for name, each in sound.dag.tasks.items()}
    ids = {"ready": sound.ready, "running": sound.running.id, "completed": sound.completed, "dead": sound.dead}
    expected = report.format(**names, **ids, dag=sound.dag.id, nobody=NOBODY)
    assert any(problem.startswith(expected) for problem in verified.problems), str(verified)
    assert not verified.ok
    assert str(verified).startswith(f"verify: {len(verified.problems)} problem")


# What no store would take is told by one that lies.


class Lying:
    def __init__(self, store: Store, **lies: Any) -> None:
        self._store = store
        self._lies = lies

    def __getattr__(self, name: str) -> Any:
        return self._lies.get(name) or getattr(self._store, name)


def lying(yard: Yard, **lies: Any) -> Yard:
    return local_yard(cast(Store, Lying(yard.store, **lies)), yard.options)


async def test_two_live_tasks_of_one_idempotency_key_are_found(open_yard: OpenYard):
    sound = await given_a_sound_yard(open_yard)
    yard = sound.yard

    async def find(*arguments: Any, **options: Any) -> list[Hot]:
        return [hot._replace(idempotency_key="once") for hot in await yard.store.find(*arguments, **options)]

    # The dead one does not count: it no longer owns its key.
    problems = (await lying(yard, find=find).verify()).problems
    doubles = [
        each for each in problems if each.endswith(f"has the idempotency key once, which is {sound.completed}'s")
    ]
    assert len(doubles) == 5


async def test_two_holders_of_one_concurrency_key_are_found(open_yard: OpenYard):
    sound = await given_a_sound_yard(open_yard)
    yard = sound.yard
    await claim_that(yard, sound.dag.tasks["second"].id)

    async def find(*arguments: Any, **options: Any) -> list[Hot]:
        return [hot._replace(key="repository") for hot in await yard.store.find(*arguments, **options)]

    problems = (await lying(yard, find=find).verify()).problems
    assert "2 tasks hold the concurrency key repository" in problems


async def test_what_the_store_says_of_itself_is_passed_on(open_yard: OpenYard):
    yard = await open_yard()

    async def checks() -> list[str]:
        return ["page 7 is torn"]

    assert (await lying(yard, checks=checks).verify()).problems == ("page 7 is torn",)


# A sound yard is called sound


async def test_a_yard_with_everything_in_it_is_sound_and_says_how_much_was_looked_at(open_yard: OpenYard):
    yard = (await given_a_sound_yard(open_yard)).yard

    assert str(await yard.verify()) == "verify: ok (7 tasks, 3 attempts, 20 events)"


async def test_a_yard_that_has_forgotten_old_work_is_sound(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    left = await yard.enqueue("code", run_after="2026-02-01T00:00:00Z")
    await given_a_graph(yard, task("a"), task("b", "a"))
    await work_off(yard)
    clock.advance(seconds=8 * 24 * 3600)
    await yard.sweep()
    await given_a_graph(yard, task("a"), task("b", "a"))

    verified = await yard.verify()

    assert verified.problems == ()
    assert verified.tasks == 3
    assert left.id in {each.id for each in await yard.find()}


async def test_damage_is_found_also_where_old_work_is_forgotten(open_yard: OpenYard, clock: ManualClock):
    sound = await given_a_sound_yard(open_yard)
    lone = await sound.yard.enqueue("review")
    (held,) = await sound.yard.claim("worker", types=["review"], start=True)
    assert held.id == lone.id
    await sound.yard.complete(held.id, held.lease)
    await elapse(sound.yard, clock, 60)
    clock.advance(seconds=8 * 24 * 3600)
    await sound.yard.sweep()
    assert await sound.yard.store.pruned()

    await a_version_is_skipped(sound)

    assert f"{sound.ready} has versions [1, 3]" in (await sound.yard.verify()).problems


async def test_every_state_of_a_long_story_is_sound(yard: Yard, clock: ManualClock):
    """Failures, a revival at the same moment as the death, and money that is still reserved."""
    await yard.budgets.set(daily_budget_usd="10")
    await given_an_agent(yard, budget_usd="5")
    doomed = await yard.enqueue("code", max_attempts=1, max_cost_usd="1")
    for _ in range(2):
        held = await claim_that(yard, doomed.id, start=True)
        await yard.fail(held.id, held.lease, "crash", cost_usd="0.10")
        await yard.dead_letters.resolve(doomed.id, "retry", by="human:ada")
    (held,) = await claim_all(yard, 1)
    await yard.heartbeat(held.id, held.lease, cost_usd="0.50")

    assert (await yard.verify()).problems == ()


async def test_a_task_without_events_is_found_where_others_were_pruned(open_yard: OpenYard, clock: ManualClock):
    sound = await given_a_sound_yard(open_yard)
    await elapse(sound.yard, clock, 60)
    clock.advance(seconds=8 * 24 * 3600)
    assert (await sound.yard.sweep()).pruned == 1
    assert (await sound.yard.verify()).problems == ()

    await a_task_appears_that_nobody_enqueued(sound)

    assert (await sound.yard.verify()).problems == (f"{NOBODY} has no events",)
