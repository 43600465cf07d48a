"""Where an agent's conversation can be resumed: pinned by an attempt, kept over the next ones.

A conversation lives on the machine that held it, so only the runtime that pinned it resumes it. One that a task was put
in with names no runtime: whoever gets the task may resume it.
"""

from __future__ import annotations

import json
from typing import cast

from taskyard.core.errors import InvalidInput
from taskyard.core.jsonvalue import compact
from taskyard.core.runtime import runtime_of
from taskyard.core.task import Json


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
    stored, here = cast(dict[str, Json], json.loads(session)) if session else {}, runtime_of(runtime)
    return stored if stored.get("runtime", here) == here else {}
