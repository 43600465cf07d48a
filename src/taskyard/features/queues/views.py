"""What is answered about queues, and about what is slowed down."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.definition.view import About, Time


class QueueView(NamedTuple):
    queue: str
    paused: bool
    preset: str
    ready: Annotated[int, About("Tasks that may be claimed.")] = 0
    report_required: Annotated[bool, About("Its new tasks are completed only with a decision report.")] = False


class ThrottleView(NamedTuple):
    """A scope that is slowed down after a provider's rate limit."""

    type: str
    model: str | None
    until: Time
