"""A task as a queue file has it, and the same task in the words of a yard. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from typing import Any

from taskyard.core.errors import CycleFound, InvalidInput
from taskyard.core.json_value import Json, compact
from taskyard.integrations.loki.queue_files import Document, QueuedTask

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's
_TASK_ID = re.compile(r"task_[0-7][0-9A-HJKMNP-TV-Z]{25}", re.ASCII)
_GIVEN = ("type", "priority", "payload", "idempotencyKey", "timeout", "maxRetries")
_UNREPORTED: Document = {"note": "the queue file had no decision report"}


def task_id_of(workspace: str, loki_id: str) -> str:
    """The id of the task in the yard: always the same one for an id of a file."""
    if _TASK_ID.fullmatch(loki_id):
        return loki_id
    number = int.from_bytes(sha256(compact([workspace, loki_id]).encode()).digest()[:16])
    return "task_" + "".join(_DIGITS[number >> 5 * place & 31] for place in reversed(range(26)))


def enqueue_fields(document: Document, task_id: str, depends_on: Iterable[str]) -> dict[str, Any]:
    """What a producer may give of the task, in the words of the preset."""
    fields: dict[str, Any] = {name: document[name] for name in _GIVEN if document.get(name) is not None}
    if (base := _first_backoff(document)) is not None:
        fields["backoffSeconds"] = base
    if not count(document, "retries") and isinstance(document.get("availableAt"), str):
        fields["availableAt"] = document["availableAt"]
    return {**fields, "id": task_id, "dependencies": [*depends_on]}


def _first_backoff(document: Document) -> int | None:
    """What the task began with: each failure multiplies the field, and a yard works the wait out from the first."""
    given, retries = document.get("backoffSeconds"), count(document, "retries")
    if not isinstance(given, int) or isinstance(given, bool):
        return None
    factor = 2 ** (retries * (retries - 1) // 2) if retries < 12 else 0
    return given // factor if factor and given % factor == 0 else given


def count(document: Document, name: str) -> int:
    value = document.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def text(document: Document, name: str) -> str | None:
    value = document.get(name)
    return value if isinstance(value, str) and value else None


def dependencies(document: Document) -> list[str]:
    listed = document.get("dependencies") or []
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise InvalidInput(f"{document['id']}: dependencies", "must be a list of ids")
    return [str(each) for each in listed]


def in_order(tasks: Mapping[str, QueuedTask]) -> list[str]:
    """The ids, each behind those that it depends on."""
    graph = {each: [one for one in dependencies(task.document) if one in tasks] for each, task in tasks.items()}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as cycle:
        raise CycleFound(cycle.args[1]) from None


def output_of(document: Document) -> tuple[Json, Json]:
    """What was handed in, and its decision report."""
    result = document.get("result")
    if not isinstance(result, dict):
        return result, _UNREPORTED
    output = {name: value for name, value in result.items() if name != "decisionReport"}
    return output, result.get("decisionReport") or None


def result_of(output: Mapping[str, Any] | None) -> Json:
    if output is None:
        return None
    data: Json = output["data"]
    report: Json = output.get("decision_report")
    shown: Document = data if isinstance(data, dict) and "status" in data else {"status": "success", "output": data}
    return {**shown, "decisionReport": report}


def document_of(shown: Mapping[str, Any], loki_id: str, extra: Document, loki_id_of: Callable[[str], str]) -> Document:
    """The task as the file is to have it; `shown` is the task's own document."""
    claim, failure, cancelled = shown["claim"], shown["failure"], shown["cancelled"]
    document: Document = {
        "id": loki_id,
        "idempotencyKey": shown["idempotency_key"],
        "type": shown["type"],
        "priority": shown["priority"],
        "dependencies": [loki_id_of(each) for each in shown["depends_on"]],
        "payload": shown["spec"]["payload"],
        "createdAt": extra.get("createdAt") or shown["created_at"],
        "claimedBy": None if claim is None else claim["agent_id"],
        "claimedAt": None if claim is None else claim["claimed_at"],
        "timeout": shown["timeouts"]["lease_sec"],
        "retries": shown["attempts"],
        "maxRetries": shown["max_attempts"],
        "backoffSeconds": shown["retry"]["initial_delay_sec"],
        "lastError": None if failure is None else failure["error"],
        "completedAt": shown["completed_at"],
        "result": result_of(shown["output"]),
    }
    if cancelled is not None:
        document |= {"cancelledAt": cancelled["at"], "cancelReason": cancelled["reason"]}
    return {**extra, **document}


def extra_of(document: Document) -> Document:
    """What a file has of a task that a yard has no field for; and when the task was made."""
    return {name: value for name, value in document.items() if name not in _KNOWN}


_KNOWN = frozenset(
    {
        *("id", "idempotencyKey", "type", "priority", "dependencies", "payload", "claimedBy", "claimedAt", "timeout"),
        *("retries", "maxRetries", "backoffSeconds", "lastError", "completedAt", "result", "cancelledAt"),
        *("cancelReason", "availableAt"),
    }
)
