"""Which copies belong to an export of one workspace, or of all, with or without what is secret."""

from __future__ import annotations

from taskyard.core.changes import Limit, Record, StoredEvent
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import decode
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.stores.copies import (
    Copy,
    CounterCopy,
    DutyCopy,
    OutboxCopy,
    PrunedEvents,
    PulseCopy,
    TaskCopy,
    YardSecret,
)

_EVERYBODYS = frozenset({EVERYWHERE, ""})  # where records are that all workspaces share
_SECRET = frozenset({"token", "session"})  # the kinds of records that prove who somebody is


class ExportShare:
    """Is shown each copy in turn, because the history of a task goes with it."""

    def __init__(self, workspace: str | None, with_secrets: bool) -> None:
        self._workspace = workspace
        self._with_secrets = with_secrets
        self._has_task = False

    def has(self, copy: Copy) -> bool:
        if not self._with_secrets and (isinstance(copy, YardSecret) or _is_secret(copy)):
            return False
        if self._workspace is None or isinstance(copy, YardSecret | DutyCopy):
            return True
        if isinstance(copy, TaskCopy):
            self._has_task = copy.hot.workspace == self._workspace
        elif isinstance(copy, Record) and copy.workspace in _EVERYBODYS:
            return copy.body.get("workspace", self._workspace) == self._workspace
        elif (workspace := workspace_of(copy)) is not None:
            return workspace == self._workspace
        return self._has_task


def pulse_workspace(name: str) -> str:
    """The workspace of the agent or runtime that was heard of under this name: see `ledger.pulse`."""
    named = decode(name.partition(":")[2], field=f"pulse {name}")
    if not isinstance(named, list) or not named or not isinstance(named[0], str):
        raise InvalidInput(f"pulse {name}", "must name a workspace and who was heard of")
    return named[0]


def _is_secret(copy: Copy) -> bool:
    return isinstance(copy, Record) and copy.kind in _SECRET


def workspace_of(copy: Copy) -> str | None:
    """The workspace of a copy; None where it has none of its own, or that of its task."""
    match copy:
        case Record():
            return None if copy.workspace in _EVERYBODYS else copy.workspace
        case Limit() | CounterCopy() | PrunedEvents():
            return copy.workspace
        case PulseCopy():
            return pulse_workspace(copy.name)
        case TaskCopy():
            return copy.hot.workspace
        case StoredEvent():
            return copy.event.workspace
        case OutboxCopy():
            return copy.outbox.workspace
        case _:
            return None
