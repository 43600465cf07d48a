"""Where the fields of a task may stand, and under which other names a preset knows them.

The one table of names. What a field may hold is `fields`; nothing here looks at a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.policy import Policy
from taskyard.definition import fields
from taskyard.definition.fields import Field, Read

# What a caller may also write without its group, in every preset.
FLAT = (
    *("spec.prompt", "spec.payload", "spec.context_refs"),
    *("spec.constraints.max_cost_usd", "spec.constraints.max_duration_sec", "spec.constraints.required_capabilities"),
    *("spec.constraints.model_preferences", "spec.constraints.fallback_models"),
)

# preset -> its name -> ours
ALIASES: Mapping[str, Mapping[str, str]] = {
    "factory": {
        "heartbeat_interval_sec": "timeouts.heartbeat_sec",
        "claim.heartbeat_interval_sec": "timeouts.heartbeat_sec",
        "timeouts.heartbeat_interval_sec": "timeouts.heartbeat_sec",
    },
    "loki": {
        "dependencies": "depends_on",
        "maxRetries": "max_attempts",  # the task is dead when so many have failed: they are attempts
        "backoffSeconds": "retry.initial_delay_sec",
        "timeout": "timeouts.lease_sec",  # how long a claim is good for
        "availableAt": "run_after",
    },
    "multica": {
        "workspace_id": "workspace",
        "agent_id": "agent",
        "issue_id": "subject",
        "trigger_type": "trigger.type",
        "trigger_comment_id": "trigger.ref",
        "trigger_summary": "trigger.summary",
        "session_id": "session.session_id",
        "work_dir": "session.work_dir",
        "force_fresh_session": "session.fresh",
    },
    "ade": {
        "kind": "type",
        "agentId": "agent",
        "description": "title",
        "model": "spec.constraints.model_preferences",
        "runAfter": "run_after",
        "backoffMultiplier": "retry.backoff_multiplier",
        "maxBackoffMs": "retry.max_delay_sec",
        "isCoalescable": "coalescable",
        "parentTaskId": "parent_id",
    },
    "automechanica": {
        "workflow_id": "dag_id",
        "agent_name": "agent",
        "task_type": "type",
        "available_at": "run_after",
    },
}

# These write every name of ours in camelCase too: maxAttempts, idempotencyKey, retry.maxDelaySec.
CAMEL_CASE = frozenset({"loki", "ade"})


def _issue(value: Any, path: str) -> str | None:
    return None if value is None else "issue:" + fields.name(value, path, most=249)


def _one_model(value: Any, path: str) -> tuple[str, ...]:
    return () if value is None else fields.names([value], path, most=1, longest=255)


# Where a preset's name also means another unit or shape.
_READ_OTHERWISE: Mapping[tuple[str, str], Read] = {
    ("multica", "issue_id"): _issue,
    ("ade", "model"): _one_model,
    ("ade", "runAfter"): fields.optional(fields.milliseconds),
    ("ade", "maxBackoffMs"): fields.delay_in_milliseconds,
}

# What a task shows and nobody gives.
KEPT = (
    *("status", "state", "attempts", "claim", "version", "blocked_by", "retry_at", "failure", "dead", "cancelled"),
    *("cost_usd", "tokens_used", "created_at", "started_at", "completed_at", "updated_at", "history", "inputs"),
    *("previous_attempts", "lease", "progress", "seq", "attempt", "preset", "wake_at", "worker", "session.runtime"),
    *("output.data", "output.artifacts", "output.decision_report", "output.attempt"),
)
_KEPT_BY_PRESET: Mapping[str, tuple[str, ...]] = {
    "factory": ("claim.agent_id", "claim.claimed_at", "claim.heartbeat_at"),
    "loki": (
        *("createdAt", "claimedBy", "claimedAt", "retries", "lastError", "completedAt", "result"),
        *("cancelledAt", "cancelReason"),
    ),
    "multica": ("failure_reason", "claimed_at", "parent_task_id"),
    "ade": ("createdAt", "enqueuedAt", "startedAt", "completedAt", "workerId", "attemptCount", "error", "result"),
    "automechanica": ("lease_owner", "lease_expires_at", "error_info"),
}


class Leaf(NamedTuple):
    path: str  # as the caller writes it: an error names the field in the caller's words
    attribute: str
    read: Read


class Kept(NamedTuple):
    path: str


class Group(NamedTuple):
    path: str
    names: dict[str, Leaf | Kept | Group]

    def gather(self, given: Any, into: dict[str, Any]) -> None:
        """Read what was given into the attributes it is for."""
        if not issubclass(given.__class__, Mapping):
            raise InvalidInput(self.path or "task", "must be an object")
        names = self.names
        for name, value in given.items():
            node = names.get(name)
            if type(node) is Leaf:
                path, attribute, read = node
                if attribute in into:
                    raise InvalidInput(path, "must not be given twice, also not under another name")
                into[attribute] = read(value, path)
            elif type(node) is Group:
                node.gather(value, into)
            else:
                raise self._refusal(name, node)

    def _refusal(self, name: object, node: object) -> InvalidInput:
        if isinstance(node, Kept):
            return InvalidInput(node.path, "is kept by the system")
        # A stranger's name may be of any length and hold what cannot be printed or sent.
        shown = ascii(name)[1:-1] if isinstance(name, str) else ascii(name)
        near = get_close_matches(shown, self.names, n=1) if len(shown) <= 50 else []
        hint = f"; {self._inside(near[0])} is" if near else ""
        return InvalidInput(self._inside(shown[:100]), f"is not a field of a task{hint}")

    def _inside(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def tree(policy: Policy) -> Group:
    """Every name that the preset takes, as nested as a task is."""
    root = Group("", {})
    for path in (*KEPT, *_KEPT_BY_PRESET.get(policy.name, ())):
        _plant(root, path, Kept(path))
    for path, field in _places(policy):
        _plant(root, path, Leaf(path, *field))
    return root


def _places(policy: Policy) -> Iterator[tuple[str, Field]]:
    known = fields.fields(policy)
    places = {**{path: path for path in known}, **{path.rpartition(".")[2]: path for path in FLAT}}
    if policy.name in CAMEL_CASE:
        places = {**{_camel(place): path for place, path in places.items()}, **places}
    for place, path in {**places, **ALIASES.get(policy.name, {})}.items():
        attribute, read = known[path]
        yield place, Field(attribute, _READ_OTHERWISE.get((policy.name, place), read))


def _camel(path: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), path)


def _plant(root: Group, path: str, node: Leaf | Kept) -> None:
    *groups, name = path.split(".")
    here = root
    for depth, group in enumerate(groups, 1):
        below = here.names.get(group)
        if not isinstance(below, Group):  # a field that is kept as a whole, unless the preset lets a part be given
            below = here.names[group] = Group(".".join(groups[:depth]), {})
        here = below
    here.names[name] = node
