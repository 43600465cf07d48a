"""Every stored change has its event, in order, none skipped."""

from taskyard.core import transitions
from taskyard.core.changes import Blocker, Event, Lift, Spend
from taskyard.core.task import DagId, Status
from taskyard.core.units import SECOND, Micros
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from tests.stores.given import (
    ELSEWHERE,
    HERE,
    a_new_task,
    a_set,
    an_id,
    at_once,
    cancelling,
    committed,
    completing,
    every_event,
    given_a_completed_task,
    given_a_dead_letter,
    given_a_parked_task,
    given_a_pending_task,
    given_a_retrying_task,
    given_a_running_task,
    given_a_task,
    given_tasks,
    reviving,
    signalling,
    step,
)
from tests.stores.plans import a_plan, take


async def test_the_events_of_a_set_come_in_the_order_of_its_parts(store: Store):
    running = await given_a_running_task(store)
    await committed(store, spends=(Spend(HERE, "key:k", 1),))
    parked = await given_a_parked_task(store, "key:k", key="k")
    child = await given_a_pending_task(store, f"task:{running.id}")
    fresh = [await a_new_task(store) for _ in range(2)]
    ended = Event("dag.completed", HERE, None, DagId("dag_d"), store.now(), None, None, None, '{"n":1}')
    before = await every_event(store)
    signal = signalling(store, await given_a_task(store))

    await committed(
        store,
        events=(ended,),
        spends=(Spend(HERE, "key:k", -1),),
        lifts=(Lift(f"task:{running.id}"),),
        tasks=tuple(fresh),
        changes=(completing(store, running), signal),
    )

    told = [stored.event for stored in (await every_event(store))[len(before) + 1 :]]
    assert told == [
        completing(store, running).event,
        signal.event,
        *(task.event for task in fresh),
        transitions.ready(child, now=store.now()).event,
        transitions.ready(parked, now=store.now()).event,
        ended,
    ]


async def test_sequence_numbers_only_grow(store: Store, other: Store):
    tasks = [await a_new_task(store) for _ in range(30)]
    await at_once(*(committed((store, other)[n % 2], tasks=(task,)) for n, task in enumerate(tasks)))

    numbers = [stored.seq for stored in await every_event(store)]

    assert numbers == sorted(set(numbers))
    assert len(numbers) == 30
    assert numbers[0] > 0


async def test_the_sets_of_a_batch_tell_their_events_in_turn(store: Store):
    tasks = await given_tasks(store, 5)
    last = (await every_event(store))[-1].seq

    await store.commit([a_set(store, changes=(cancelling(store, task),)) for task in reversed(tasks)])

    told = await store.events(after=last, limit=100)
    assert [stored.event.task_id for stored in told] == [task.id for task in reversed(tasks)]


async def test_a_reader_that_goes_on_from_the_last_number_misses_nothing(store: Store):
    await given_tasks(store, 10)
    everything = await every_event(store)

    read, last = list(everything[:0]), 0
    while page := await store.events(after=last, limit=3):
        assert len(page) <= 3
        read += page
        last = page[-1].seq

    assert read == everything
    assert len(read) == 10


async def test_events_are_found_by_workspace_and_by_task(store: Store):
    here, there = await given_a_task(store), await given_a_task(store, workspace=ELSEWHERE)
    await step(store, signalling(store, here))

    of_here = await store.events(after=0, limit=10, workspace=HERE)
    of_there = await store.events(after=0, limit=10, task_id=there.id)

    assert [stored.event.event for stored in of_here] == ["task.created", "task.signalled"]
    assert [stored.event.workspace for stored in of_there] == [ELSEWHERE]
    assert await store.events(after=0, limit=10, workspace=HERE, task_id=there.id) == []
    assert await store.events(after=of_here[0].seq, limit=1, workspace=HERE) == of_here[1:]


async def test_a_long_commit_tells_every_event_in_order_and_each_task_finds_its_own(store: Store):
    tasks = [await a_new_task(store) for _ in range(1_300)]

    await committed(store, tasks=tuple(tasks))

    assert [stored.event for stored in await every_event(store)] == [task.event for task in tasks]
    for task in (tasks[0], tasks[511], tasks[512], tasks[-1]):
        found = await store.events(after=0, limit=9, task_id=task.hot.id)
        assert [stored.event for stored in found] == [task.event]


async def test_what_a_set_frees_is_reported_before_the_next_set_however_many_they_are(store: Store):
    parent, other = await given_a_running_task(store), await given_a_task(store)
    children = [await a_new_task(store, status=Status.PENDING) for _ in range(700)]
    waits = tuple(Blocker(child.hot.id, 0, f"task:{parent.id}") for child in children)
    await committed(store, tasks=tuple(children), blockers=waits)
    last = (await store.newest_events(limit=1))[0].seq
    end = a_set(store, changes=(completing(store, parent),), lifts=(Lift(f"task:{parent.id}"),))

    await store.commit([end, a_set(store, changes=(cancelling(store, other),))])

    told = await store.events(after=last, limit=1_000)
    assert [stored.event.event for stored in told] == ["task.completed", *["task.ready"] * 700, "task.cancelled"]
    assert {stored.event.task_id for stored in told[1:-1]} == {child.hot.id for child in children}
    for stored in (told[0], told[1], told[-2], told[-1]):
        of_task = await store.events(after=last, limit=9, task_id=stored.event.task_id)
        assert of_task == [stored]


