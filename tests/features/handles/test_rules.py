"""Which death of a task ends a handle, as a pure rule."""

import pytest

from taskyard.core.changes import Record
from taskyard.core.units import Micros
from taskyard.features.handles.rules import Death, death_since, record_id


def dead(at: int, resolution: str | None, reviewed_at: int | None) -> Record:
    body = {"at": at, "reason": "crash", "resolution": resolution, "reviewed_at": reviewed_at}
    return Record("dead", "default", f"task.{at}", 1, dict(body))


@pytest.mark.parametrize(
    ("records", "died_at"),
    [
        ([], None),
        ([dead(5, None, None)], None),
        ([dead(5, "escalate", 6)], None),
        ([dead(5, "cancel", 6)], None),
        ([dead(5, "retry", 6)], 5),
        ([dead(5, "modify_and_retry", 6)], 5),
        ([dead(1, "retry", 2)], None),  # decided before the handle was made
        ([dead(7, "retry", 8), dead(5, "retry", 6)], 5),
    ],
)
def test_a_handle_ends_with_the_first_death_that_was_followed_by_another_life(records: list[Record], died_at: int):
    assert death_since(records, Micros(3)) == (None if died_at is None else Death(Micros(died_at), "crash"))


def test_handles_of_two_workspaces_never_meet():
    assert record_id("a", "x") != record_id("b", "x")
