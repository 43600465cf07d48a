"""A task as its readers see it: the names of docs/reference/task.md, decoded only when asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from taskyard.core.changes import Blocker, Output, Record
from taskyard.core.identifiers import BlockerKind, blocker_name, task_blocker
from taskyard.core.json_value import Json, value_of
from taskyard.core.lease import Lease
from taskyard.core.outcomes import is_current
from taskyard.core.policy import Policy, policy_of
from taskyard.core.priority import RANK_UNIT
from taskyard.core.runtime import incarnation_of, runtime_of
from taskyard.core.task import Attempt, Definition, Hot, Outcome, Status, TaskId, dag_of
from taskyard.core.units import Micros, MicroUsd, to_iso, to_usd
from taskyard.definition.definition import models_for


class Task:
    """A task, as it was when it was read."""

    __slots__ = ("created", "definition", "hot")

    def __init__(self, hot: Hot, definition: Definition, *, created: bool = False) -> None:
        self.hot = hot
        self.definition = definition
        self.created = created  # whether this very call made it

    @property
    def id(self) -> TaskId:
        """`task_` and a ULID."""
        return self.hot.id

    @property
    def policy(self) -> Policy:
        """The preset in whose words and numbers the task is shown: the one that it was put in under."""
        return policy_of(self.definition)

    @property
    def status(self) -> Status:
        """Where the task stands."""
        return self.hot.status

    @property
    def type(self) -> str:
        """What kind of work it is."""
        return self.definition.type

    @property
    def agent(self) -> str | None:
        """Who holds the task or had it last when it ended; else whom it is for."""
        has_worker = self.status.is_held or self.status.is_final
        return (self.hot.agent if has_worker else None) or self.definition.agent

    @property
    def prompt(self) -> str:
        """The text that was asked."""
        return self.definition.prompt

    @property
    def payload(self) -> Any:
        """The JSON value that was handed in."""
        return value_of(self.definition.payload)

    @property
    def dag_id(self) -> str:
        """The graph that it belongs to; of a lone task, one of its own."""
        return dag_of(self.hot)

    @property
    def models(self) -> tuple[str, ...]:
        """The models to use, best first: the fallbacks from the second failure on."""
        return models_for(self.definition, self.hot.failures)

    def to_dict(self) -> dict[str, Json]:
        """What is known of the task without its history, under the names of the reference page of a task."""
        hot, spec = self.hot, self.definition
        return {
            "id": hot.id,
            "workspace": hot.workspace,
            "dag_id": self.dag_id,
            "parent_id": spec.parent_id,
            "rerun_of": spec.rerun_of,
            "idempotency_key": spec.idempotency_key,
            "queue": spec.queue,
            "preset": spec.preset,
            "type": spec.type,
            "title": spec.title,
            "agent": spec.agent,
            "subject": spec.subject,
            "spec": spec_of(spec, self.models),
            "priority": self.policy.priority.outward(spec.priority),
            "priority_boost_per_minute": spec.boost / 100,
            "deadline": _time(spec.deadline),
            "run_after": _time(spec.run_after),
            "expires_at": _time(spec.expires_at),
            "depends_on": list[Json](spec.depends_on),
            "concurrency_key": spec.concurrency_key,
            "coalescable": spec.coalescable,
            "status": hot.status.value,
            "state": self.policy.words[hot.status],
            "attempt": hot.attempt,
            "claim": _claim(hot),
            "attempts": hot.failures,
            "max_attempts": hot.max_attempts,
            "retry": _retry(spec),
            "retry_at": _time(hot.wake_at) if hot.status is Status.RETRYING else None,
            "wake_at": _time(hot.wake_at),
            "timeouts": {
                "claim_ttl_sec": spec.claim_ttl_sec,
                "heartbeat_sec": spec.heartbeat_sec,
                "lease_sec": spec.lease_sec,
            },
            "session": self._session(),
            "trigger": {"type": spec.trigger_type, "ref": spec.trigger_ref, "summary": spec.trigger_summary},
            "cancelled": {"at": to_iso(hot.updated_at), "reason": hot.why} if hot.status is Status.CANCELLED else None,
            "tags": list[Json](spec.tags),
            "trace": spec.trace,
            "created_at": to_iso(spec.created_at),
            "created_by": spec.created_by,
            "started_at": _time(hot.started_at),
            "completed_at": to_iso(hot.updated_at) if hot.status is Status.COMPLETED else None,
            "updated_at": to_iso(hot.updated_at),
            "version": hot.version,
            "seq": hot.seq,
        }

    def _session(self) -> dict[str, Json]:
        pinned = cast(dict[str, Json], json.loads(self.hot.session)) if self.hot.session else {}
        return {
            "session_id": pinned.get("session_id"),
            "work_dir": pinned.get("work_dir"),
            "runtime": pinned.get("runtime"),
            "fresh": self.definition.fresh,
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.type} {self.status.value}>"


class Held(Task):
    """A task that was just claimed, with the lease to finish it."""

    __slots__ = ("lease",)

    def __init__(self, hot: Hot, definition: Definition, lease: Lease) -> None:
        super().__init__(hot, definition)
        self.lease = lease

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self.hot.attempt

    def to_dict(self) -> dict[str, Json]:
        return {**super().to_dict(), "lease": self.lease}


class Details(Task):
    """A task with everything that is known of it."""

    __slots__ = ("attempts", "blockers", "dead", "output")

    def __init__(
        self,
        hot: Hot,
        definition: Definition,
        *,
        attempts: Sequence[Attempt],
        blockers: Sequence[Blocker],
        output: Output | None,
        dead: Record | None,
    ) -> None:
        super().__init__(hot, definition)
        self.attempts = attempts
        self.blockers = blockers
        self.output = output
        self.dead = dead

    @property
    def cost(self) -> MicroUsd:
        """All attempts together, the one under way included."""
        under_way = self.hot.spent if self.hot.status.is_held else 0
        return MicroUsd(sum(attempt.cost for attempt in self.attempts) + under_way)

    @property
    def result(self) -> Any:
        """The output; None where there is none yet."""
        return None if self.output is None else json.loads(self.output.data)

    def to_dict(self) -> dict[str, Json]:
        """The task in the shape of its reference page, with its history."""
        return {
            **super().to_dict(),
            "blocked_by": [_blocked_by(blocker) for blocker in self.blockers],
            "output": self._output(),
            "failure": self._failure(),
            "dead": None if self.dead is None or not is_current(self.dead, self.hot) else _dead(self.dead),
            "cost_usd": to_usd(self.cost),
            "tokens_used": self._tokens(),
            "history": [attempt_view(attempt) for attempt in self.attempts],
        }

    def _tokens(self) -> dict[str, Json]:
        held = self.hot.status.is_held
        return {
            "input": sum(attempt.tokens_in for attempt in self.attempts) + (self.hot.tokens_in if held else 0),
            "output": sum(attempt.tokens_out for attempt in self.attempts) + (self.hot.tokens_out if held else 0),
        }

    def _output(self) -> dict[str, Json]:
        spec, output = self.definition, self.output
        return {
            "type": spec.output_type,
            "validation": spec.validation.value,
            "validation_schema": spec.validation_schema,
            "data": self.result,
            "attempt": None if output is None else output.attempt,
            "artifacts": [] if output is None else list[Json](output.artifacts),
            "decision_report": json.loads(output.decision_report) if output and output.decision_report else None,
        }

    def _failure(self) -> dict[str, Json] | None:
        failed = [attempt for attempt in self.attempts if attempt.outcome is Outcome.FAILED]
        if not failed:
            return None
        last = failed[-1]
        details = json.loads(last.details) if last.details else None
        return {"reason": last.reason, "error": last.error, "details": details, "at": to_iso(last.ended_at)}


def attempt_view(attempt: Attempt) -> dict[str, Json]:
    return {
        "attempt": attempt.number,
        "agent": attempt.agent,
        "runtime": runtime_of(attempt.runtime),
        "incarnation": incarnation_of(attempt.runtime),
        "claimed_at": to_iso(attempt.claimed_at),
        "started_at": _time(attempt.started_at),
        "ended_at": to_iso(attempt.ended_at),
        "duration_sec": (attempt.ended_at - (attempt.started_at or attempt.claimed_at)) / 1_000_000,
        "outcome": attempt.outcome.value,
        "counted": attempt.counted,
        "reason": attempt.reason,
        "error": attempt.error,
        "model": attempt.model,
        "cost_usd": to_usd(attempt.cost),
        "tokens": {"input": attempt.tokens_in, "output": attempt.tokens_out},
        "session": json.loads(attempt.session) if attempt.session else None,
    }


def effective_view(value: int) -> float:
    return round(value / RANK_UNIT, 2)


def spec_of(spec: Definition, models: tuple[str, ...]) -> dict[str, Json]:
    """What was asked for, with the models to use by now."""
    return {
        "prompt": spec.prompt,
        "payload": json.loads(spec.payload),
        "context_refs": list[Json](spec.context_refs),
        "version": spec.spec_version,
        "constraints": {
            "max_cost_usd": None if spec.max_cost is None else to_usd(spec.max_cost),
            "max_duration_sec": spec.max_duration_sec,
            "required_capabilities": list[Json](spec.required_capabilities),
            "model_preferences": list[Json](models),
            "fallback_models": list[Json](spec.fallback_models),
        },
    }


def _retry(spec: Definition) -> dict[str, Json]:
    policy = spec.retry
    return {
        "strategy": policy.strategy.value,
        "initial_delay_sec": policy.initial_delay / 1_000_000,
        "backoff_multiplier": policy.multiplier,
        "max_delay_sec": None if policy.max_delay is None else policy.max_delay / 1_000_000,
        "jitter": policy.jitter,
        "retry_on": list[Json](sorted(policy.retry_on)),
        "no_retry_on": list[Json](sorted(policy.no_retry_on)),
    }


def _claim(hot: Hot) -> dict[str, Json] | None:
    if not hot.status.is_held:
        return None
    return {
        "agent_id": hot.agent,
        "runtime_id": runtime_of(hot.runtime),
        "incarnation": incarnation_of(hot.runtime),
        "claimed_at": _time(hot.claimed_at),
        "heartbeat_at": _time(hot.heartbeat_at),
        "lease_expires_at": _time(hot.lease_expires_at),
        "limit_at": _time(hot.limit_at),
        "reserved_usd": to_usd(hot.reserved),
        "progress": json.loads(hot.progress) if hot.progress else None,
    }


def _dead(record: Record) -> dict[str, Json]:
    body = record.body
    return {
        "at": to_iso(Micros(cast(int, body["at"]))),
        "reason": body["reason"],
        "poison_pill": body["poison_pill"],
        "reviewed": body["reviewed"],
        "resolution": body["resolution"],
        "reviewed_by": body["reviewed_by"],
        "reviewed_at": _time(cast(Micros | None, body["reviewed_at"])),
        "note": body["note"],
    }


def _blocked_by(blocker: Blocker) -> str:
    """A child that is waited for is a task like any other to the reader."""
    kind, rest = blocker_name(blocker.name)
    return task_blocker(rest) if kind is BlockerKind.CHILD else blocker.name


def _time(at: Micros | None) -> str | None:
    return None if at is None else to_iso(at)
