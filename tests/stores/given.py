"""What the stories of this suite start from.

Everything goes in through the contract; a row is what the core would have made of it, unless a test says otherwise.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from itertools import count
from typing import TypedDict, TypeVar, Unpack

from taskyard.core import transitions
from taskyard.core.changes import (
    Attempt,
    Beat,
    Blocker,
    Ceiling,
    Change,
    ChangeSet,
    Checkpoint,
    Committed,
    Conflict,
    Count,
    Edge,
    Event,
    Expect,
    Lift,
    NewTask,
    Outbox,
    Output,
    RecordChange,
    Rescore,
    Signal,
    Spend,
    StoredEvent,
    Taken,
)
from taskyard.core.json_value import Json
from taskyard.core.priority import RANK_UNIT
from taskyard.core.retry import RetryPolicy, Strategy
from taskyard.core.task import (
    BLANK,
    AgentId,
    DagId,
    Definition,
    Hot,
    Lane,
    LaneId,
    Outcome,
    RuntimeId,
    Status,
    TaskId,
    next_due,
)
from taskyard.core.units import Micros, MicroUsd, utc_date
from taskyard.stores.contract import Store

HERE = "here"  # the workspace of most stories
ELSEWHERE = "elsewhere"
ADA = AgentId("ada")
BOB = AgentId("bob")

Connect = Callable[[], Coroutine[None, None, Store]]  # opens the yard once more, as another process would
Result = TypeVar("Result")
_numbers = count(1)

NO_RETRY = RetryPolicy(
    strategy=Strategy.IMMEDIATE,
    initial_delay=Micros(0),
    multiplier=1.0,
    max_delay=None,
    jitter=0.0,
    retry_on=frozenset(),
    no_retry_on=frozenset(),
)


class Fields(TypedDict, total=False):
    """What a story may say about a row."""

    id: TaskId
    workspace: str
    dag_id: DagId | None
    lane: LaneId
    rank: int
    height: int
    status: Status
    version: int
    wait: int
    wake_at: Micros | None
    due_at: Micros | None
    rescore_at: Micros | None
    idempotency_key: str | None
    key: str | None
    reserve: MicroUsd | None
    claim_ttl: int
    lease_sec: int
    run_sec: int | None
    expires_at: Micros | None
    traits: int


class TaskFacts(TypedDict, total=False):
    """What a story may say about a definition."""

    queue: str
    agent: str | None
    subject: str | None
    parent_id: TaskId | None
    title: str
    prompt: str
    payload: str
    tags: tuple[str, ...]


class Parts(TypedDict, total=False):
    """The parts of a change set."""

    changes: tuple[Change, ...]
    expects: tuple[Expect, ...]
    tasks: tuple[NewTask, ...]
    edges: tuple[Edge, ...]
    blockers: tuple[Blocker, ...]
    lifts: tuple[Lift, ...]
    attempts: tuple[Attempt, ...]
    outputs: tuple[Output, ...]
    checkpoints: tuple[Checkpoint, ...]
    signals: tuple[Signal, ...]
    records: tuple[RecordChange, ...]
    redefined: tuple[Definition, ...]
    spends: tuple[Spend, ...]
    ceilings: tuple[Ceiling, ...]
    counts: tuple[Count, ...]
    outbox: tuple[Outbox, ...]
    rescores: tuple[Rescore, ...]
    removals: tuple[TaskId, ...]
    events: tuple[Event, ...]


def an_id(stem: str = "task") -> TaskId:
    return TaskId(f"{stem}_{next(_numbers):04}")


def a_dag_id() -> DagId:
    return DagId(an_id("dag"))


def a_lane(
    workspace: str = HERE,
    *,
    type: str = "code",
    queue: str = "default",
    agent: str | None = None,
    boost: int = 0,
    model: str | None = None,
) -> Lane:
    return Lane(workspace, queue, type, agent, (), boost, 0, model)


async def lane_of(store: Store, lane: Lane | None = None) -> LaneId:
    [lane_id] = await store.lanes([lane or a_lane()])
    return lane_id


def a_row(now: Micros, **fields: Unpack[Fields]) -> Hot:
    """A ready task that has just come in."""
    plain = BLANK._replace(
        id=an_id(),
        workspace=HERE,
        rank=50 * RANK_UNIT,
        status=Status.READY,
        version=1,
        updated_at=now,
        claim_ttl=60,
        lease_sec=90,
        max_attempts=3,
        created_at=now,
    )
    row = plain._replace(**fields)
    return row if "due_at" in fields else row._replace(due_at=next_due(row))


def new(row: Hot, type: str = "code", **said: Unpack[TaskFacts]) -> NewTask:
    """The row as a task to put in."""
    definition = Definition(
        id=row.id,
        workspace=row.workspace,
        dag_id=row.dag_id,
        created_at=row.created_at,
        created_by="a person",
        retry=NO_RETRY,
        idempotency_key=row.idempotency_key,
        concurrency_key=row.key,
        max_cost=row.reserve,
        type=type,
        **said,
    )
    return NewTask(row, definition, transitions.created_event(row, "a person", type))


async def a_new_task(store: Store, **fields: Unpack[Fields]) -> NewTask:
    """A task that is not in the store yet, but its lane is."""
    if "lane" not in fields:
        fields["lane"] = await lane_of(store, a_lane(fields.get("workspace", HERE)))
    return new(a_row(store.now(), **fields))


def a_set(store: Store, **parts: Unpack[Parts]) -> ChangeSet:
    return ChangeSet(at=store.now(), **parts)


async def commit(store: Store, **parts: Unpack[Parts]) -> Committed | Conflict | Taken:
    [result] = await store.commit([a_set(store, **parts)])
    return result


async def committed(store: Store, **parts: Unpack[Parts]) -> Committed:
    """Commit what nothing stands against."""
    result = await commit(store, **parts)
    assert isinstance(result, Committed), result
    return result


async def row_of(store: Store, task_id: TaskId) -> Hot:
    return (await store.load([task_id]))[task_id]


async def given_a_task(store: Store, **fields: Unpack[Fields]) -> Hot:
    task = await a_new_task(store, **fields)
    await committed(store, tasks=(task,))
    return await row_of(store, task.hot.id)


async def given_tasks(store: Store, number: int, **fields: Unpack[Fields]) -> list[Hot]:
    """In the order they came in."""
    tasks = tuple([await a_new_task(store, **fields) for _ in range(number)])
    await committed(store, tasks=tasks)
    rows = await store.load([task.hot.id for task in tasks])
    return [rows[task.hot.id] for task in tasks]


async def given_a_defined_task(store: Store, lane: Lane, **said: Unpack[TaskFacts]) -> Hot:
    """A task of which the definition matters; what it shares with its lane is said there."""
    row = a_row(store.now(), workspace=lane.workspace, lane=await lane_of(store, lane))
    shared: TaskFacts = {"queue": lane.queue, "agent": lane.agent}
    await committed(store, tasks=(new(row, lane.type, **{**shared, **said}),))
    return await row_of(store, row.id)


async def given_a_pending_task(store: Store, *blockers: str, **fields: Unpack[Fields]) -> Hot:
    task = await a_new_task(store, **{**fields, "status": Status.PENDING})
    waits = tuple(Blocker(task.hot.id, task.hot.wait, name) for name in blockers)
    await committed(store, tasks=(task,), blockers=waits)
    return await row_of(store, task.hot.id)


def claiming(
    hot: Hot,
    *,
    lease: str = "a lease",
    agent: AgentId = ADA,
    runtime: RuntimeId | None = None,
    start: bool = True,
    now: Micros,
) -> Change:
    return transitions.claim(
        hot, agent=agent, runtime=runtime, lease=lease, circuit=0, reserved=MicroUsd(0), start=start, now=now
    )


async def step(store: Store, change: Change) -> Hot:
    """The row after one change that nothing stands against."""
    await committed(store, changes=(change,))
    return await row_of(store, change.after.id)


async def given_a_claimed_task(store: Store, *, lease: str = "a lease", **fields: Unpack[Fields]) -> Hot:
    task = await given_a_task(store, **fields)
    return await step(store, claiming(task, lease=lease, start=False, now=store.now()))


async def given_a_running_task(
    store: Store,
    *,
    lease: str = "a lease",
    agent: AgentId = ADA,
    runtime: RuntimeId | None = None,
    **fields: Unpack[Fields],
) -> Hot:
    task = await given_a_task(store, **fields)
    return await step(store, claiming(task, lease=lease, agent=agent, runtime=runtime, now=store.now()))


async def given_a_completed_task(store: Store, **fields: Unpack[Fields]) -> Hot:
    running = await given_a_running_task(store, **fields)
    return await step(store, completing(store, running))


async def given_a_dead_letter(store: Store, **fields: Unpack[Fields]) -> Hot:
    running = await given_a_running_task(store, **fields)
    return await step(store, burying(store, running))


async def given_a_retrying_task(store: Store, *, until: Micros, **fields: Unpack[Fields]) -> Hot:
    running = await given_a_running_task(store, **fields)
    return await step(store, retrying(store, running, until=until))


def a_beat(
    held: Hot,
    progress: str | None = None,
    *,
    cost: MicroUsd | None = None,
    tokens_in: int | None = None,
    tokens_out: int | None = None,
    tokens_cached: str | None = None,
) -> Beat:
    """A heartbeat of the attempt that had the task when the row was read."""
    assert held.lease is not None
    return Beat(held.id, held.lease, progress, cost, tokens_in, tokens_out, tokens_cached)


def completing(store: Store, hot: Hot) -> Change:
    return transitions.complete(hot, validated=False, now=store.now())


def cancelling(store: Store, hot: Hot) -> Change:
    return transitions.cancel(hot, reason="not wanted", now=store.now())


def signalling(store: Store, hot: Hot, name: str = "go") -> Change:
    return transitions.signal(hot, name=name, by="a person", now=store.now())


def burying(store: Store, hot: Hot) -> Change:
    return transitions.bury(hot, reason="crash", error="", counted=True, poison=False, now=store.now())


def retrying(store: Store, hot: Hot, *, until: Micros) -> Change:
    return transitions.retry(hot, reason="crash", error="", counted=True, wake_at=until, now=store.now())


def expiring(store: Store, hot: Hot) -> Change:
    """The lease is over: it is tried again at once."""
    return retrying(store, hot, until=store.now())._replace(expiring=True)


def reviving(store: Store, hot: Hot) -> Change:
    return transitions.revive(hot, resolution="retry", by="a person", lane=hot.lane, now=store.now())


def finish(store: Store, hot: Hot) -> ChangeSet:
    """What completes a task and frees what waits for it."""
    return a_set(store, changes=(completing(store, hot),), lifts=(Lift(f"task:{hot.id}"),))


def an_attempt(hot: Hot, now: Micros) -> Attempt:
    """The attempt under way, as it would be written if it were completed now."""
    assert hot.agent is not None
    assert hot.lease is not None
    assert hot.claimed_at is not None
    return Attempt(
        task_id=hot.id,
        number=hot.attempt,
        agent=hot.agent,
        runtime=hot.runtime,
        lease=hot.lease,
        claimed_at=hot.claimed_at,
        started_at=hot.started_at,
        ended_at=now,
        outcome=Outcome.COMPLETED,
        counted=False,
        reason=None,
        error=None,
        details=None,
        model=None,
        cost=MicroUsd(0),
        tokens_in=0,
        tokens_out=0,
        session=None,
        verb="complete",
        digest="",
        status=Status.COMPLETED,
        version=hot.version + 1,
        failures=hot.failures,
        wake_at=None,
    )


async def given_a_record(store: Store, kind: str, id: str, body: dict[str, Json], workspace: str = HERE) -> None:
    known = await store.record(kind, workspace, id)
    await committed(store, records=(RecordChange(kind, workspace, id, known.version if known else 0, body),))


async def given_a_ceiling(store: Store, name: str, ceiling: int | None, workspace: str = HERE) -> None:
    await committed(store, ceilings=(Ceiling(workspace, name, ceiling),))


async def given_a_parked_task(store: Store, blocker: str, **fields: Unpack[Fields]) -> Hot:
    """A task that a claim met and put aside."""
    task = await given_a_task(store, **fields)
    parking = transitions.park(task, blocker=blocker, now=store.now())
    await committed(store, changes=(parking,), blockers=(Blocker(task.id, parking.after.wait, blocker),))
    return await row_of(store, task.id)


def today(store: Store) -> str:
    return f"day:{utc_date(store.now())}"


def ids(rows: Iterable[Hot]) -> list[TaskId]:
    return [row.id for row in rows]


async def history(store: Store, task_id: TaskId) -> list[str]:
    """The names of a task's events, in order."""
    return [stored.event.event for stored in await store.events(after=0, limit=1000, task_id=task_id)]


async def every_event(store: Store) -> list[StoredEvent]:
    return await store.events(after=0, limit=100_000)


async def picture(
    store: Store, task_ids: Sequence[TaskId], *, limits: Sequence[str] = (), counts: Sequence[str] = ()
) -> dict[str, object]:
    """All that can be seen of these tasks, and of the yard around them."""
    return {
        "rows": await store.load(task_ids),
        "definitions": await store.definitions(task_ids),
        "outputs": await store.outputs(task_ids),
        "attempts": [await store.attempts(task_id) for task_id in task_ids],
        "checkpoints": [await store.checkpoints(task_id) for task_id in task_ids],
        "signals": [await store.signals(task_id) for task_id in task_ids],
        "blockers": sorted(await store.blockers(task_ids)),
        "edges": sorted(await store.edges(task_ids)),
        "events": await every_event(store),
        "records": await store.records("note"),
        "limits": await store.limits(HERE, limits),
        "counts": await store.counts(HERE, counts),
        "outbox": await store.outbox("notify", 100),
        "tally": await store.tally(HERE),
    }


async def at_once(*calls: Coroutine[None, None, Result]) -> list[Result]:
    """Let them race."""
    return list(await asyncio.gather(*calls))
