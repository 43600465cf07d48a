"""What is answered about dead letters."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.core.changes import Record
from taskyard.core.record_kinds import DEAD
from taskyard.core.task import TaskId
from taskyard.definition.view import FLAT, About, Time, view
from taskyard.features.tasks.parts import Dead
from taskyard.features.tasks.views import Details


class DeadLetter(NamedTuple):
    """A task that waits for a person, with the whole story of its failures."""

    task: Annotated[Details, FLAT]

    @property
    def dead(self) -> Dead:
        assert self.task.dead is not None, "a dead letter comes with the story of its death"
        return self.task.dead


@view
class Review:
    """A decision on a dead letter."""

    task_id: TaskId
    attempt: Annotated[int, About("The one that it died of.")]
    reason: str
    at: Time | None
    poison_pill: bool
    resolution: str | None
    reviewed_by: str | None
    reviewed_at: Time | None
    note: str | None


def review_of(record: Record) -> Review:
    body = DEAD.of(record)
    task_id, _, attempt = record.id.rpartition(".")
    return Review(
        TaskId(task_id),
        int(attempt),
        reason=body["reason"],
        at=body["at"],
        poison_pill=body["poison_pill"],
        resolution=body["resolution"],
        reviewed_by=body["reviewed_by"],
        reviewed_at=body["reviewed_at"],
        note=body["note"],
    )
