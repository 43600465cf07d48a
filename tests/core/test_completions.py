"""Outputs that are accepted together come to what each of them would come to alone."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core import completions, outcomes
from taskyard.core.changes import ChangeSet, Count, Output, Spend
from taskyard.core.completions import End
from taskyard.core.outcomes import Report
from taskyard.core.task import DagId, Hot, TaskId, Trait
from taskyard.core.units import Micros, MicroUsd
from tests.core.defining import NOW
from tests.core.rows import a_row, claimed, later, running

COSTS = st.none() | st.integers(0, 50).map(MicroUsd)
AGES = st.integers(0, 10**9).map(Micros)
REPORTS = st.builds(
    Report,
    st.just("complete"),
    st.sampled_from(["digest", "another"]),
    COSTS,
    st.none() | st.integers(0, 9),
    st.none() | st.integers(0, 9),
    st.sampled_from([None, "large", 'a "quoted" one']),
)


@st.composite
def ends(draw: st.DrawFn, number: int) -> End:
    hot = a_row(
        id=TaskId(f"task_{number}"),
        dag_id=draw(st.sampled_from([None, DagId("dag_1"), DagId("dag_2")])),
        key=draw(st.sampled_from([None, "k"])),
        created_at=Micros(NOW - draw(AGES)),
    )
    hot = running(hot, reserved=draw(st.sampled_from([0, 40])), circuit=2)._replace(
        heartbeat_at=Micros(NOW + draw(AGES)),
        started_at=draw(st.none() | AGES.map(lambda age: Micros(NOW + age))),
        spent=draw(st.integers(0, 50).map(MicroUsd)),
        tokens_in=draw(st.integers(0, 9)),
    )
    return End(hot, Output(hot.id, hot.attempt, f'"{number}"', (), draw(st.sampled_from([None, "{}"]))), draw(REPORTS))


def alone(end: End, *, lease_unchanged: bool, now: Micros) -> ChangeSet:
    return outcomes.completed(
        end.hot, type_="code", output=end.output, report=end.report, now=now, lease_unchanged=lease_unchanged
    )


def summed(spends: Iterable[Spend]) -> Counter[tuple[object, ...]]:
    """What moves under each ceiling: nothing may be lost in the sum, and nothing named that no end names."""
    sums: Counter[tuple[object, ...]] = Counter()
    for workspace, name, held, spent in spends:
        sums[workspace, name, "held"] += held
        sums[workspace, name, "spent"] += spent
    return sums


def counted(counts: Iterable[Count]) -> dict[tuple[str, str, bool], int]:
    sums: dict[tuple[str, str, bool], int] = {}
    for workspace, name, add, clear in counts:
        sums[workspace, name, clear] = sums.get((workspace, name, clear), 0) + add
    return sums


def parts(sets: Sequence[ChangeSet], name: str) -> tuple[object, ...]:
    return tuple(chain.from_iterable(getattr(each, name) for each in sets))


@given(st.integers(1, 5).flatmap(lambda count: st.tuples(*map(ends, range(count)))), st.booleans())
def test_many_come_to_what_each_comes_to(those: tuple[End, ...], lease_unchanged: bool):
    now = later(2000)
    likeness = completions.shared_facts(those[0].hot, lease_unchanged=lease_unchanged)
    assert likeness is not None
    together = completions.completed(those, likeness, type_="code", now=now)
    singly = [alone(end, lease_unchanged=lease_unchanged, now=now) for end in those]

    assert together.at == now
    for name in set(ChangeSet._fields) - {"at", "good_until", "spends", "counts"}:
        assert getattr(together, name) == parts(singly, name), name
    assert summed(together.spends) == summed(chain.from_iterable(each.spends for each in singly))
    assert len({spend[:2] for spend in together.spends}) == len(together.spends)
    assert counted(together.counts) == counted(chain.from_iterable(each.counts for each in singly))
    assert len({count[:2] for count in together.counts}) == len(together.counts)


@pytest.mark.parametrize(
    "hot",
    [
        a_row(),
        claimed(a_row()),
        running(a_row(traits=int(Trait.VALIDATED))),
        running(a_row(reserve=MicroUsd(5))),
        running(a_row(), circuit=3),
    ],
    ids=["ready", "claimed", "validated", "at most so dear", "the probe"],
)
def test_what_needs_a_decision_of_its_own_is_like_nothing(hot: Hot):
    assert completions.shared_facts(hot, lease_unchanged=False) is None


def test_ends_of_another_kind_are_not_alike():
    one = running(a_row())
    others = [
        completions.shared_facts(hot, lease_unchanged=lease_unchanged)
        for hot, lease_unchanged in [
            (one, False),
            (one, True),
            (one._replace(lane=8), False),
            (one._replace(agent="bob"), False),
            (one._replace(circuit=2), False),
            (one._replace(workspace="elsewhere"), False),
        ]
    ]
    assert len(set(others)) == len(others)
