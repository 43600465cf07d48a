"""A batch of sets leaves the yard as its sets would one after the other.

Two yards that are alike but for their names are made in one store. All sets are decided on what is there at first; the
one yard is given them in one batch, the other one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.changes import (
    Blocker,
    Ceiling,
    ChangeSet,
    Checkpoint,
    Committed,
    Conflict,
    Count,
    Edge,
    Lift,
    NewTask,
    RecordChange,
    Rescore,
    Spend,
    Taken,
    expected,
    merged,
)
from taskyard.core.task import Hot, LaneId, Status, TaskId
from taskyard.stores.contract import Store
from tests.generated import examples
from tests.stores.given import (
    Parts,
    a_row,
    a_set,
    cancelling,
    claiming,
    committed,
    completing,
    given_a_record,
    lane_of,
    new,
    signalling,
    step,
)

TASKS = 6
KEYS = ("k1", "k2")

_numbers = count(1)


@dataclass
class Yard:
    store: Store
    name: str  # of the workspace; in every id, so that what is seen can be compared without it
    lane: LaneId
    rows: list[Hot]

    @property
    def ids(self) -> list[TaskId]:
        return [row.id for row in self.rows]

    async def seen(self) -> str:
        """All that can be seen of this yard, without what tells it from its twin."""
        store, ids = self.store, [*self.ids, *(self.new_id(number) for number in range(TASKS))]
        rows = await store.load(ids)
        everything = (
            [row._replace(seq=0) for row in rows.values()],
            sorted(rows, key=lambda task_id: rows[task_id].seq),
            await store.blockers(ids),
            await store.edges(ids),
            [await store.checkpoints(task_id) for task_id in ids],
            await store.records("note", self.name),
            sorted((await store.limits(self.name, None)).items()),
            sorted((await store.counts(self.name, ["n", "m"])).items()),
            sorted((await store.by_key(self.name, KEYS)).items()),
            [stored.event for stored in await store.events(after=0, limit=1000, workspace=self.name)],
        )
        return self.without_name(everything)

    def without_name(self, value: object) -> str:
        return repr(value).replace(self.name, "*")

    def new_id(self, number: int) -> TaskId:
        return TaskId(f"{self.name} new {number}")


async def a_yard(store: Store, *, parked: bool) -> Yard:
    """Two tasks are running, two wait for these, one waits for a concurrency key if `parked`, one has a live key."""
    name = f"yard {next(_numbers):06}"
    lane = await lane_of(store)
    yard = Yard(store, name, lane, [])
    tasks: list[NewTask] = []
    blockers: list[Blocker] = []
    waits: list[tuple[str, ...]] = [(), (), ("task:0",), ("task:0", "task:1"), ("key:k" if parked else "task:5",), ()]
    for number, names in enumerate(waits):
        status = Status.PENDING if names else Status.READY
        key = KEYS[0] if number == 5 else None
        row = a_row(store.now(), id=TaskId(f"{name} {number}"), workspace=name, lane=lane, status=status)
        tasks.append(new(row._replace(idempotency_key=key)))
        blockers += [Blocker(row.id, 0, _named(yard, each)) for each in names]
    await committed(store, tasks=tuple(tasks), blockers=tuple(blockers), spends=(Spend(name, "key:k", 1),))
    await given_a_record(store, "note", "n", {}, name)
    rows = await store.load([task.hot.id for task in tasks])
    for task_id in list(rows)[:2]:
        rows[task_id] = await step(store, claiming(rows[task_id], now=store.now()))
    yard.rows = list(rows.values())
    return yard


def _named(yard: Yard, blocker: str) -> str:
    """task:0 is the first task of this yard; a concurrency key is called the same in both."""
    kind, _, number = blocker.partition(":")
    return blocker if kind == "key" else f"{kind}:{yard.name} {number}"


def a_child_of(yard: Yard, parent: Hot, more: int, place: int) -> Parts:
    task_id = yard.new_id(place if more else 0)  # two sets may want one id
    key = KEYS[more - 1] if more in (1, 2) else None
    row = a_row(yard.store.now(), id=task_id, workspace=yard.name, lane=yard.lane, status=Status.PENDING)
    return {
        "expects": (expected(parent),),
        "tasks": (new(row._replace(idempotency_key=key)),),
        "edges": (Edge(parent.id, task_id, "depends"),),
        "blockers": (Blocker(task_id, 0, f"task:{parent.id}"),),
    }


def the_end_of(yard: Yard, row: Hot, more: int, place: int) -> Parts:
    if row.status is not Status.RUNNING:
        return {}
    return {"changes": (completing(yard.store, row),), "lifts": (Lift(f"task:{row.id}"),)}


# What a set may have in it, decided on what was there at first: of a yard, a task, a number, and the set's own place.
PARTS: dict[str, Callable[[Yard, Hot, int, int], Parts]] = {
    "cancel": lambda yard, row, _, __: {"changes": (cancelling(yard.store, row),)},
    "signal": lambda yard, row, _, __: {"changes": (signalling(yard.store, row),)},
    "complete": the_end_of,
    "expect": lambda _, row, __, ___: {"expects": (expected(row),)},
    "new": a_child_of,
    "lift": lambda _, row, __, ___: {"lifts": (Lift(f"task:{row.id}"),)},
    "lift one": lambda yard, row, more, _: {"lifts": (Lift(_named(yard, f"task:{more}"), row.id),)},
    "end wait": lambda _, row, __, ___: {"lifts": (Lift("time", row.id, ends_wait=True),)},
    "block": lambda yard, row, more, _: {"blockers": (Blocker(row.id, 0, _named(yard, f"task:{more}")),)},
    "park": lambda _, row, __, ___: {"blockers": (Blocker(row.id, 0, "key:k"),)},
    "hold": lambda yard, _, more, __: {"spends": (Spend(yard.name, "key:k", more),)},
    "free": lambda yard, _, __, ___: {"spends": (Spend(yard.name, "key:k", -1),)},
    "ceiling": lambda yard, _, more, __: {"ceilings": (Ceiling(yard.name, "key:k", more),)},
    "count": lambda yard, _, more, __: {"counts": (Count(yard.name, "nm"[more % 2], more - 1),)},
    "clear": lambda yard, _, more, __: {"counts": (Count(yard.name, "nm"[more % 2], more, clear=True),)},
    "record": lambda yard, _, more, place: {
        "records": (RecordChange("note", yard.name, "nm"[more % 2], more // 2, {"by": place}),)
    },
    "checkpoint": lambda _, row, more, place: {"checkpoints": (Checkpoint(row.id, f"step {more}", place, "{}"),)},
    "rescore": lambda _, row, more, place: {"rescores": (Rescore(row.id, place, more, None),)},
}

# Parts, and the tasks they are about, that get into each other's way.
CLOSE: list[tuple[tuple[str, ...], tuple[int, ...]]] = [
    (("cancel", "complete", "expect", "new", "lift", "lift one", "end wait", "block", "rescore"), (0, 2)),
    (("complete", "signal", "expect", "lift", "block"), (0, 1, 3)),
    (("cancel", "signal", "expect", "park", "hold", "free", "ceiling", "lift one"), (2, 4)),
    (("cancel", "new", "count", "clear", "record", "checkpoint", "rescore"), (4, 5)),
    (tuple(PARTS), tuple(range(TASKS))),
]

Part = tuple[str, int, int]  # what, of which task, and a number


def batches_of(close: tuple[tuple[str, ...], tuple[int, ...]]) -> st.SearchStrategy[list[list[Part]]]:
    kinds, tasks = close
    parts = st.tuples(st.sampled_from(kinds), st.sampled_from(tasks), st.integers(0, 3))
    return st.lists(st.lists(parts, min_size=1, max_size=2), min_size=3, max_size=6)


def as_sets(yard: Yard, batch: list[list[Part]]) -> list[ChangeSet]:
    return [_as_set(yard, each, place) for place, each in enumerate(batch)]


def _as_set(yard: Yard, drawn: list[Part], place: int) -> ChangeSet:
    """The parts together, but for those that would put the set at odds with itself."""
    whole = a_set(yard.store)
    for what, task, number in drawn:
        part = PARTS[what](yard, yard.rows[task], number, place)
        together = merged([whole, a_set(yard.store, **part)])
        if _is_sound(together):
            whole = together
    return whole


def _is_sound(change_set: ChangeSet) -> bool:
    changed = [change.before.id for change in change_set.changes]
    new_ids = [task.hot.id for task in change_set.tasks]
    written = [record.id for record in change_set.records]
    steps = [checkpoint[:2] for checkpoint in change_set.checkpoints]
    scored = [rescore.task_id for rescore in change_set.rescores]
    return all(len(each) == len(set(each)) for each in (changed, new_ids, written, steps, scored))


def answer_texts(yard: Yard, answers: list[Committed | Conflict | Taken]) -> list[str]:
    """The answers, but for what may differ: counters are those after the batch, and a conflict may name any cause."""
    return [
        "conflict"
        if isinstance(answer, Conflict)
        else yard.without_name(answer._replace(counts={}) if isinstance(answer, Committed) else answer)
        for answer in answers
    ]


@examples(40)
@given(batch=st.sampled_from(CLOSE).flatmap(batches_of), parked=st.booleans())
async def test_a_batch_is_committed_as_its_sets_would_one_after_the_other(
    store: Store, batch: list[list[Part]], parked: bool
):
    at_once, in_turn = await a_yard(store, parked=parked), await a_yard(store, parked=parked)
    one_by_one: list[Committed | Conflict | Taken] = []
    for each in as_sets(in_turn, batch):
        one_by_one += await store.commit([each])

    together = await store.commit(as_sets(at_once, batch))

    assert answer_texts(at_once, together) == answer_texts(in_turn, one_by_one)
    assert await at_once.seen() == await in_turn.seen()
