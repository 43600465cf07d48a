"""The format of DAG files, as a JSON Schema."""

from __future__ import annotations

from taskyard.core.json_value import Json

_TEXTS: dict[str, Json] = {"type": "array", "items": {"type": "string"}}
_TIME: Json = {"type": "string", "format": "date-time", "description": "ISO 8601 with an offset or Z"}
_TASK: dict[str, Json] = {
    "type": "object",
    "required": ["type"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 1, "description": "What other tasks of the file call it"},
        "id": {"type": "string", "description": "Minted by the caller: makes a repeated call harmless"},
        "type": {"type": "string", "minLength": 1},
        "title": {"type": "string"},
        "queue": {"type": "string"},
        "agent": {"type": "string", "description": "Addressed to one agent, by id or type"},
        "subject": {"type": "string"},
        "prompt": {"type": "string"},
        "payload": {},
        "spec": {"type": "object"},
        "context_refs": _TEXTS,
        "required_capabilities": _TEXTS,
        "model_preferences": _TEXTS,
        "fallback_models": _TEXTS,
        "max_cost_usd": {"type": ["number", "string"]},
        "max_duration_sec": {"type": "integer", "minimum": 1},
        "priority": {"type": "integer"},
        "priority_boost_per_minute": {"type": "number", "minimum": 0},
        "deadline": _TIME,
        "run_after": _TIME,
        "expires_at": _TIME,
        "depends_on": {**_TEXTS, "description": "Names of tasks of this file, or ids of any tasks of the workspace"},
        "concurrency_key": {"type": "string"},
        "coalescable": {"type": "boolean"},
        "max_attempts": {"type": "integer", "minimum": 1},
        "retry": {"type": "object"},
        "timeouts": {"type": "object"},
        "output": {"type": "object"},
        "session": {"type": "object"},
        "trigger": {"type": "object"},
        "tags": _TEXTS,
        "remember": {"type": "boolean"},
        "idempotency_key": {"type": "string"},
        "dedup": {"type": "string"},
    },
}

SCHEMA: dict[str, Json] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Taskyard DAG",
    "type": "object",
    "required": ["tasks"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "tags": _TEXTS,
        "budget_ceiling_usd": {"type": ["number", "string"]},
        "inbox": {"type": "object", "description": "The inbox that gets items about it: agent, conversation, about"},
        "tasks": {"type": "array", "minItems": 1, "maxItems": 10_000, "items": _TASK},
    },
}
