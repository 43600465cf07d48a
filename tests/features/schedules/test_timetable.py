"""The moments that a timetable names, in zones whose clocks are put forward and back."""

from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.core.errors import InvalidInput
from taskyard.core.units import DAY, HOUR, MINUTE, Micros, from_iso
from taskyard.features.schedules.rules import Gap, Overlap
from taskyard.features.schedules.timetable import timed, times, wall_time

START = from_iso("2026-01-01T00:00:00Z")


def walls(said: str, after: str, number: int, gap: Gap | None = None, overlap: Overlap | None = None) -> list[str]:
    """What the clocks show at the next so many times."""
    timing = timed(said, gap=gap, overlap=overlap, starts_at=Micros(0), ends_at=None)
    return [wall_time(timing, at)[5:] for at in islice(times(timing, from_iso(after)), number)]


SPRING, AUTUMN = "2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"


@pytest.mark.parametrize(
    ("said", "after", "gap", "overlap", "shown"),
    [
        ("30 2 * * *", SPRING, None, None, ["03-29T03:00:00+02:00", "03-30T02:30:00+02:00"]),
        ("30 2 * * *", SPRING, Gap.SKIP, None, ["03-30T02:30:00+02:00", "03-31T02:30:00+02:00"]),
        ("0,30 2 * * *", SPRING, None, None, ["03-29T03:00:00+02:00", "03-30T02:00:00+02:00"]),
        ("0 2,3 * * *", SPRING, None, None, ["03-29T03:00:00+02:00", "03-30T02:00:00+02:00"]),
        ("59 1 * * *", SPRING, None, None, ["03-29T01:59:00+01:00", "03-30T01:59:00+02:00"]),
        ("30 2 * * *", AUTUMN, None, None, ["10-25T02:30:00+02:00", "10-26T02:30:00+01:00"]),
        ("30 2 * * *", AUTUMN, None, Overlap.SECOND, ["10-25T02:30:00+01:00", "10-26T02:30:00+01:00"]),
        ("30 2 * * *", AUTUMN, None, Overlap.BOTH, ["10-25T02:30:00+02:00", "10-25T02:30:00+01:00"]),
        ("30 2 * * 0", "2026-10-25T00:45:00Z", None, Overlap.BOTH, ["10-25T02:30:00+01:00", "11-01T02:30:00+01:00"]),
        ("*/30 * * * *", "2026-10-25T00:20:00Z", None, None, ["10-25T02:30:00+02:00", "10-25T02:00:00+01:00"]),
        ("*/30 * * * *", "2026-03-29T00:20:00Z", None, None, ["03-29T01:30:00+01:00", "03-29T03:00:00+02:00"]),
    ],
)
def test_clock_times_that_do_not_exist_or_come_twice_follow_the_policy(
    said: str, after: str, gap: Gap | None, overlap: Overlap | None, shown: list[str]
):
    assert walls(f"{said} Europe/Berlin", after, 2, gap, overlap) == shown


def test_a_day_that_was_left_out_of_the_calendar_fires_when_the_next_begins():
    assert walls("0 12 30 12 * Pacific/Apia", "2011-06-01T00:00:00Z", 2) == [
        "12-31T00:00:00+14:00",
        "12-30T12:00:00+14:00",
    ]


def test_half_an_hour_is_a_change_of_the_clocks_too():
    assert walls("15 2 * * * Australia/Lord_Howe", "2026-10-03T00:00:00Z", 2)[0] == "10-04T02:30:00+11:00"


def test_what_comes_once_in_28_years_is_found():
    assert walls("0 0 29 2 MON Europe/Berlin", START_TEXT, 1) == ["02-02T00:00:00+01:00"]
    assert walls("0 0 * 2 MON#5 Europe/Berlin", START_TEXT, 1) == ["02-29T00:00:00+01:00"]


START_TEXT = "2026-01-01T00:00:00Z"


def test_a_time_in_a_gap_is_found_from_the_microsecond_before_it():
    timing = timed("15 1,2,3 * * 0 Africa/Casablanca", gap=None, overlap=None, starts_at=START, ends_at=None)
    forward = from_iso("2026-03-22T02:00:00Z")

    assert timing.gap is Gap.NEXT
    assert next(times(timing, Micros(forward - 1))) == forward
    assert next(times(timing, forward)) > forward


@settings(deadline=None)
@given(
    st.sampled_from(["* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "15 1,2,3 * * 0"]),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"]),
    st.integers(0, 365 * 24 * 60),
    st.sampled_from([None, *Gap]),
    st.sampled_from([None, *Overlap]),
)
def test_times_go_on_from_wherever_one_asks(
    cron: str, zone: str, minute: int, gap: Gap | None, overlap: Overlap | None
):
    timing = timed(f"{cron} {zone}", gap=gap, overlap=overlap, starts_at=START, ends_at=None)
    since = Micros(START + minute * MINUTE)
    found = list(islice(times(timing, since), 40))

    assert all(before < after for before, after in pairwise([since, *found]))
    assert [next(times(timing, each)) for each in found[:-1]] == found[1:]
    assert next(times(timing, Micros(found[20] - 1))) == found[20]


def test_an_interval_knows_no_clocks():
    timing = timed("every 6 hours Europe/Berlin", gap=None, overlap=None, starts_at=START, ends_at=None)
    found = list(times(timing, START, Micros(START + 365 * DAY)))

    assert {after - before for before, after in pairwise([START, *found])} == {6 * HOUR}


@pytest.mark.parametrize("said", ["60 * * * *", "* * * * MOON", "0 0 31 2 *", "*/0 * * * *", "0 0 30 2 *"])
def test_a_cron_expression_that_says_nothing_is_refused(said: str):
    with pytest.raises(InvalidInput, match="cron"):
        timed(said, gap=None, overlap=None, starts_at=START, ends_at=None)


@settings(deadline=None)
@given(st.lists(st.text("0123456789*/,-#LWMON", min_size=1, max_size=6), min_size=5, max_size=5))
def test_whatever_looks_like_cron_is_read_or_refused(parts: list[str]):
    try:
        timing = timed(" ".join(parts), gap=None, overlap=None, starts_at=START, ends_at=None)
    except InvalidInput:
        return
    assert next(times(timing, START), START) >= START
