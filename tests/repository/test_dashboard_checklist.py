"""The check list of the dashboard has its nineteen points, and each names tests that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
ROWS = [
    line
    for line in (ROOT / "docs/guides/dashboard-checklist.md").read_text().splitlines()
    if re.match(r"\| \d+ \|", line)
]


def test_the_list_has_nineteen_points_each_with_a_test():
    assert [int(row.split("|")[1]) for row in ROWS] == list(range(1, 20))
    assert all(_named(row) for row in ROWS)


def test_every_test_that_the_list_names_is_there():
    missing = [f"{file}::{test}" for row in ROWS for file, test in _named(row) if not _is_there(file, test)]

    assert missing == []


def _named(row: str) -> list[tuple[str, str]]:
    return re.findall(r"`(test_\w+\.py)::(test_\w+)`", row)


def _is_there(file: str, test: str) -> bool:
    path = ROOT / "tests/dashboard" / file
    return path.is_file() and f"\ndef {test}(" in path.read_text()
