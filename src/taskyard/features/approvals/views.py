"""What is answered about tasks that wait for somebody's word."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.definition.view import About, Time
from taskyard.features.tasks.views import Task


class Approval(NamedTuple):
    """A task that waits for a signal: an approval, an answer."""

    task: Task
    signal: str
    since: Time
    until: Time | None
    wait: Annotated[int, About("The number of the wait: no other wait of the task has it.")] = 0
