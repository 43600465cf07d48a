"""Runtimes and their incarnations: the machine that hosts agents, and each process that has run on it.

A runtime keeps its name over restarts. An incarnation is one process of it, with a random name of its own. Rows carry
both in one text, `RUNTIME/INCARNATION`; a daemon that is the only process of its runtime has no incarnation. Only this
module makes that text and takes it apart.
"""

from __future__ import annotations

import re

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.task import RuntimeId

INCARNATION = r"[0-9a-f]{16}"
_INCARNATION = re.compile(INCARNATION)
_PROCESS = re.compile(rf"(.+)/({INCARNATION})", re.DOTALL)


def process_of(runtime: str, incarnation: str | None) -> RuntimeId:
    """The text under which one process of a runtime holds tasks."""
    if _PROCESS.fullmatch(runtime):
        raise InvalidInput("runtime_id", "must not end in the name of an incarnation: `incarnation` is for that")
    if incarnation is None:
        return RuntimeId(runtime)
    if not _INCARNATION.fullmatch(incarnation):
        raise InvalidInput("incarnation", "must be 16 lower-case hexadecimal digits")
    return RuntimeId(f"{runtime}/{incarnation}")


def process_named(runtime: str | None, incarnation: str | None) -> RuntimeId | None:
    """The same of names that a yard has shown."""
    return None if runtime is None else RuntimeId(f"{runtime}/{incarnation}" if incarnation else runtime)


def runtime_of(process: str | None) -> RuntimeId | None:
    """The runtime that a process belongs to."""
    if process is None:
        return None
    found = _PROCESS.fullmatch(process)
    return RuntimeId(process if found is None else found[1])


def incarnation_of(process: str | None) -> str | None:
    """Which process of its runtime it is, where the runtime may have several."""
    found = None if process is None else _PROCESS.fullmatch(process)
    return None if found is None else found[2]


def named(process: str | None) -> dict[str, Json]:
    """What an event says of the process that claimed a task."""
    parts: dict[str, Json] = {"runtime": runtime_of(process), "incarnation": incarnation_of(process)}
    return {name: part for name, part in parts.items() if part}
