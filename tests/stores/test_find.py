"""Lists for people: everything asked for must match, newest first, page by page."""

import pytest

from taskyard.core.task import DagId, Hot, Status
from taskyard.core.units import SECOND, Micros
from taskyard.stores.contract import Filter, Store
from tests.stores.given import (
    BOB,
    ELSEWHERE,
    HERE,
    TaskFacts,
    a_dag_id,
    a_lane,
    a_new_task,
    an_attempt,
    an_id,
    cancelling,
    committed,
    given_a_completed_task,
    given_a_defined_task,
    given_a_pending_task,
    given_a_retrying_task,
    given_a_running_task,
    given_a_task,
    given_tasks,
    ids,
    retrying,
    row_of,
    step,
)


async def find(store: Store, which: Filter, limit: int = 100) -> list[Hot]:
    return await store.find(which, after=0, limit=limit)


async def test_the_newest_come_first(store: Store):
    tasks = await given_tasks(store, 5)

    assert await find(store, Filter(workspace=HERE)) == tasks[::-1]


async def test_pages_follow_on_without_a_gap_while_new_tasks_come_in(store: Store):
    tasks = await given_tasks(store, 7)

    pages: list[list[Hot]] = [await find(store, Filter(workspace=HERE), limit=3)]
    while pages[-1]:
        await given_a_task(store)
        pages.append(await store.find(Filter(workspace=HERE), after=pages[-1][-1].seq, limit=3))

    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert ids(task for page in pages for task in page) == ids(tasks[::-1])


async def test_tasks_of_other_workspaces_are_not_found(store: Store):
    here, there = await given_a_task(store), await given_a_task(store, workspace=ELSEWHERE)

    assert await find(store, Filter(workspace=HERE)) == [here]
    assert await find(store, Filter(workspace=ELSEWHERE)) == [there]
    assert await find(store, Filter(workspace="nowhere")) == []


async def test_tasks_are_found_by_the_state_they_are_in_now(store: Store):
    ready = await given_a_task(store)
    pending = await given_a_pending_task(store, "signal:go")
    cancelled = await step(store, cancelling(store, await given_a_task(store)))
    completed = await given_a_completed_task(store)

    async def in_states(*statuses: Status) -> list[Hot]:
        return await find(store, Filter(workspace=HERE, statuses=frozenset(statuses)))

    assert await in_states(Status.READY) == [ready]
    assert await in_states(Status.PENDING, Status.COMPLETED) == [completed, pending]
    assert await in_states(*Status) == [completed, cancelled, pending, ready]
    assert await in_states(Status.RUNNING) == []


async def test_tasks_are_found_by_type_and_queue(store: Store):
    code = await given_a_defined_task(store, a_lane(type="code", queue="slow"))
    review = await given_a_defined_task(store, a_lane(type="review", queue="slow"))
    mail = await given_a_defined_task(store, a_lane(type="mail", queue="fast"))

    assert await find(store, Filter(workspace=HERE, types=frozenset({"code"}))) == [code]
    assert await find(store, Filter(workspace=HERE, types=frozenset({"code", "mail"}))) == [mail, code]
    assert await find(store, Filter(workspace=HERE, queue="slow")) == [review, code]
    assert await find(store, Filter(workspace=HERE, types=frozenset({"mail"}), queue="slow")) == []


async def test_tasks_are_found_by_the_agent_they_are_addressed_to_or_held_by(store: Store):
    addressed = await given_a_defined_task(store, a_lane(agent="bob"))
    held = await given_a_running_task(store, agent=BOB)
    await given_a_running_task(store)
    await given_a_task(store)

    assert await find(store, Filter(workspace=HERE, agent="bob")) == [held, addressed]


async def test_who_had_a_task_last_no_longer_holds_it(store: Store):
    await given_a_completed_task(store)

    assert await find(store, Filter(workspace=HERE, agent="ada")) == []


