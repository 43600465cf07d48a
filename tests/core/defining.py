"""Requests for tasks that say much or little, and what they are made into."""

from datetime import datetime, timedelta, timezone
from typing import Any

from taskyard.core.policy import PRESETS, Policy
from taskyard.core.task import DagId, Definition, TaskId
from taskyard.core.units import HOUR, from_iso
from taskyard.definition.definition import Sizes, define
from tests.core.hostile import ID

NOW = from_iso("2026-11-15T02:37:00Z")
MINE = TaskId("task_01J8K2M00000000000000000AA")
DAG = DagId("dag_01J8K2M00000000000000000DD")


def defined(
    raw: Any, preset: str = "standard", *, policy: Policy | None = None, dag: DagId | None = None, **sizes: int
) -> Definition:
    return define(
        raw,
        task_id=MINE,
        workspace="default",
        dag_id=dag,
        created_by="human:adam",
        now=NOW,
        policy=policy or PRESETS[preset],
        sizes=Sizes(**sizes),
    )


PAIR = {"subject": "issue:42", "agent": "coder"}

# Says everything that a task can say.
FULL: dict[str, Any] = {
    "parent_id": "task_01J8K2M00000000000000000BB",
    "rerun_of": "task_01J8K2M00000000000000000CC",
    "idempotency_key": "pr-123-lint",
    "queue": "fast",
    "type": "code",
    "title": "Fix auth middleware",
    "agent": "coder",
    "subject": "pr:9",
    "spec": {
        "prompt": "Fix it",
        "payload": {"b": 1, "a": [None, "ü"]},
        "context_refs": ["artifact:abc", "task:xyz:output"],
        "version": 3,
        "constraints": {
            "max_cost_usd": "0.50",
            "max_duration_sec": 300,
            "required_capabilities": ["web-search", "git", "git"],
            "model_preferences": ["large", "middle"],
            "fallback_models": ["small"],
        },
    },
    "priority": 20,
    "priority_boost_per_minute": 0.25,
    "deadline": "2026-11-15T12:00:00+02:00",
    "run_after": datetime(2026, 11, 15, 4, tzinfo=timezone(timedelta(hours=1))),
    "expires_at": NOW + HOUR,
    "depends_on": [ID, "task_01J8K2M00000000000000000BB", ID],
    "concurrency_key": "repo:myapp",
    "coalescable": False,
    "remember": True,
    "variant": "b",
    "callback": "https://example.org/ended",
    "service": "batch",
    "max_attempts": 5,
    "retry": {
        "strategy": "quadratic",
        "initial_delay_sec": 0.5,
        "backoff_multiplier": 3,
        "max_delay_sec": 60,
        "jitter": 0.2,
        "retry_on": ["timeout", "crash"],
        "no_retry_on": [],
    },
    "timeouts": {"claim_ttl_sec": 10, "heartbeat_sec": 20, "lease_sec": 40},
    "output": {"type": "markdown", "validation": "json-schema", "validation_schema": {"type": "object"}},
    "session": {"session_id": "s1", "work_dir": "/srv/page", "fresh": False},
    "trigger": {"type": "mention", "ref": "comment:5", "summary": "please"},
    "tags": ["repo:myapp", "sprint:12", "repo:myapp"],
}