async def test_a_task_with_many_steps_has_them_all(store: Store):
    task = await given_a_task(store)
    for _ in range(40):
        task = await step(store, signalling(store, task))
    task = await step(store, cancelling(store, task))

    found = await store.events(after=0, limit=100, task_id=task.id)

    assert [stored.event.version for stored in found] == list(range(1, 43))
    assert await store.newest_events(limit=3, task_id=task.id) == found[:-4:-1]
    assert await store.events(after=found[33].seq, limit=3, task_id=task.id) == found[34:37]


async def test_the_events_of_one_commit_in_two_workspaces_are_in_order_for_all_readers(store: Store):
    tasks = [await a_new_task(store, workspace=(HERE, ELSEWHERE)[number % 2]) for number in range(6)]

    await store.commit([a_set(store, tasks=(task,)) for task in tasks])

    everything = await every_event(store)
    assert [stored.event for stored in everything] == [task.event for task in tasks]
    assert await store.events(after=0, limit=9, workspace=ELSEWHERE) == everything[1::2]
    assert await store.events(after=everything[2].seq, limit=2) == everything[3:5]
    assert await store.newest_events(limit=4) == everything[:1:-1]
    assert await store.newest_events(limit=4, below=everything[4].seq, workspace=HERE) == everything[2::-2]


async def test_the_newest_events_come_first_page_by_page(store: Store):
    here, there = await given_a_task(store), await given_a_task(store, workspace=ELSEWHERE)
    for _ in range(4):
        here = await step(store, signalling(store, here))
    there = await step(store, signalling(store, there))
    newest = (await every_event(store))[::-1]
    of_here = [stored for stored in newest if stored.event.workspace == HERE]

    assert await store.newest_events(limit=3) == newest[:3]
    assert await store.newest_events(limit=100, below=newest[2].seq) == newest[3:]
    assert await store.newest_events(limit=2, below=newest[1].seq, workspace=HERE) == of_here[1:3]
    assert await store.newest_events(limit=2, task_id=here.id) == of_here[:2]
    assert await store.newest_events(limit=9, below=of_here[2].seq, task_id=here.id) == of_here[3:]
    assert await store.newest_events(limit=9, task_id=there.id, workspace=HERE) == []
    assert await store.newest_events(limit=9, below=newest[-1].seq) == []


async def test_the_versions_of_a_task_run_without_a_gap_and_its_last_event_says_where_it_is(
    store: Store, clock: ManualClock
):
    running = await given_a_running_task(store)
    suspension = transitions.suspend(running, blockers=["signal:go"], wake_at=None, now=store.now())
    await committed(store, changes=(suspension,), blockers=(Blocker(running.id, 1, "signal:go"),))
    await committed(store, lifts=(Lift("signal:go", running.id),))
    await given_tasks(store, 3, key="k")
    await given_a_completed_task(store)
    await step(store, reviving(store, await given_a_dead_letter(store)))
    await given_a_retrying_task(store, until=Micros(store.now() + SECOND))
    clock.advance(seconds=1)
    await take(store, await a_plan(store, tasks=3))
    await committed(store, spends=(Spend(HERE, "key:k", -1),))

    events = [stored.event for stored in await every_event(store)]
    rows = await store.load([event.task_id for event in events if event.task_id])

    assert len(rows) == 7
    for row in rows.values():
        of_task = [event for event in events if event.task_id == row.id]
        assert [event.version for event in of_task] == list(range(1, row.version + 1))
        last = of_task[-1]
        assert (last.status, last.attempt, last.at) == (row.status, row.attempt, row.updated_at)
    assert {row.status for row in rows.values()} >= {Status.PENDING, Status.READY, Status.RUNNING}


async def test_another_process_reads_the_same_events(store: Store, other: Store):
    await given_tasks(store, 3)
    await given_tasks(other, 3)

    assert await every_event(store) == await every_event(other)
    assert len(await every_event(store)) == 6


async def test_after_the_last_event_there_is_nothing(store: Store):
    assert await every_event(store) == []
    await given_a_task(store)

    assert await store.events(after=(await every_event(store))[-1].seq, limit=10) == []


async def test_the_events_of_some_tasks_are_those_of_the_log_in_its_order(store: Store):
    # One row of the log has events of several tasks: those of the others are left out.
    here, other, untold = await given_tasks(store, 3)
    there = await given_a_task(store, workspace=ELSEWHERE)
    completed = await given_a_completed_task(store)
    await step(store, cancelling(store, here))
    await step(store, cancelling(store, untold))
    wanted = [there.id, completed.id, other.id, here.id]

    found = await store.events_of([*wanted, an_id()])

    assert found == [stored for stored in await every_event(store) if stored.event.task_id in wanted]
    assert len(found) == 7
    assert await store.events_of([]) == []
