"""The same value in, the same value out: nothing is rounded, trimmed, normalised or made null."""

import json
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.changes import (
    Blocker,
    Change,
    Checkpoint,
    Count,
    Edge,
    Limit,
    NewTask,
    Outbox,
    Output,
    RecordChange,
    Signal,
    Spend,
)
from taskyard.core.task import LaneId, TaskId
from taskyard.core.units import Micros
from taskyard.stores.contract import Store
from tests.generated import examples
from tests.stores import values
from tests.stores.given import (
    HERE,
    a_lane,
    an_attempt,
    an_id,
    committed,
    every_event,
    given_a_running_task,
    given_a_task,
    lane_of,
    row_of,
)

OF_EACH = 20  # examples
_workspaces = count(1)


@examples(OF_EACH)
@given(data=st.data())
async def test_any_row_comes_back_as_it_went_in_and_as_it_was_changed(store: Store, data: st.DataObject):
    workspace = f"w{next(_workspaces)}"
    lanes = await store.lanes([a_lane(workspace, type=type) for type in ("code", "review")])
    put_in = data.draw(values.hots(an_id(), workspace, lanes), label="put in")
    definition = data.draw(values.definitions(put_in), label="definition")
    event = data.draw(values.events(put_in), label="event")

    await committed(store, tasks=(NewTask(put_in, definition, event),))
    stored = await row_of(store, put_in.id)

    assert stored == put_in._replace(seq=stored.seq)
    assert (await store.definitions([put_in.id])) == {put_in.id: definition}
    assert (await every_event(store))[-1].event == event

    wanted = data.draw(values.hots(put_in.id, workspace, lanes), label="wanted")
    moved = {name: getattr(wanted, name) for name in values.MOVABLE}
    after = stored._replace(version=stored.version + 1, **moved)
    await committed(store, changes=(Change(stored, after, event),))

    assert await row_of(store, put_in.id) == after
    assert type((await row_of(store, put_in.id)).status) is type(after.status)


@examples(OF_EACH)
@given(data=st.data())
async def test_any_attempt_comes_back_as_it_went_in(store: Store, data: st.DataObject):
    task = await given_a_task(store)
    attempt = data.draw(values.attempts(task.id), label="attempt")

    await committed(store, attempts=(attempt,))

    [stored] = await store.attempts(task.id)
    assert stored == attempt
    assert (type(stored.counted), type(stored.outcome)) == (bool, type(attempt.outcome))


@examples(OF_EACH)
@given(body=values.bodies, text=values.texts, at=values.times, number=values.numbers)
async def test_any_paper_comes_back_as_it_went_in(
    store: Store, body: dict[str, values.Json], text: str, at: Micros, number: int
):
    task = await given_a_running_task(store)
    data = json.dumps(body, ensure_ascii=False)
    record = RecordChange("note", HERE, f"{task.id}{text}", 0, body)
    output = Output(task.id, 1, data, (text, f"artifact:{text}"), data)
    checkpoint = Checkpoint(task.id, text, 1, data)
    signal = Signal(task.id, text, data, text, at)
    posted = Outbox(HERE, f"to {task.id}", task.id, data, at)
    edge = Edge(task.id, TaskId(f"child {text}"), text)
    blocker = Blocker(task.id, 7, f"signal:{text}")
    name = f"agent:{task.id}{text}"

    await committed(
        store,
        records=(record,),
        attempts=(an_attempt(task, store.now()),),
        outputs=(output,),
        checkpoints=(checkpoint,),
        signals=(signal,),
        outbox=(posted,),
        edges=(edge,),
        blockers=(blocker,),
        spends=(Spend(HERE, name, number, 1),),
        counts=(Count(HERE, name, number + 1),),
    )

    stored = await store.record("note", HERE, record.id)
    assert stored
    assert json.dumps(stored.body, sort_keys=True) == json.dumps(body, sort_keys=True)
    assert await store.outputs([task.id]) == {task.id: output}
    assert await store.checkpoints(task.id) == [checkpoint]
    assert await store.signals(task.id) == [signal]
    assert [row for _, row in await store.outbox(posted.topic, 10)] == [posted]
    assert await store.edges([task.id]) == [edge]
    assert await store.blockers([task.id]) == [blocker]
    assert await store.limits(HERE, [name]) == {name: Limit(HERE, name, None, number, 1)}
    assert await store.counts(HERE, [name]) == {name: number + 1}


@examples(OF_EACH)
@given(workspace=values.texts, type=values.texts, agent=st.none() | values.texts, capabilities=values.many)
async def test_any_lane_comes_back_as_it_went_in(
    store: Store, workspace: str, type: str, agent: str | None, capabilities: tuple[str, ...]
):
    lane = a_lane(workspace, type=type, agent=agent)._replace(capabilities=capabilities)

    lane_id = await lane_of(store, lane)

    before = lane_id - 1
    assert (await store.config(workspace, LaneId(before))).lanes[lane_id] == lane
    assert await lane_of(store, lane) == lane_id
