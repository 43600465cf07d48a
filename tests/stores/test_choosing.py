"""A store takes, parks, lets go and leaves exactly what the core says, whatever is in the yard.

The core's answer is worked out from plain sorted lists of what the store has; then the store is asked to do it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from taskyard.core import claiming, transitions
from taskyard.core.agent import Budget, Period
from taskyard.core.changes import Blocker, Ceiling, Change, Committed, Limit, Spend, StoredEvent
from taskyard.core.claiming import ClaimPlan
from taskyard.core.identifiers import blocker_for
from taskyard.core.priority import RANK_UNIT, aged
from taskyard.core.task import AgentId, DagId, Hot, LaneId, Status, TaskId
from taskyard.core.units import HOUR, Micros, MicroUsd
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Claimed, Store
from tests.generated import examples
from tests.stores.given import a_lane, a_row, a_set, committed, completing, given_a_record, new
from tests.stores.plans import a_plan, planned

BOOSTS = (0, 10, 100)
AGENTS = ("ada", "bob")
PROBE = "probe:t1:3"

_workspaces = count(1)


@dataclass
class Yard:
    """All that a claim can see or change in one workspace, as it was read from the store."""

    store: Store
    workspace: str
    default_reserve: MicroUsd
    lanes: list[LaneId]
    dags: list[DagId]
    names: set[str]  # of limits
    rows: dict[TaskId, Hot] = field(default_factory=dict[TaskId, Hot])
    limits: dict[str, Limit] = field(default_factory=dict[str, Limit])
    blockers: set[Blocker] = field(default_factory=set[Blocker])
    told: list[StoredEvent] = field(default_factory=list[StoredEvent])

    async def read(self) -> None:
        self.rows = await self.store.load(list(self.rows))
        self.limits = await self.store.limits(self.workspace, sorted(self.names))
        self.blockers = set(await self.store.blockers(list(self.rows)))
        self.told += await self.store.events(after=self.told[-1].seq if self.told else 0, limit=100_000)

    def limit_of(self, name: str) -> Limit:
        self.names.add(name)
        return self.limits.get(name, Limit(self.workspace, name, None, 0, 0))

    def ready_rows(self, lane: LaneId) -> list[Hot]:
        ready = [row for row in self.rows.values() if row.lane == lane and row.status is Status.READY]
        return sorted(ready, key=lambda row: (row.rank, row.seq))

    def spend(self, spends: Iterable[Spend]) -> None:
        for spend in spends:
            old = self.limit_of(spend.name)
            self.limits[spend.name] = old._replace(held=old.held + spend.held, spent=old.spent + spend.spent)
        nothing = (None, 0, 0)
        self.limits = {name: each for name, each in self.limits.items() if each[2:] != nothing}

    def let_go(self, spends: Iterable[Spend], steps: list[Change], now: Micros) -> list[Change]:
        """What is un-parked after these movements and these steps. Its blockers are taken off here too."""
        rows = self.rows | {change.after.id: change.after for change in steps}
        changes: list[Change] = []
        for name in sorted({spend.name for spend in spends if claiming.eases(spend)}):
            waiting = {each.task_id: each for each in self.blockers if each.name == blocker_for(name)}
            chosen = claiming.unpark(self.limit_of(name), map(rows.__getitem__, waiting), self.default_reserve)
            self.blockers -= {waiting[task_id] for task_id in chosen}
            changes += [transitions.ready(rows[task_id], now=now) for task_id in chosen]
        return changes

    async def must_be_in_the_store(self, changes: list[Change]) -> None:
        """These changes of the rows, and the limits and blockers as they are here, and nothing else."""
        assert await self.store.load(list(self.rows)) == self.rows | {each.after.id: each.after for each in changes}
        assert await self.store.limits(self.workspace, sorted(self.names)) == self.limits
        assert set(await self.store.blockers(list(self.rows))) == self.blockers
        before = len(self.told)
        await self.read()
        assert Counter(stored.event for stored in self.told[before:]) == Counter(each.event for each in changes)


prices = st.builds(MicroUsd, st.integers(0, 60))
seldom = st.sampled_from([False] * 4 + [True])


def rows_in(yard: Yard) -> st.SearchStrategy[Hot]:
    def row(
        *,
        lane: int,
        priority: int,
        key: str | None,
        dag_id: DagId | None,
        reserve: MicroUsd | None,
        status: Status,
        wait: int,
        expires_in: Micros | None,
    ) -> Hot:
        now, boost = yard.store.now(), BOOSTS[lane]
        return a_row(
            now,
            workspace=yard.workspace,
            lane=yard.lanes[lane],
            rank=priority * RANK_UNIT + aged(boost, now),
            key=key,
            dag_id=dag_id,
            reserve=reserve,
            status=status,
            wait=wait,
            expires_at=None if expires_in is None else Micros(now + expires_in),
        )

    return st.builds(
        row,
        lane=st.integers(0, 2),
        priority=st.integers(0, 3),
        key=st.sampled_from([None, "k1", "k1", "k2"]),
        dag_id=st.sampled_from([None, *yard.dags]),
        reserve=st.none() | prices,
        status=st.sampled_from([Status.READY] * 7 + [Status.PENDING]),
        wait=st.integers(0, 1),  # 1: it was parked before
        expires_in=st.sampled_from([None] * 8 + [Micros(0), HOUR]),
    )


async def a_yard(store: Store, data: st.DataObject) -> Yard:
    workspace = f"yard {next(_workspaces)}"
    lanes = await store.lanes([a_lane(workspace, type=f"t{boost}", boost=boost) for boost in BOOSTS])
    dags = [DagId(f"{workspace} dag {number}") for number in range(2)]
    yard = Yard(store, workspace, data.draw(prices), lanes, dags, {"key:k1", "key:k2", PROBE})
    await given_a_record(store, "workspace", workspace, {"default_reserve": yard.default_reserve}, workspace)
    rows = data.draw(st.lists(rows_in(yard), min_size=4, max_size=14), label="tasks")
    ceilings = [Ceiling(workspace, f"dag:{dag}", data.draw(st.none() | st.integers(0, 150))) for dag in dags]
    await committed(store, tasks=tuple(new(row) for row in rows), ceilings=tuple(ceilings))
    yard.names |= {ceiling.name for ceiling in ceilings}
    yard.rows = {row.id: row for row in rows}
    await yard.read()
    return yard


async def any_plan(yard: Yard, data: st.DataObject) -> ClaimPlan:
    chosen = data.draw(st.sampled_from([[0, 1, 2], [2, 0, 1], [0, 1], [2]]), label="lanes")
    probed = data.draw(seldom, label="half open")
    lanes = [
        planned(yard.lanes[lane], boost=BOOSTS[lane], floor=16 if data.draw(seldom) else 0)
        if lane or not probed
        else planned(yard.lanes[lane], boost=BOOSTS[lane], circuit=3, probe=PROBE)
        for lane in chosen
    ]
    return await a_plan(
        yard.store,
        *lanes,
        workspace=yard.workspace,
        tasks=data.draw(st.integers(1, 6), label="asked for"),
        agent=AgentId(data.draw(st.sampled_from(AGENTS), label="agent")),
        slots=data.draw(st.integers(1, 9), label="slots"),
        agent_money=data.draw(st.integers(0, 150), label="money of the agent") if data.draw(seldom) else None,
        day_money=data.draw(st.integers(0, 300), label="money of the day") if data.draw(seldom) else None,
        default_reserve=yard.default_reserve,
        start=not data.draw(seldom, label="claimed only"),
        type_slots=data.draw(st.integers(0, 9), label="slots of the type") if data.draw(seldom) else None,
        type_budget=Budget(
            MicroUsd(data.draw(st.integers(0, 200), label="money of the type")) if data.draw(seldom) else None,
            data.draw(st.sampled_from(Period), label="for"),
        ),
    )


async def claim_like_the_core(yard: Yard, plan: ClaimPlan) -> None:
    rows = {lane.id: iter(yard.ready_rows(lane.id)) for lane in plan.lanes}
    choice = claiming.choose(plan, rows, yard.limit_of)

    claimed = await yard.store.claim(plan)

    assert isinstance(claimed, Claimed)
    assert claimed[:2] == (tuple(change.after for change in choice.taken), len(choice.parked))
    yard.spend(choice.spends)
    yard.blockers |= {blocker for _, blocker in choice.parked}
    steps = [*choice.taken, *(change for change, _ in choice.parked)]
    await yard.must_be_in_the_store([*steps, *yard.let_go(choice.spends, steps, plan.now)])


def given_back(yard: Yard, task: Hot, cost: int) -> list[Spend]:
    """What a finished attempt no longer holds."""
    assert task.agent is not None
    assert task.claimed_at is not None
    names = [f"slots:{task.agent}", *([f"type-slots:{task.agent_type}"] if task.type_slot else [])]
    names += [] if task.key is None else [f"key:{task.key}"]
    spends = [Spend(yard.workspace, name, -1) for name in names]
    if task.circuit:
        spends.append(Spend(yard.workspace, PROBE, -1))
    money = claiming.money_names(task.agent, task.agent_type, task.dag_id, task.claimed_at)
    # Held under each of these names, also those without a ceiling, once any of them has one.
    return spends + [Spend(yard.workspace, name, -task.reserved, cost) for name in money if task.reserved]


async def finish_like_the_core(yard: Yard, task: Hot, cost: int) -> None:
    spends = given_back(yard, task, cost)
    completed = completing(yard.store, task)

    [result] = await yard.store.commit([a_set(yard.store, changes=(completed,), spends=tuple(spends))])

    yard.spend(spends)
    let_go = yard.let_go(spends, [completed], yard.store.now())
    assert isinstance(result, Committed)
    assert sorted(result.readied) == sorted(change.after.id for change in let_go)
    await yard.must_be_in_the_store([completed, *let_go])


@examples(20)
@given(data=st.data())
async def test_claiming_and_giving_back_is_as_the_core_would_have_it(
    store: Store, clock: ManualClock, data: st.DataObject
):
    yard = await a_yard(store, data)
    for _ in range(6):
        clock.advance(seconds=data.draw(st.sampled_from([0, 1, 3600]), label="pause"))
        running = [row for row in yard.rows.values() if row.status is Status.RUNNING]
        if running and not data.draw(seldom, label="claim more"):
            task = data.draw(st.sampled_from(running), label="finished")
            await finish_like_the_core(yard, task, data.draw(st.integers(0, 40), label="cost"))
        else:
            await claim_like_the_core(yard, await any_plan(yard, data))
