"""In which table a store with separate tables for what moves keeps the row that guards a task.

Every task has a row in `task`. A ready task has one in `ready` as well, a held or validating task one in `held`.
Whoever changes a task locks and checks the row that its status names, and no other.
"""

from __future__ import annotations

from enum import StrEnum

from taskyard.core.task import KEY_HELD, LET_GO, Status


class Place(StrEnum):
    TASK = "task"
    READY = "ready"
    HELD = "held"


PLACES = {
    status: Place.READY if status is Status.READY else Place.HELD if status in KEY_HELD else Place.TASK
    for status in Status
}

# The fields of `core.task.Hot` that only `held` has: they are blank in the rows of all other tasks.
HELD_ONLY = tuple(LET_GO)
# The fields that `held` has too. While the row is there, `task` may say something older.
HELD_TOO = ("status", "version", "attempt", "agent", "runtime", "started_at", "due_at", "updated_at")
