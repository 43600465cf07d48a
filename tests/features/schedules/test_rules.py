"""Which of the times that have come fire, whatever happened meanwhile."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.core.changes import Record
from taskyard.core.units import DAY, HOUR, MINUTE, SECOND, Micros
from taskyard.features.schedules.rules import (
    Busy,
    Gap,
    Misfire,
    Overlap,
    Schedule,
    Timing,
    follows_the_clock,
    judged,
    schedule_of,
)

NOW = Micros(1_767_225_600_000_000)
HOURLY = Schedule(
    id="audit",
    timing=Timing(
        text="every hour",
        cron="0 * * * *",
        every=None,
        zone="UTC",
        gap=Gap.SKIP,
        overlap=Overlap.BOTH,
        starts_at=NOW,
        ends_at=None,
    ),
    template={"task": {"type": "audit"}},
    misfire=Misfire.ALL,
    window=DAY,
    busy=Busy.ALLOW,
    created_at=NOW,
    created_by="human:local",
    seen=NOW,
    next_at=Micros(NOW + HOUR),
)


def every(step: int):
    """A timetable of moments that are so far apart, from NOW on."""

    def times(after: Micros, until: Micros) -> Iterator[Micros]:
        at = NOW + max(0, (after - NOW) // step + 1) * step
        while at <= until:
            yield Micros(at)
            at += step

    return times


def hours(*numbers: float) -> tuple[Micros, ...]:
    return tuple(Micros(int(NOW + number * HOUR)) for number in numbers)


@pytest.mark.parametrize(
    ("misfire", "later", "fires", "passed"),
    [
        (Misfire.ALL, 3.5, (1, 2, 3), None),
        (Misfire.ONCE, 3.5, (3,), 1),
        (Misfire.SKIP, 3.5, (), 1),
        (Misfire.ONCE, 3.01, (3,), 1),  # one that is on time makes up for those that were missed
        (Misfire.SKIP, 3.01, (3,), 1),
        (Misfire.ONCE, 1.5, (1,), None),
        (Misfire.ONCE, 1.01, (1,), None),
        (Misfire.SKIP, 1.01, (1,), None),
        (Misfire.ALL, 30, tuple(range(6, 31)), 1),
        (Misfire.ONCE, 30.5, (30,), 1),
        (Misfire.SKIP, 30.5, (), 1),
        (Misfire.ALL, 0.5, (), None),
    ],
)
def test_a_policy_says_what_becomes_of_what_was_missed(
    misfire: Misfire, later: float, fires: tuple[int, ...], passed: int | None
):
    (now,) = hours(later)
    found = judged(replace(HOURLY, misfire=misfire), every(HOUR), now, most=200)

    assert found.fires == hours(*fires)
    assert (None if found.passed is None else found.passed.first) == (None if passed is None else hours(passed)[0])
    assert found.seen == now


def test_so_many_at_once_and_the_rest_the_next_time():
    (now,) = hours(10)
    first = judged(HOURLY, every(HOUR), now, most=4)
    second = judged(replace(HOURLY, seen=first.seen), every(HOUR), now, most=4)

    assert (first.fires, second.fires) == (hours(1, 2, 3, 4), hours(5, 6, 7, 8))


@pytest.mark.parametrize(("misfire", "number"), [(Misfire.SKIP, 61), (Misfire.ONCE, 1), (Misfire.ALL, 600)])
def test_what_does_not_fit_at_once_is_not_lost(misfire: Misfire, number: int):
    schedule, now, fired = replace(HOURLY, misfire=misfire), Micros(NOW + 10 * MINUTE), list[Micros]()
    while schedule.seen < now:
        found = judged(schedule, every(SECOND), now, most=7)
        fired += found.fires
        schedule = replace(schedule, seen=found.seen)

    assert fired == [Micros(now - each * SECOND) for each in reversed(range(number))]


@settings(deadline=None)
@given(
    misfire=st.sampled_from(Misfire),
    window=st.integers(0, 10 * HOUR),
    step=st.sampled_from([SECOND, MINUTE, 7 * MINUTE, HOUR]),
    looks=st.lists(st.integers(1, HOUR), max_size=6),
)
def test_each_time_is_decided_once_and_those_in_the_window_fire_as_the_policy_says(
    misfire: Misfire, window: int, step: int, looks: list[int]
):
    schedule = replace(HOURLY, misfire=misfire, window=Micros(window))
    now, fired = NOW, list[Micros]()
    for wait in looks:
        before, now = now, Micros(now + wait)
        due = list(every(step)(before, now))
        made: list[Micros] = []
        while schedule.seen < now:
            found = judged(schedule, every(step), now, most=50)
            made += found.fires
            schedule = replace(schedule, seen=found.seen)
        good = [at for at in due if now - at <= window]
        assert made == (good if misfire is Misfire.ALL else [at for at in made if at in good])
        assert misfire is not Misfire.ONCE or bool(made) == bool(good)
        assert made == [] or misfire is Misfire.SKIP or made[-1] == good[-1]
        fired += made

    assert fired == sorted(set(fired))


@pytest.mark.parametrize(
    ("cron", "follows"),
    [("30 2 * * *", True), ("0 0 1 * *", True), ("0 * * * *", False), ("*/5 * * * *", False), ("* 2 * * *", False)],
)
def test_times_of_day_differ_from_what_goes_by_the_hour(cron: str, follows: bool):
    assert follows_the_clock(cron) is follows


def test_a_schedule_is_stored_whole():
    kept = replace(HOURLY, paused=True, last_run="task_1", removed_at=NOW)

    assert schedule_of(Record("schedule", "default", "audit", 3, kept.body())) == kept