async def test_tasks_are_found_by_their_dag_and_their_parent(store: Store):
    dag_id, parent = a_dag_id(), an_id()
    in_dag = await given_a_task(store, dag_id=dag_id)
    child = await given_a_defined_task(store, a_lane(), parent_id=parent)

    assert await find(store, Filter(workspace=HERE, dag_id=dag_id)) == [in_dag]
    assert await find(store, Filter(workspace=HERE, parent_id=parent)) == [child]
    assert await find(store, Filter(workspace=HERE, dag_id=dag_id, parent_id=parent)) == []
    assert await find(store, Filter(workspace=ELSEWHERE, dag_id=dag_id)) == []
    assert await find(store, Filter(workspace=HERE, dag_id=DagId("dag_unknown"))) == []


async def test_tasks_are_found_by_subject_and_tag(store: Store):
    issue = await given_a_defined_task(store, a_lane(), subject="issue:42", tags=("urgent", "ü"))
    another = await given_a_defined_task(store, a_lane(), subject="issue:421", tags=("urgently",))

    assert await find(store, Filter(workspace=HERE, subject="issue:42")) == [issue]
    assert await find(store, Filter(workspace=HERE, tag="urgent")) == [issue]
    assert await find(store, Filter(workspace=HERE, tag="ü")) == [issue]
    assert await find(store, Filter(workspace=HERE, tag="urgently")) == [another]
    assert await find(store, Filter(workspace=HERE, tag="gent")) == []


async def test_tasks_are_found_by_what_they_were_redefined_to(store: Store):
    task = await given_a_defined_task(store, a_lane(), subject="old", tags=("old", "both"), title="old")
    definition = (await store.definitions([task.id]))[task.id]

    await committed(store, redefined=(definition._replace(subject="new", tags=("both", "new"), title="new"),))

    for word, found in (("old", []), ("new", [task])):
        assert await find(store, Filter(workspace=HERE, subject=word)) == found
        assert await find(store, Filter(workspace=HERE, tag=word)) == found
        assert await find(store, Filter(workspace=HERE, text=word)) == found
    assert await find(store, Filter(workspace=HERE, tag="both")) == [task]


@pytest.mark.parametrize(
    "said",
    [
        {"title": "pay 100% of it"},
        {"prompt": "pay\n100% of it"},
        {"payload": '{"pay":"100% of it"}'},
    ],
)
async def test_tasks_are_found_by_what_is_written_in_them(store: Store, said: TaskFacts):
    await given_a_defined_task(store, a_lane(), title="1000 of it", prompt="x100y of", payload='{"a_b":1}')
    found = await given_a_defined_task(store, a_lane(), **said)

    assert await find(store, Filter(workspace=HERE, text="100% of")) == [found]
    assert await find(store, Filter(workspace=HERE, text="100_ of")) == []
    assert await find(store, Filter(workspace=HERE, text="100% OF")) == [found]
    assert await find(store, Filter(workspace=HERE, text="'; drop table tasks; --")) == []


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ('say "hello"', 'SAY "hello'),
        ("one\ntwo", "ONE\nTWO"),
        ("back\\slash", "BACK\\s"),
        ("Straße", "strasse"),
        ("Kelvin \u212a", "kelvin k"),
        ("ΑΘΗΝΑ", "αθηνα"),
        ("plain", "PLAIN"),
    ],
)
async def test_a_text_is_found_however_it_is_spelled_in_the_store(store: Store, said: str, asked: str):
    found = await given_a_defined_task(store, a_lane(), prompt=said)
    await given_a_defined_task(store, a_lane(), prompt="something else")

    assert await find(store, Filter(workspace=HERE, text=asked)) == [found]


async def test_everything_that_is_asked_for_must_match(store: Store):
    lane = a_lane(type="code", queue="slow", agent="bob")
    wanted = await given_a_defined_task(store, lane, subject="s", tags=("t",), title="needle")
    await given_a_defined_task(store, lane, tags=("t",), title="needle")
    await given_a_defined_task(store, lane, subject="s", title="needle")
    await given_a_defined_task(store, lane, subject="s", tags=("t",))

    which = Filter(
        workspace=HERE,
        statuses=frozenset({Status.READY}),
        types=frozenset({"code"}),
        queue="slow",
        agent="bob",
        subject="s",
        tag="t",
        text="needle",
    )

    assert await find(store, which) == [wanted]


