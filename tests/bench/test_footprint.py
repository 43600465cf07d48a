"""What stored tasks take is measured by the sizes that a store itself says."""

from pathlib import Path

import pytest

from bench.footprint import AT_ONCE, Footprint, measure, per_task, stored_bytes, table


async def test_a_task_takes_at_least_its_payload_and_more_when_it_has_a_history(tmp_path: Path) -> None:
    found = await measure(f"sqlite:///{tmp_path / 'yard.db'}", AT_ONCE)

    assert 200 < found.waiting < found.ended < 5_000
    assert found.connections is None  # a file has none


def test_the_size_of_the_empty_yard_is_not_that_of_tasks() -> None:
    assert per_task(1_000, 3_000, 6_000, 10) == (200, 500)


def test_a_store_that_says_no_size_is_refused() -> None:
    with pytest.raises(AssertionError, match="this one says"):
        stored_bytes({"connections": 3})


def test_the_table_has_a_row_for_each_store() -> None:
    rows = table({"SQLite": Footprint(646.6, 934, None), "Redis": Footprint(1_000, 2_000, 2)}).splitlines()

    assert rows[2:] == ["| SQLite | 647 | 934 | none |", "| Redis | 1,000 | 2,000 | 2 |"]
