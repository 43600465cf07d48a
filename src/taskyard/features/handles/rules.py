"""Handles: random names for tasks, to be given to others in place of ids, which are in order and can be guessed.

A protocol whose tasks cannot come back from their end has one handle for each life of a task: one that died and is
tried again by a person has ended for every handle that is older than that decision.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypedDict

from taskyard.core.changes import Record
from taskyard.core.record_kinds import DEAD, RecordKind
from taskyard.core.units import Micros

KIND = "handle"


class HandleBody(TypedDict):
    task_id: str
    at: Micros
    workspace: str


HANDLE = RecordKind(KIND, HandleBody)
RANDOM_BYTES = 24
REVIVED = frozenset({"retry", "modify_and_retry"})


class Death(NamedTuple):
    """How a task became a dead letter that a person has let come back since."""

    at: Micros
    reason: str


def record_id(workspace: str, handle: str) -> str:
    """Handles of one workspace are out of reach for every other: they are not even asked about."""
    return f"{workspace}/{handle}"


def death_since(dead: Iterable[Record], since: Micros) -> Death | None:
    """The first of these deaths that was followed by another life after that moment."""
    lived_on = [
        each for each in map(DEAD.of, dead) if each["resolution"] in REVIVED and (each["reviewed_at"] or 0) >= since
    ]
    deaths = sorted(Death(each["at"], each["reason"]) for each in lived_on)
    return deaths[0] if deaths else None
