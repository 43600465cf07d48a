"""The words for events: the yard's own, and those of seed 002 that go with them on the wire."""

from __future__ import annotations

from taskyard.core.changes import Event
from taskyard.core.task import Status

_WIRE = {
    "task.created": "task:queued",
    "task.ready": "task:queued",
    "task.released": "task:queued",
    "task.revived": "task:queued",
    "task.claimed": "task:dispatch",
    "task.running": "task:running",
    "task.validating": "task:running",
    "task.completed": "task:completed",
    "task.retrying": "task:failed",
    "task.dead_lettered": "task:failed",
    "task.cancelled": "task:cancelled",
    "task.session": "task:message",
    "task.step": "task:progress",
}


def wire_type(event: Event) -> str:
    """The word that a client of seed 002 knows it by; others keep the yard's, in that seed's spelling."""
    if event.event == "task.created" and event.status is Status.PENDING:
        return "task:pending"
    return _WIRE.get(event.event, event.event.replace(".", ":", 1))
