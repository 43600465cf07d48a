"""What the store and the sweep say of themselves, and what is made of it."""

import pytest

from taskyard.core.json_value import Json
from taskyard.features.verify.health import findings
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import given_a_running_task

GOOD: dict[str, Json] = {
    "engine": "postgresql",
    "wal_bytes": 4096,
    "file_bytes": 4096,
    "free_bytes": 0,
    "disk_free_bytes": 10**12,
    "dead_rows": {"task": 20_000},
    "dead_rows_share": 0.25,
    "oldest_transaction_sec": 1.5,
    "connections": 10,
    "connections_share": 0.1,
    "memory_share": 0.1,
    "synchronous_commit": "on",
    "fsync": "on",
    "replication_lag_bytes": 0,
    "oldest_expired_lease_sec": 0.0,
}
BAD: dict[str, Json] = {
    "wal_bytes": 10**9,
    "free_bytes": 10**10,
    "disk_free_bytes": 10**8,
    "dead_rows_share": 0.9,
    "oldest_transaction_sec": 4000.0,
    "connections_share": 0.9,
    "memory_share": 0.9,
    "synchronous_commit": "off",
    "fsync": "off",
    "replication_lag_bytes": 10**9,
    "oldest_expired_lease_sec": 75.0,
}


async def test_a_yard_that_is_swept_is_in_good_health(yard: Yard):
    await given_a_running_task(yard)
    await yard.sweep()

    figures = await yard.health()

    assert figures["engine"] in ("memory", "sqlite", "postgresql", "redis")
    assert figures["oldest_expired_lease_sec"] == 0


async def test_a_lease_that_nobody_takes_back_tells_that_nobody_sweeps(yard: Yard, clock: ManualClock):
    await given_a_running_task(yard)
    clock.advance(seconds=90 + 61)

    figures = await yard.health()

    assert figures["oldest_expired_lease_sec"] == 61
    assert [each.name for each in findings(figures) if not each.ok and "lease" in each.name] == [
        "oldest_expired_lease_sec"
    ]


def test_figures_as_they_should_be_raise_no_eyebrow():
    assert [each for each in findings(GOOD) if not each.ok] == []


@pytest.mark.parametrize("name", BAD)
def test_a_figure_that_is_wrong_comes_with_advice(name: str):
    [wrong] = [each for each in findings({**GOOD, name: BAD[name]}) if not each.ok]

    assert wrong.name == name
    assert ": " in wrong.words


def test_a_figure_is_reported_in_the_unit_of_its_name():
    told = {each.name: each.words for each in findings(GOOD)}

    assert (told["oldest_transaction_sec"], told["dead_rows_share"], told["dead_rows"]) == (
        "1.5 s",
        "25%",
        "task 20000",
    )
    assert (told["wal_bytes"], told["engine"]) == ("0.0 MiB", "postgresql")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0.0 s"),
        (119.9, "119.9 s"),
        (120.0, "2.0 min"),
        (7200, "2.0 h"),
        (172_800, "2.0 days"),
        (27_624_146.8, "319.7 days"),
    ],
)
def test_a_long_time_is_reported_in_a_unit_that_people_read(seconds: float, words: str):
    (found,) = findings({"uptime_sec": seconds})

    assert found.words == words


@pytest.mark.parametrize(
    ("size", "words"),
    [(2**20, "1.0 MiB"), (2**30 - 2**20, "1023.0 MiB"), (2**30, "1.0 GiB"), (76_919_644_979, "71.6 GiB")],
)
def test_from_a_gibibyte_on_sizes_are_reported_in_gibibytes(size: int, words: str):
    (told,) = findings({"disk_bytes": size})

    assert told.words == words