async def test_tasks_are_tallied_by_state_and_type(store: Store):
    for lane in (a_lane(type="code"), a_lane(type="code", queue="slow"), a_lane(type="review")):
        await given_a_defined_task(store, lane)
    await step(store, cancelling(store, await given_a_task(store)))
    await given_a_task(store, workspace=ELSEWHERE)

    assert await store.tally(HERE) == {
        (Status.READY, "code"): 2,
        (Status.READY, "review"): 1,
        (Status.CANCELLED, "code"): 1,
    }
    assert await store.tally("nowhere") == {}


async def test_the_depth_counts_what_has_not_ended(store: Store):
    await given_a_task(store)
    await given_a_task(store)
    await given_a_running_task(store)
    await step(store, cancelling(store, await given_a_task(store)))
    await given_a_completed_task(store)
    await given_a_task(store, workspace=ELSEWHERE)
    await given_a_pending_task(store, "signal:go", "signal:now")
    await given_a_retrying_task(store, until=Micros(store.now() + SECOND))
    await given_a_task(store, status=Status.VALIDATING)

    assert await store.depth(HERE) == {
        Status.READY: 2,
        Status.RUNNING: 1,
        Status.PENDING: 1,
        Status.RETRYING: 1,
        Status.VALIDATING: 1,
    }
    assert await store.depth("nowhere") == {}


async def test_the_oldest_come_first_where_that_is_asked_for(store: Store):
    tasks = await given_tasks(store, 5)
    held = await given_a_running_task(store)
    which = Filter(workspace=HERE, oldest_first=True)

    first = await store.find(which, after=0, limit=2)
    rest = await store.find(which, after=first[-1].seq, limit=10)

    assert ids([*first, *rest]) == ids([*tasks, held])
    running = Filter(workspace=HERE, statuses=frozenset({Status.RUNNING}), oldest_first=True)
    assert await store.find(running, after=0, limit=2) == [held]
    assert await store.find(running, after=held.seq, limit=2) == []


async def test_tasks_are_found_by_when_they_were_put_in(store: Store):
    first, second, third = [await given_a_task_of(store, second) for second in (10, 20, 30)]

    def put_in(since: int | None, until: int | None) -> Filter:
        times = [None if each is None else Micros(each * SECOND) for each in (since, until)]
        return Filter(workspace=HERE, since=times[0], until=times[1])

    assert await find(store, put_in(20, None)) == [third, second]
    assert await find(store, put_in(None, 20)) == [first]
    assert await find(store, put_in(20, 30)) == [second]
    assert await find(store, put_in(31, None)) == []


async def test_tasks_are_found_by_what_an_attempt_failed_for(store: Store):
    await given_a_task(store)
    crashed = await given_a_failed_attempt(store, "crash")
    await given_a_failed_attempt(store, "timeout")

    assert await find(store, Filter(workspace=HERE, reason="crash")) == [crashed]
    assert await find(store, Filter(workspace=HERE, reason="crash", statuses=frozenset({Status.READY}))) == []
    assert await find(store, Filter(workspace=HERE, reason="refused")) == []


async def given_a_task_of(store: Store, second: int) -> Hot:
    new = await a_new_task(store)
    await committed(store, tasks=(new._replace(hot=new.hot._replace(created_at=Micros(second * SECOND))),))
    return await row_of(store, new.hot.id)


async def given_a_failed_attempt(store: Store, reason: str) -> Hot:
    running = await given_a_running_task(store)
    attempt = an_attempt(running, store.now())._replace(outcome="failed", reason=reason)
    await committed(store, changes=(retrying(store, running, until=Micros(store.now() + SECOND)),), attempts=(attempt,))
    return await row_of(store, running.id)


async def test_the_oldest_come_first_also_where_their_states_and_types_differ(store: Store):
    for number in range(4):
        for type_ in ("code", "docs", "ops", "review", "test"):
            await given_a_defined_task(store, a_lane(type=type_))
        await given_a_completed_task(store)
        await given_a_pending_task(store, f"signal:{number}")

    found = await find(store, Filter(workspace=HERE, oldest_first=True))

    assert len(found) == 28
    assert [hot.seq for hot in found] == sorted(hot.seq for hot in found)
    assert await find(store, Filter(workspace=HERE)) == found[::-1]
