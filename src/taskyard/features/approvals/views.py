"""What is answered about tasks that wait for somebody's word."""

from __future__ import annotations

from typing import NamedTuple

from taskyard.definition.view import Time
from taskyard.features.tasks.views import Task


class Approval(NamedTuple):
    """A task that waits for a signal: an approval, an answer."""

    task: Task
    signal: str
    since: Time
    until: Time | None
