"""Where an agent's conversation can be resumed: pinned by an attempt, kept over the next ones.

A conversation lives on the machine that held it, so only the runtime that pinned it resumes it. One that a task was put
in with names no runtime: whoever gets the task may resume it.

Where a preset resumes by subject (`Trait.RESUMES`), a record of kind `LAST` names the task that has pinned the last
session of a subject and agent; the next task of the two begins with that session.
"""

from __future__ import annotations

import json
from hashlib import sha256

from taskyard.core.changes import Record, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact
from taskyard.core.runtime import runtime_of
from taskyard.core.task import Definition, Hot, TaskId
from taskyard.definition.definition import subject_pair

LAST = "last_session"  # kind of record: {task_id}


def pinned(before: str | None, *, session_id: str | None, work_dir: str | None, runtime: str | None) -> str:
    """What is remembered from now on: what is not said stays as this runtime has said it before."""
    if session_id is None and work_dir is None:
        raise InvalidInput("session_id", "or work_dir must be given")
    known = resumable(before, runtime)
    return compact(
        {
            "session_id": known.get("session_id") if session_id is None else session_id,
            "work_dir": known.get("work_dir") if work_dir is None else work_dir,
            "runtime": runtime_of(runtime),
        }
    )


def resumable(session: str | None, runtime: str | None) -> dict[str, Json]:
    """What this runtime may go on with, in any of its processes; nothing, where another one has pinned it."""
    stored: dict[str, Json] = json.loads(session) if session else {}
    here = runtime_of(runtime)
    return stored if stored.get("runtime", here) == here else {}


def last_id(definition: Definition) -> str:
    """The id of the record that names the last task of the same subject and agent with a session."""
    return sha256((subject_pair(definition.subject, definition.agent) or "").encode()).hexdigest()


def last_task(record: Record | None) -> TaskId | None:
    return None if record is None else TaskId(str(record.body["task_id"]))


def made_last(hot: Hot, definition: Definition, record: Record | None) -> tuple[RecordChange, ...]:
    """What makes this task the last one of its subject and agent with a session; nothing where it is."""
    if last_task(record) == hot.id:
        return ()
    version = 0 if record is None else record.version
    return (RecordChange(LAST, hot.workspace, last_id(definition), version, {"task_id": hot.id}),)


def continued(hot: Hot, last: Hot | None) -> str | None:
    """The session that a claimed task begins with: the last one of its subject and agent, on the same runtime only.

    None where the task has one of its own, or where the last one was poisoned or belongs to another runtime.
    """
    if hot.session is not None or last is None:
        return None
    known = resumable(last.session, hot.runtime)
    return compact(known) if known else None
