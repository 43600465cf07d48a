"""What is answered about handles."""

from __future__ import annotations

from typing import Annotated

from taskyard.core.task import TaskId
from taskyard.definition.view import About, Length, Time, view


@view
class HandleView:
    """A random name of a task."""

    handle: str
    task_id: TaskId
    created_at: Time
    kept: Annotated[Length, About("How long the task is kept after its end, and its handles with it.")]
    died_at: Annotated[
        Time | None, About("The task died then and was tried again: for this handle it has ended, as a dead letter.")
    ]
    died_of: str | None
