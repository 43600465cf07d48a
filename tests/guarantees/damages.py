"""A yard that is sound, everything that can be done to it, and what `verify` has to say of that."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, cast

from taskyard.core import transitions
from taskyard.core.changes import (
    Blocker,
    Change,
    ChangeSet,
    Committed,
    Count,
    Edge,
    NewTask,
    Record,
    RecordChange,
    Spend,
)
from taskyard.core.identifiers import batch_blocker
from taskyard.core.json_value import Json
from taskyard.core.outcomes import dead_id
from taskyard.core.task import AgentId, Hot, Status, TaskId
from taskyard.core.units import MicroUsd
from taskyard.features.dags.views import Dag
from taskyard.features.metrics.counting import DAYS
from taskyard.features.tasks.views import Held
from taskyard.stores.contract import Store
from taskyard.yard import Yard, local_yard
from tests.graphs import bury, given_a_graph, task
from tests.yards import OpenYard, claim_that, given_a_running_task, given_an_agent

NOBODY = TaskId("task_01ARZ3NDEKTSV4RRFFQ69G5FAV")
NOWHERE = TaskId("task_01ARZ3NDEKTSV4RRFFQ69G5FAW")
PROBE: dict[str, Json] = {"type": "code", "probe": 1}
CLAIMED = '{"from":"ready","through":["claimed"]}'


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

    def named(self, report: str) -> str:
        """The report with the ids of this yard."""
        names = {name: each.id for name, each in self.dag.tasks.items()}
        ids = {"ready": self.ready, "running": self.running.id, "completed": self.completed, "dead": self.dead}
        return report.format(**names, **ids, dag=self.dag.id, nobody=NOBODY, nowhere=NOWHERE)

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
    sound = await given_a_sound_workspace(await open_yard(), "damaged")
    assert (await sound.yard.verify()).problems == ()
    return sound


async def given_a_sound_workspace(opened: Yard, workspace: str) -> Sound:
    """One of which the fixture of the yard does not know: what that knows of must be sound afterwards."""
    yard = local_yard(opened.store, replace(opened.options, workspace=workspace))
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
    return Sound(yard=yard, ready=ready.id, running=running, completed=completed.id, dead=dead.id, dag=dag)


Damage = Callable[[Sound], Awaitable[None]]


async def a_failed_probe_leaves_its_breaker_half_open(sound: Sound) -> None:
    held = await given_a_probe(sound)
    retried = transitions.retry(
        held, reason="crash", error="", counted=True, wake_at=held.updated_at, now=held.updated_at, facts=PROBE
    )
    await sound.plant(changes=(retried._replace(before=held._replace(circuit=0)),))


async def a_probe_dies_and_leaves_its_breaker_half_open(sound: Sound) -> None:
    held = await given_a_probe(sound)
    buried = transitions.bury(
        held, reason="crash", error="", counted=True, poison=False, now=held.updated_at, facts=PROBE
    )
    await sound.plant(changes=(buried._replace(before=held._replace(circuit=0)),))


async def given_a_probe(sound: Sound) -> Hot:
    """The running task, as if its breaker had let it through to try."""
    breaker: dict[str, Json] = {"generation": 1, "opened_at": 0, "why": "damage"}
    await sound.plant(records=(RecordChange("breaker", sound.yard.workspace, "code", 0, breaker),))
    return (await sound.row(sound.running.id))._replace(circuit=1)


async def a_dead_letter_is_cancelled_by_nobody(sound: Sound) -> None:
    dead = await sound.row(sound.dead)
    await sound.plant(changes=(transitions.cancel(dead, reason="gone", now=dead.updated_at),))


async def the_decision_on_a_dead_letter_is_lost(sound: Sound) -> None:
    dead = await sound.row(sound.dead)
    await a_dead_letter_is_cancelled_by_nobody(sound)
    await remove_record(sound, "dead", dead_id(dead.id, dead.attempt))


async def an_output_is_judged_that_nobody_handed_in(sound: Sound) -> None:
    body: dict[str, Json] = {"validator": sound.running.id}
    await sound.plant(records=(RecordChange("judging", sound.yard.workspace, sound.ready, 0, body),))


async def a_version_is_skipped(sound: Sound) -> None:
    await sound.move(sound.ready, version=3)


async def a_task_goes_where_no_verb_leads(sound: Sound) -> None:
    await sound.move(sound.ready, status=Status.COMPLETED)


async def a_final_state_is_left(sound: Sound) -> None:
    await sound.move(sound.completed, status=Status.READY)


async def a_task_is_completed_twice(sound: Sound) -> None:
    await sound.move(sound.completed, event="task.completed")


async def a_row_moves_without_its_event(sound: Sound) -> None:
    await damage_row(sound, version=2, status=Status.RETRYING)


async def a_row_gets_ahead_of_its_events(sound: Sound) -> None:
    await damage_row(sound, version=3)


async def a_row_has_an_attempt_that_its_event_has_not(sound: Sound) -> None:
    await damage_row(sound, version=2, attempt=1)


async def damage_row(sound: Sound, event: Mapping[str, Any] = MappingProxyType({}), **fields: Any) -> None:
    """The row of the ready task gets these fields, and its event others: by itself it changes nothing but a version."""
    hot = await sound.row(sound.ready)
    told = transitions.created_event(hot, "nobody", "code")._replace(**{"event": "task.damaged", "version": 2, **event})
    await sound.plant(changes=(Change(hot, hot._replace(**fields), told),))


async def a_task_appears_that_nobody_enqueued(sound: Sound) -> None:
    hot = await sound.row(sound.ready)
    (definition,) = (await sound.yard.store.definitions([hot.id])).values()
    told = transitions.created_event(hot, "nobody", "code")
    born = NewTask(hot._replace(id=NOBODY, seq=0), definition._replace(id=NOBODY), told._replace(task_id=None))
    await sound.plant(tasks=(born,))


async def something_happens_to_a_task_that_is_not_there(sound: Sound) -> None:
    hot = await sound.row(sound.ready)
    await sound.plant(events=(transitions.created_event(hot._replace(id=NOWHERE), "nobody", "code"),))


async def an_attempt_number_is_skipped(sound: Sound) -> None:
    await claim_wrongly(sound, attempt=2)  # the event has it too, so that only the numbers are wrong


async def a_claim_has_the_wrong_number(sound: Sound) -> None:
    await claim_wrongly(sound, attempt=1)


async def claim_wrongly(sound: Sound, *, attempt: int) -> None:
    """The row has this attempt, and the event of its claim the second."""
    claim = {"event": "task.running", "status": Status.RUNNING, "attempt": 2, "data": CLAIMED}
    agent = AgentId(sound.running.worker or "")
    await damage_row(sound, claim, version=2, status=Status.RUNNING, attempt=attempt, lease="held", agent=agent)


async def an_attempt_is_on_record_that_was_never_made(sound: Sound) -> None:
    ((made,),) = (await sound.yard.store.histories([TaskId(sound.completed)])).values()
    await sound.plant(attempts=(made._replace(number=2, cost=MicroUsd(0)),))


async def an_attempt_ends_without_a_record(sound: Sound) -> None:
    await sound.move(sound.running.id, status=Status.COMPLETED, event="task.completed", lease=None)


async def an_attempt_is_on_record_under_another_number(sound: Sound) -> None:
    ((made,),) = (await sound.yard.store.histories([TaskId(sound.completed)])).values()
    await an_attempt_ends_without_a_record(sound)
    await sound.plant(attempts=(made._replace(task_id=TaskId(sound.running.id), number=2, cost=MicroUsd(0)),))


async def a_failure_is_forgotten(sound: Sound) -> None:
    await sound.move(sound.dead, failures=0)


async def a_failure_is_counted_that_never_was(sound: Sound) -> None:
    await sound.move(sound.dead, failures=2)


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


async def a_call_waits_for_a_batch_that_is_dead(sound: Sound) -> None:
    await sound.move(sound.ready, status=Status.PENDING, wait=1)
    await sound.plant(blockers=(Blocker(TaskId(sound.ready), 1, batch_blocker(sound.dead)),))


async def a_task_waits_for_itself(sound: Sound) -> None:
    third = TaskId(sound.dag.tasks["third"].id)
    await sound.plant(blockers=(Blocker(third, 0, f"task:{third}"),))


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
    await sound.plant(counts=(Count(sound.yard.workspace, f"dag:{sound.dag.id}:live", 1),))


async def a_graph_forgets_one_of_its_tasks(sound: Sound) -> None:
    await sound.plant(counts=(Count(sound.yard.workspace, f"dag:{sound.dag.id}:live", -1),))


async def a_graph_miscounts_those_that_died(sound: Sound) -> None:
    await sound.plant(counts=(Count(sound.yard.workspace, f"dag:{sound.dag.id}:dead", 1),))


async def a_graph_ends_too_early(sound: Sound) -> None:
    await change_record(sound, "dag", sound.dag.id, status="completed")


async def a_graph_is_cancelled_too_early(sound: Sound) -> None:
    await change_record(sound, "dag", sound.dag.id, status="cancelled")


async def a_graph_has_no_record(sound: Sound) -> None:
    await remove_record(sound, "dag", sound.dag.id)


async def figures_say_more_were_created(sound: Sound) -> None:
    await change_figures(sound, tasks_created=8)


async def figures_say_more_were_completed(sound: Sound) -> None:
    await change_figures(sound, completed={"code": 3})


async def figures_say_more_have_failed(sound: Sound) -> None:
    await change_figures(sound, failed={"crash": 2})


async def figures_say_more_are_dead(sound: Sound) -> None:
    await change_figures(sound, tasks_dead_lettered=2)


async def figures_are_of_a_day_on_which_nothing_happened(sound: Sound) -> None:
    day = await the_day(sound)
    await sound.plant(records=(RecordChange(DAYS, sound.yard.workspace, "2025-12-31", 0, day.body),))


async def figures_are_lost(sound: Sound) -> None:
    await remove_record(sound, DAYS, (await the_day(sound)).id)


async def the_day(sound: Sound) -> Record:
    """The figures of the day, counted."""
    if not await sound.yard.store.records(DAYS, sound.yard.workspace):
        await sound.yard.sweep()
    (day,) = await sound.yard.store.records(DAYS, sound.yard.workspace)
    return day


async def change_figures(sound: Sound, **figures: Json) -> None:
    day = await the_day(sound)
    await change_record(sound, DAYS, day.id, **figures)


async def change_record(sound: Sound, kind: str, id_: str, **fields: Json) -> None:
    record = await stored_record(sound, kind, id_)
    await sound.plant(records=(RecordChange(*record[:4], {**record.body, **fields}),))


async def remove_record(sound: Sound, kind: str, id_: str) -> None:
    await sound.plant(records=(RecordChange(*(await stored_record(sound, kind, id_))[:4], None),))


async def stored_record(sound: Sound, kind: str, id_: str) -> Record:
    record = await sound.yard.store.record(kind, sound.yard.workspace, id_)
    assert record is not None
    return record


async def a_slot_is_never_given_back(sound: Sound) -> None:
    await sound.plant(spends=(Spend(sound.yard.workspace, "slots:worker", 1),))


async def a_slot_is_given_back_twice(sound: Sound) -> None:
    await sound.plant(spends=(Spend(sound.yard.workspace, "slots:worker", -1),))


async def a_key_is_held_by_nobody(sound: Sound) -> None:
    await sound.plant(spends=(Spend(sound.yard.workspace, "key:other", 1),))


async def a_probe_is_leaked(sound: Sound) -> None:
    await sound.plant(spends=(Spend(sound.yard.workspace, "probe:code:1", 1),))


async def money_is_lost(sound: Sound) -> None:
    await sound.plant(spends=(Spend(sound.yard.workspace, "agent:worker", 0, -1),))


async def money_is_spent_that_nobody_spent(sound: Sound) -> None:
    await sound.plant(spends=(Spend(sound.yard.workspace, f"dag:{sound.dag.id}", 0, 1),))


DAMAGES: list[tuple[Damage, str]] = [
    (a_version_is_skipped, "{ready} has versions [1, 3]"),
    (a_task_goes_where_no_verb_leads, "{ready} went from ready to completed (event task.damaged)"),
    (a_final_state_is_left, "{completed} went from completed to ready (event task.damaged)"),
    (a_task_is_completed_twice, "{completed} was completed more than once"),
    (a_failed_probe_leaves_its_breaker_half_open, "{running} failed as the probe of code, and its breaker did not"),
    (a_probe_dies_and_leaves_its_breaker_half_open, "{running} failed as the probe of code, and its breaker did not"),
    (a_dead_letter_is_cancelled_by_nobody, "{dead} was cancelled as a dead letter, and no decision is on record"),
    (the_decision_on_a_dead_letter_is_lost, "{dead} was cancelled as a dead letter, and no decision is on record"),
    (an_output_is_judged_that_nobody_handed_in, "{ready} is judged by {running}, and is not validating"),
    (a_row_moves_without_its_event, "{ready} is retrying at 2, and its events end in ready at 2"),
    (a_row_gets_ahead_of_its_events, "{ready} is ready at 3, and its events end in ready at 2"),
    (a_row_has_an_attempt_that_its_event_has_not, "{ready} is ready at 2, and its events end in ready at 2"),
    (a_task_appears_that_nobody_enqueued, "{nobody} has no events"),
    (something_happens_to_a_task_that_is_not_there, "{nowhere} has events and no row"),
    (an_attempt_number_is_skipped, "{ready} was claimed as attempts [2], and its row says 2"),
    (a_claim_has_the_wrong_number, "{ready} was claimed as attempts [2], and its row says 1"),
    (an_attempt_is_on_record_that_was_never_made, "{completed} has records of attempts [1, 2], and 1 have ended"),
    (an_attempt_ends_without_a_record, "{running} has records of attempts [], and 1 have ended"),
    (an_attempt_is_on_record_under_another_number, "{running} has records of attempts [2], and 1 have ended"),
    (a_failure_is_forgotten, "{dead} counts 0 failures, and 1 are on record"),
    (a_failure_is_counted_that_never_was, "{dead} counts 2 failures, and 1 are on record"),
    (a_task_fails_more_often_than_it_may, "{dead} failed 4 times of 3"),
    (a_lease_is_missing, "{running} is running, and its lease is missing"),
    (a_lease_is_left_behind, "{running} is validating, and its lease is there"),
    (a_task_waits_for_nothing, "{ready} is pending and waits for nothing"),
    (a_task_waits_for_what_is_done, "{ready} waits for {completed}, which is completed"),
    (a_parent_waits_for_a_child_that_is_dead, "{ready} waits for {dead}, which is dead_lettered"),
    (a_call_waits_for_a_batch_that_is_dead, "{ready} waits for {dead}, which is dead_lettered"),
    (a_task_waits_for_itself, "what waits now has a cycle: {third}"),
    (a_dependent_is_released_too_early, "{third} is ready, and {second}, which it depends on, is ready"),
    (a_blocker_is_missing, "{third} is pending, and {second}, which it depends on, is ready"),
    (a_graph_gets_a_cycle, "{dag} has a cycle: "),
    (a_task_is_needed_and_not_marked, "{ready} depends on {completed}, which is of another DAG and is not marked"),
    (a_dag_does_not_count_who_needs_it, "{ready} depends on {first}, which is of another DAG and is not marked"),
    (a_task_does_not_wait_for_another_dag, "{second} is ready, and {dead}, which it depends on, is dead_lettered"),
    (tasks_of_two_dags_wait_for_each_other, "what waits now has a cycle: "),
    (a_graph_miscounts_its_tasks, "{dag} counts 3 live, and has 2"),
    (a_graph_forgets_one_of_its_tasks, "{dag} counts 1 live, and has 2"),
    (a_graph_miscounts_those_that_died, "{dag} counts 1 dead, and has 0"),
    (a_graph_ends_too_early, "{dag} is completed, and 2 of its tasks are not over"),
    (a_graph_is_cancelled_too_early, "{dag} is cancelled, and 2 of its tasks are not over"),
    (a_graph_has_no_record, "{dag} has tasks and no record"),
    (figures_say_more_were_created, "the figures of 2026-01-01 say 8 created, 2 completed, 1 failed, 1 dead, and"),
    (figures_say_more_were_completed, "the figures of 2026-01-01 say 7 created, 3 completed, 1 failed, 1 dead, and"),
    (figures_say_more_have_failed, "the figures of 2026-01-01 say 7 created, 2 completed, 2 failed, 1 dead, and"),
    (figures_say_more_are_dead, "the figures of 2026-01-01 say 7 created, 2 completed, 1 failed, 2 dead, and"),
    (figures_are_of_a_day_on_which_nothing_happened, "the figures of 2025-12-31 say 7 created, 2 completed, "),
    (figures_are_lost, "the figures of 2026-01-01 say 0 created, 0 completed, 0 failed, 0 dead, and its events 7"),
    (a_slot_is_never_given_back, "slots:worker: 2 is held, and its attempts hold 1"),
    (a_slot_is_given_back_twice, "slots:worker: 0 is held, and its attempts hold 1"),
    (a_key_is_held_by_nobody, "key:other: 1 is held, and its attempts hold 0"),
    (a_probe_is_leaked, "probe:code:1: 1 is held, and its attempts hold 0"),
    (money_is_lost, "agent:worker: 249999 was spent, and its attempts cost 250000"),
    (money_is_spent_that_nobody_spent, "dag:{dag}: 1 was spent, and its attempts cost 0"),
]


# What no store would take is told by one that lies.


class Lying:
    def __init__(self, store: Store, **lies: Any) -> None:
        self._store = store
        self._lies = lies

    def __getattr__(self, name: str) -> Any:
        return self._lies.get(name) or getattr(self._store, name)


def lying(yard: Yard, **lies: Any) -> Yard:
    return local_yard(cast(Store, Lying(yard.store, **lies)), yard.options)
