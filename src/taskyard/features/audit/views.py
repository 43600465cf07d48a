"""What is answered about the audit log."""

from __future__ import annotations

from typing import Annotated

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.task import DagId, TaskId
from taskyard.definition.view import About, Time, view
from taskyard.features.audit.rules import AUDIT, cursor_of


@view
class AuditEntry:
    """What somebody did."""

    id: Annotated[str, About("Unique in the workspace. Later entries have greater ids.")]
    at: Time
    by: Annotated[str, About("Who did it: human:NAME, agent:NAME or link:RECIPIENT.")]
    action: Annotated[str, About("The word of the event that goes with it, such as task.cancelled.")]
    object: Annotated[str | None, About("What it was done to, as KIND:NAME. `null`: the workspace itself.")]
    task_id: TaskId | None
    dag_id: DagId | None
    facts: Annotated[dict[str, Json], About("What else the act said.")]


@view
class AuditPage:
    """Entries, newest first."""

    entries: tuple[AuditEntry, ...]
    cursor: Annotated[
        str | None,
        About("Where to go on. A page may hold fewer entries than were asked for. `null`: there are no more."),
    ]


@view
class AuditPolicy:
    """How long entries are kept."""

    days: float


def audit_entry(record: Record) -> AuditEntry:
    body = AUDIT.of(record)
    return AuditEntry(
        id=cursor_of(record),
        at=body["at"],
        by=body["by"],
        action=body["action"],
        object=body["object"],
        task_id=None if body["task_id"] is None else TaskId(body["task_id"]),
        dag_id=None if body["dag_id"] is None else DagId(body["dag_id"]),
        facts=body["facts"],
    )
