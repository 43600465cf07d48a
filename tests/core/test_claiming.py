"""A claim takes the best that every ceiling allows, in order, sets aside what nobody may have, and reads no further."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.agent import Budget, Period
from taskyard.core.changes import Blocker, Limit, Spend
from taskyard.core.claiming import PARKED_PER_CLAIM, ClaimPlan, Pace, Room, ceiling_of, cost_class, floor_of
from taskyard.core.identifiers import blocker_for
from taskyard.core.task import DagId, Hot, Status
from taskyard.core.units import DAY, MINUTE, Micros, MicroUsd
from tests.core.choosing import TODAY, Yard, a_lane, a_plan, ids, parked, ready, taken
from tests.core.defining import NOW
from tests.core.rows import free

DAG = DagId("dag_1")
LANES = (a_lane(1, boost=0), a_lane(2, boost=10), a_lane(3, boost=250))

prices = st.none() | st.integers(0, 40).map(MicroUsd)


@st.composite
def any_row(draw: st.DrawFn) -> Hot:
    return ready(
        draw(st.integers(0, 100)),
        lane=draw(st.sampled_from(LANES)),
        key=draw(st.sampled_from([None, None, "k1", "k2"])),
        dag_id=draw(st.sampled_from([None, DAG])),
        reserve=draw(prices),
    )


rows = st.lists(any_row(), max_size=20)
moments = st.integers(0, DAY).map(lambda passed: Micros(NOW + passed))


@given(rows, moments, st.integers(1, 25))
def test_the_best_are_taken_in_the_order_of_the_formula_and_of_equals_the_first_come(
    tasks: list[Hot], now: Micros, asked: int
):
    plain = [task._replace(key=None) for task in tasks]
    boosts = {lane.id: lane.boost for lane in LANES}

    choice = Yard(plain).choose(a_plan(*LANES, tasks=asked, now=now))

    by_formula = sorted(plain, key=lambda task: (task.rank - boosts[task.lane] * now // 6000, task.seq))
    assert taken(choice) == ids(*by_formula[:asked])


def test_a_task_that_ages_overtakes_one_that_does_not():
    steady, ageing = a_lane(1, boost=0), a_lane(2, boost=100)
    fresh, old = ready(50, lane=steady), ready(60, lane=ageing)

    def first(minutes: int) -> str:
        return taken(Yard([fresh, old]).choose(a_plan(steady, ageing, now=Micros(NOW + minutes * MINUTE))))[0]

    assert [first(minutes) for minutes in (0, 9, 10, 11)] == [fresh.id, fresh.id, fresh.id, old.id]


def test_of_equals_in_different_lanes_the_first_come_goes_first():
    one, other = a_lane(1), a_lane(2)
    tasks = [ready(lane=lane) for lane in (other, one, other, one)]

    assert taken(Yard(tasks).choose(a_plan(one, other, tasks=4))) == ids(*tasks)


def test_the_nth_task_gets_the_nth_lease_and_what_the_plan_says():
    lane = a_lane(circuit=4)
    choice = Yard([ready(), ready()]).choose(a_plan(lane, tasks=5, start=False))

    assert [change.after.lease for change in choice.taken] == ["stem0.1", "stem1.1"]
    assert {(change.after.status, change.after.circuit) for change in choice.taken} == {(Status.CLAIMED, 4)}


def test_a_claim_takes_no_more_than_it_has_slots_for():
    tasks = [ready() for _ in range(5)]
    yard = Yard(tasks, free("slots:ada", held=1))

    choice = yard.choose(a_plan(tasks=5, slots=3))

    assert taken(choice) == ids(*tasks[:2])
    assert choice.spends == [Spend("default", "slots:ada", 2)]
    assert len(yard.read) == 2


@pytest.mark.parametrize("held", [3, 4])
def test_an_agent_without_a_slot_reads_nothing_and_sets_nothing_aside(held: int):
    yard = Yard([ready(key="k")], free("slots:ada", held=held), free("key:k", held=1))

    choice = yard.choose(a_plan(slots=3))

    assert (choice.taken, choice.parked, choice.spends, yard.read) == ([], [], [], [])


def test_of_a_half_open_type_one_is_taken_and_no_more_is_read():
    probed, other = a_lane(1, circuit=3, probe="probe:code:3"), a_lane(2)
    tasks = [ready(10, lane=probed), ready(20, lane=probed), ready(30, lane=other)]
    yard = Yard(tasks)

    choice = yard.choose(a_plan(probed, other, tasks=5))

    assert taken(choice) == ids(tasks[0], tasks[2])
    assert [change.after.circuit for change in choice.taken] == [3, 0]
    assert Spend("default", "probe:code:3", 1) in choice.spends
    assert tasks[1].id not in yard.read


def test_while_a_probe_is_out_its_lane_is_not_even_read():
    yard = Yard([ready()], free("probe:code:3", held=1))

    assert yard.choose(a_plan(a_lane(circuit=3, probe="probe:code:3"))).parked == []
    assert yard.read == []


def test_two_lanes_of_one_type_share_its_probe():
    lanes = [a_lane(number, circuit=3, probe="probe:code:3") for number in (1, 2)]

    assert len(Yard([ready(lane=lane) for lane in lanes]).choose(a_plan(*lanes, tasks=5)).taken) == 1


def test_of_a_concurrency_key_one_is_taken_and_the_others_wait_for_it():
    first, second, other = ready(key="k", wait=4), ready(key="k", wait=4), ready(key="other")

    choice = Yard([first, second, other]).choose(a_plan(tasks=5))

    assert taken(choice) == ids(first, other)
    [(change, blocker)] = choice.parked
    assert (change.after.status, blocker) == (Status.PENDING, Blocker(second.id, 5, "key:k"))


def test_a_key_that_is_held_elsewhere_sets_all_of_its_tasks_aside():
    tasks = [ready(key="k") for _ in range(3)]

    choice = Yard(tasks, free("key:k", held=1)).choose(a_plan(tasks=5))

    assert (choice.taken, choice.spends) == ([], [])
    assert parked(choice) == dict.fromkeys(ids(*tasks), "key:k")


@pytest.mark.parametrize(
    ("limit", "blocker"), [("agent:ada", None), (TODAY, "budget:day"), ("dag:dag_1", "budget:dag:dag_1")]
)
@pytest.mark.parametrize(("reserve", "fits"), [(9, True), (10, True), (11, False)])
def test_money_suffices_when_it_is_equal(limit: str, blocker: str | None, reserve: int, fits: bool):
    task = ready(reserve=MicroUsd(reserve), dag_id=DAG)
    plan = a_plan(agent_money=100 if limit == "agent:ada" else None, day_money=100 if limit == TODAY else None)
    stored = 100 if limit == "dag:dag_1" else None

    choice = Yard([task], free(limit, ceiling=stored, held=60, spent=30)).choose(plan)

    assert taken(choice) == (ids(task) if fits else [])
    assert parked(choice) == ({task.id: blocker} if blocker and not fits else {})


def test_what_is_reserved_stands_against_every_ceiling_on_money():
    task = ready(reserve=MicroUsd(7), dag_id=DAG)

    choice = Yard([task]).choose(a_plan(day_money=100))

    assert choice.taken[0].after.reserved == 7
    assert choice.spends == [
        Spend("default", "agent:ada", 7),
        Spend("default", "dag:dag_1", 7),
        Spend("default", TODAY, 7),
        Spend("default", "slots:ada", 1),
        Spend("default", f"type-{TODAY}:coder", 7),
        Spend("default", f"type-month:{TODAY[4:11]}:coder", 7),
        Spend("default", "type:coder", 7),
    ]


def test_where_no_money_is_limited_none_is_reserved():
    choice = Yard([ready(reserve=MicroUsd(7), dag_id=DAG)]).choose(a_plan(default_reserve=5))

    assert choice.taken[0].after.reserved == 0
    assert choice.spends == [Spend("default", "slots:ada", 1)]


def test_a_task_that_reserves_nothing_moves_no_ceiling_on_money():
    choice = Yard([ready(reserve=MicroUsd(0), dag_id=DAG)]).choose(a_plan(agent_money=5))

    assert choice.spends == [Spend("default", "slots:ada", 1)]


def test_what_must_not_run_late_is_not_taken_late():
    late, last = ready(10, expires_at=NOW), ready(20, expires_at=Micros(NOW + 1))

    choice = Yard([late, last]).choose(a_plan(tasks=5))

    assert (taken(choice), choice.parked) == (ids(last), [])


def test_a_task_without_a_maximum_reserves_the_default_where_money_is_limited():
    choice = Yard([ready(), ready(), ready()]).choose(a_plan(tasks=5, agent_money=12, default_reserve=5))

    assert [change.after.reserved for change in choice.taken] == [5, 5]


def test_an_overshoot_blocks_even_what_is_free():
    free_of_charge = ready(reserve=MicroUsd(0))

    assert Yard([free_of_charge], free("agent:ada", spent=101)).choose(a_plan(agent_money=100)).taken == []
    assert len(Yard([free_of_charge], free("agent:ada", spent=100)).choose(a_plan(agent_money=100)).taken) == 1


def test_what_is_too_dear_for_its_agent_is_left_to_others_and_the_cheaper_is_taken():
    dear, cheap = ready(10, reserve=MicroUsd(80)), ready(20, reserve=MicroUsd(30))

    choice = Yard([dear, cheap]).choose(a_plan(tasks=5, agent_money=50))

    assert (taken(choice), choice.parked) == (ids(cheap), [])


def test_what_an_agent_cannot_pay_for_it_does_not_set_aside_for_the_others():
    dear = ready(reserve=MicroUsd(80), key="k", dag_id=DAG)
    yard = Yard([dear], free("key:k", held=1), free("dag:dag_1", ceiling=0))

    assert yard.choose(a_plan(agent_money=50)).parked == []
    assert parked(yard.choose(a_plan(agent_money=80))) == {dear.id: "budget:dag:dag_1"}


def test_a_lane_whose_cheapest_is_too_dear_is_not_read():
    dear, cheap = a_lane(1, floor=64), a_lane(2, floor=32)
    tasks = [ready(10, lane=dear, reserve=MicroUsd(64)), ready(20, lane=cheap, reserve=MicroUsd(63))]
    yard = Yard(tasks)

    assert taken(yard.choose(a_plan(dear, cheap, tasks=5, agent_money=63))) == ids(tasks[1])
    assert yard.read == ids(tasks[1])
    assert taken(Yard(tasks).choose(a_plan(dear, cheap, tasks=5, agent_money=64))) == ids(tasks[0])


def test_a_lane_is_closed_as_soon_as_the_money_left_is_below_its_floor():
    lane = a_lane(floor=32)
    tasks = [ready(lane=lane, reserve=MicroUsd(40)) for _ in range(50)]
    yard = Yard(tasks)

    assert len(yard.choose(a_plan(lane, tasks=50, agent_money=100)).taken) == 2
    assert len(yard.read) == 2


def test_no_more_is_set_aside_than_a_claim_may_and_the_next_one_goes_on():
    tasks = [ready(key="k") for _ in range(PARKED_PER_CLAIM + 3)]
    behind = ready()
    yard = Yard([*tasks, behind], free("key:k", held=1))

    first = yard.choose(a_plan(tasks=2))
    yard.land(first)
    second = yard.choose(a_plan(tasks=2))

    assert (first.taken, len(first.parked)) == ([], 64)
    assert taken(second) == [behind.id]
    assert list(parked(second)) == ids(*tasks[PARKED_PER_CLAIM:])


def test_a_claim_that_has_set_aside_all_it_may_still_takes_what_comes_next():
    tasks = [ready(key="k") for _ in range(PARKED_PER_CLAIM)]
    behind = ready()

    choice = Yard([*tasks, behind], free("key:k", held=1)).choose(a_plan(tasks=2))

    assert (taken(choice), len(choice.parked)) == ([behind.id], 64)


def test_a_long_line_of_tasks_of_a_held_key_is_not_read_at_once():
    lanes = [a_lane(number) for number in (1, 2, 3)]
    yard = Yard([ready(lane=lane, key="k") for lane in lanes for _ in range(300)], free("key:k", held=1))

    yard.choose(a_plan(*lanes, tasks=10))

    assert len(yard.read) <= len(lanes) + PARKED_PER_CLAIM


@given(rows, st.integers(1, 8), st.integers(0, 8), st.integers(0, 150), st.integers(0, 150))
def test_no_more_rows_are_read_than_lanes_and_what_was_taken_or_set_aside(
    tasks: list[Hot], asked: int, slots: int, day_money: int, dag_money: int
):
    yard = Yard(tasks, free("dag:dag_1", ceiling=dag_money))

    choice = yard.choose(a_plan(*LANES, tasks=asked, slots=slots, day_money=day_money, default_reserve=3))

    assert len(yard.read) <= len(LANES) + len(choice.taken) + len(choice.parked)
    assert len(set(yard.read)) == len(yard.read)


def test_the_row_behind_the_last_one_taken_is_not_read():
    yard = Yard([ready() for _ in range(10)])

    yard.choose(a_plan(tasks=3))

    assert len(yard.read) == 3


@given(
    rows,
    st.integers(1, 12),
    st.integers(1, 12),
    st.none() | st.integers(0, 150),
    st.none() | st.integers(0, 150),
    st.integers(0, 150),
)
def test_whatever_is_taken_no_ceiling_is_exceeded_and_all_of_it_is_accounted_for(  # noqa: PLR0917 - hypothesis gives them in order
    tasks: list[Hot], asked: int, slots: int, agent_money: int | None, day_money: int | None, dag_money: int
):
    yard = Yard(tasks, free("dag:dag_1", ceiling=dag_money), free("key:k2", held=1))

    choice = yard.choose(
        a_plan(*LANES, tasks=asked, slots=slots, agent_money=agent_money, day_money=day_money, default_reserve=3)
    )

    held = Counter({spend.name: spend.held for spend in choice.spends})
    ceilings = {"slots:ada": slots, "agent:ada": agent_money, TODAY: day_money, "dag:dag_1": dag_money}
    assert all(held[name] <= ceiling for name, ceiling in ceilings.items() if ceiling is not None)
    assert (held["key:k1"] <= 1, held["key:k2"]) == (True, 0)
    after = [change.after for change in choice.taken]
    assert len(after) == held["slots:ada"] <= asked
    assert held["agent:ada"] == held[TODAY] == sum(row.reserved for row in after)
    assert held["dag:dag_1"] == sum(row.reserved for row in after if row.dag_id)


@pytest.mark.parametrize(("agent_money", "left"), [(None, None), (100, 30), (70, 0), (60, -10)])
def test_an_agent_can_afford_what_it_has_neither_spent_nor_reserved(agent_money: int | None, left: int | None):
    room = Room(a_plan(agent_money=agent_money), Yard([], free("agent:ada", held=50, spent=20)).limit_of)

    assert room.affordable() == left


@given(st.integers(0, 2**53).map(MicroUsd))
def test_tasks_of_one_cost_class_are_alike_within_a_factor_of_two(reserve: MicroUsd):
    floor = floor_of(cost_class(reserve), MicroUsd(5))

    assert floor <= reserve <= max(2 * floor, 1)


def test_tasks_without_a_maximum_have_a_class_of_their_own():
    assert cost_class(None) not in {cost_class(MicroUsd(reserve)) for reserve in range(100)}
    assert floor_of(cost_class(None), MicroUsd(5)) == 5


@pytest.mark.parametrize(
    ("name", "ceiling", "effective"),
    [("key:k", None, 1), ("probe:code:3", None, 1), ("key:k", 3, 3), ("dag:d", None, None), ("slots:ada", None, None)],
)
def test_keys_and_probes_admit_one_without_anyone_having_stated_so(
    name: str, ceiling: int | None, effective: int | None
):
    assert ceiling_of(Limit("default", name, ceiling, 0, 0)) == effective


@pytest.mark.parametrize(
    ("name", "blocker"),
    [
        ("key:k", "key:k"),
        ("dag:dag_1", "budget:dag:dag_1"),
        ("day:2026-11-15", "budget:day"),
        ("day:2026-11-16", "budget:day"),
        ("slots:ada", None),
        ("agent:ada", None),
        ("probe:code:3", None),
    ],
)
def test_only_what_keeps_a_task_from_everybody_sets_it_aside(name: str, blocker: str | None):
    assert blocker_for(name) == blocker


def test_nothing_is_taken_of_a_lane_outside_the_plan():
    yard = Yard([ready(lane=a_lane(1))])

    assert yard.choose(a_plan(a_lane(9))).taken == []
    assert yard.read == []


@pytest.mark.parametrize(
    ("pace", "slots", "part"),
    [
        (Pace(), 1, 1),
        (Pace(), 100, 100),
        (Pace(), 150, 100),
        (Pace(), 501, 251),
        (Pace(parts=4, least=25), 10, 10),
        (Pace(parts=4, least=25), 60, 25),
        (Pace(parts=4, least=25), 500, 125),
    ],
)
def test_a_part_of_the_slots_is_never_too_small_to_be_worth_a_claim(pace: Pace, slots: int, part: int):
    assert pace.part_of(slots) == part


PROBED = a_lane(circuit=3, probe="probe:code:3")


@pytest.mark.parametrize(
    ("plan", "limits"),
    [
        (a_plan(tasks=5), ()),
        (a_plan(tasks=5, slots=3), (free("slots:ada", held=1),)),  # both are taken, and a slot is left behind
        (a_plan(tasks=5, type_slots=4), (free("type-slots:coder", held=1),)),
        (a_plan(tasks=5, day_money=0), ()),  # what cannot be paid is set aside for all, and becomes ready again
    ],
)
def test_a_claim_says_that_it_took_all_where_more_room_would_have_changed_nothing(
    plan: ClaimPlan, limits: tuple[Limit, ...]
):
    for rows in ([], [ready()]):
        assert Yard(rows, *limits).choose(plan).took_all


@pytest.mark.parametrize(
    ("plan", "limits"),
    [
        (a_plan(), ()),  # as many as it asked for
        (a_plan(tasks=5, slots=1), ()),
        (a_plan(tasks=5, slots=3), (free("slots:ada", held=4),)),
        (a_plan(tasks=5, type_slots=1), (free("type-slots:coder", held=1),)),
        (a_plan(tasks=5, agent_money=100), ()),
        (a_plan(tasks=5, type_budget=Budget(MicroUsd(100), Period.DAY)), ()),
        (a_plan(PROBED, tasks=5), ()),
        (a_plan(PROBED, tasks=5), (free("probe:code:3", held=1),)),
    ],
)
def test_a_claim_says_that_more_may_be_left_where_its_own_ceilings_may_have_kept_it_from_that(
    plan: ClaimPlan, limits: tuple[Limit, ...]
):
    assert not Yard([ready()], *limits).choose(plan).took_all


def test_a_claim_that_set_aside_as_many_as_it_may_has_not_seen_all():
    yard = Yard([ready(key="k") for _ in range(PARKED_PER_CLAIM)], free("key:k", held=1))

    assert not yard.choose(a_plan(tasks=5)).took_all
