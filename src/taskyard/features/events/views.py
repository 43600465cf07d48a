"""What is answered about events: in both vocabularies, with everything that an event says in one payload."""

from __future__ import annotations

import json
from typing import Annotated, Any

from taskyard.core.changes import Event, Labels, StoredEvent
from taskyard.core.json_value import Json, compact
from taskyard.core.task import DagId, Status, TaskId
from taskyard.definition.view import About, Time, view
from taskyard.features.events.rules import wire_type

_OWN = ("status", "attempt", "version")  # what every event says beside its data


@view
class EventView:
    seq: int
    at: Time
    type: Annotated[str, About("In the words of multica: task:queued, task:dispatch, …")]
    event: Annotated[str, About("In the yard's own: task.ready, task.claimed, …")]
    task_id: TaskId | None
    dag_id: DagId | None
    workspace: str
    task_type: Annotated[str | None, About("Of the task; of a breaker, the type it stands for.")]
    agent: Annotated[str | None, About("Who held the task when it happened, or else whom the task is addressed to.")]
    subject: str | None
    payload: dict[str, Any]


def event_view(stored: StoredEvent) -> EventView:
    event, labels = stored.event, stored.labels
    own: dict[str, Json] = {
        "status": None if event.status is None else event.status.value,
        "attempt": event.attempt,
        "version": event.version,
    }
    # An event that is of no task may have a status among its data: how a graph ended.
    payload: dict[str, Json] = {
        **own,
        **(json.loads(event.data) if event.data else {}),
        **{name: value for name, value in own.items() if value is not None},
    }
    return EventView(
        stored.seq,
        event.at,
        wire_type(event),
        event.event,
        event.task_id,
        event.dag_id,
        event.workspace,
        labels.type,
        labels.agent,
        labels.subject,
        payload,
    )


def stored_event(seen: EventView) -> StoredEvent:
    """The event that the view was made from."""
    payload = dict(seen.payload)
    # A change of a task has a version; what else an event calls status is a part of its data.
    is_change = payload["version"] is not None
    version, status, attempt = payload["version"], payload["status"], payload["attempt"]
    for name in _OWN:
        if is_change or payload[name] is None or (name == "attempt" and seen.task_id is not None):
            del payload[name]
    event = Event(
        seen.event,
        seen.workspace,
        seen.task_id,
        seen.dag_id,
        seen.at,
        version,
        Status(status) if is_change and status is not None else None,
        attempt if seen.task_id is not None else None,
        compact(payload) if payload else None,
    )
    return StoredEvent(seen.seq, event, Labels(seen.task_type, seen.subject, seen.agent))
