"""Subagents of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.client.transport.body import draft
from taskyard.client.transport.call_encoding import Arguments, minted
from taskyard.features.subagents.service import Subagents
from taskyard.ledger.tracing import continued, enqueue_span

_with_task_id = minted("task_id", "task")


def _traced(given: Arguments) -> Arguments:
    """The further fields of a subagent's task carry the trace too."""
    fields: Arguments = given["fields"] or {}
    with enqueue_span([{"type": given["type"], **fields}]):
        return {**given, "fields": continued(draft(fields))}


def _started(given: Arguments) -> Arguments:
    return _with_task_id(_traced(given))


class RemoteSubagents(Remote, Subagents):
    start = over_http(Subagents.start, calls.START_SUBAGENT, prepare=_started)
    spawn = over_http(Subagents.spawn, calls.SPAWN_SUBAGENT, prepare=_traced)
    list = over_http(Subagents.list, calls.SUBAGENTS)
    get = over_http(Subagents.get, calls.SUBAGENT)
    transcript = over_http(Subagents.transcript, calls.TRANSCRIPT)
