"""What the audit log records, and how its entries are named. Pure.

An audit entry is made of an event that names its author. What workers do as workers (claim, finish, register) is left
out, and so is what the yard does by itself. Events whose data an agent wrote are not read: they could name anybody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import NamedTuple, TypedDict

from taskyard.core.changes import ChangeSet, Event, NewTask, Record, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import DAY, Micros
from taskyard.features.tokens.rules import EVERYWHERE

KIND = "audit"
POLICY_KIND = "audit_policy"
POLICY = "policy"
DEFAULT_DAYS = 400.0
MOST_DAYS = 36_500
LONGEST_FACTS = 4_000  # characters of an entry's facts; longer ones are cut
_NOBODY = ("yard", "timeout", "cron:", "event:", "task:")  # how the authors of what the yard does by itself begin

# Steps of a task that somebody asked for. Each writes its author into its event, or has none.
_STEPS = frozenset({"task.cancelled", "task.reprioritised", "task.signalled", "task.revived", "task.escalated"})
_ANSWERED = "task.answered"
# What an agent does as a worker, under its own name.
_OF_WORKERS = ("agent.", "artifact.", "inbox.")
# Events that name a thing by another word than their own first one.
_OBJECTS = {
    "variants": "type",
    "breaker": "type",
    "a2a": "type",
    "session": "token",
    "view": "name",
    "yard": "",
    "workspace": "",
}
_CURSOR = re.compile(r"\d{16}-[0-9A-Z]{26}")


class AuditBody(TypedDict):
    workspace: str
    at: Micros
    by: str
    action: str
    object: str | None
    task_id: str | None
    dag_id: str | None
    facts: dict[str, Json]


class AuditPolicyBody(TypedDict):
    days: float


AUDIT = RecordKind(KIND, AuditBody)
AUDIT_POLICY = RecordKind(POLICY_KIND, AuditPolicyBody)


class AuditFilter(NamedTuple):
    """Which entries are wanted. Everything given must match."""

    who: str | None = None
    action: str | None = None  # task.cancelled, or task.* for all that begin so
    object: str | None = None  # agent:coder, a task's id, a DAG's id
    since: Micros | None = None

    @property
    def is_selective(self) -> bool:
        return (self.who, self.action, self.object) != (None, None, None)

    def matches(self, body: AuditBody) -> bool:
        return (
            self.who in (None, body["by"])
            and (self.action is None or _is_word(self.action, body["action"]))
            and self.object in (None, body["object"], (body["object"] or "").partition(":")[2] or None, body["dag_id"])
        )


def is_audited(change_set: ChangeSet) -> bool:
    """Whether somebody is named in the set. Asked at every commit."""
    return (
        any(map(_may_name, change_set.events))
        or any(each.event.event in _STEPS for each in change_set.changes)
        or any(each.definition.rerun_of is not None for each in change_set.tasks)
    )


def entries(change_set: ChangeSet, names: Iterable[str]) -> tuple[RecordChange, ...]:
    """A record for each act in the set. `names` end their ids, and must differ."""
    events = [
        *(each.event for each in change_set.changes if each.event.event in _STEPS),
        *filter(_may_name, change_set.events),
    ]
    found = [*map(_entry, events), *(_rerun(each) for each in change_set.tasks if each.definition.rerun_of is not None)]
    bodies = [body for body in found if body is not None]
    if len(bodies) > 1 and any(body["action"] == _ANSWERED for body in bodies):
        # An answer is a signal too: one act, with the better word.
        bodies = [body for body in bodies if body["action"] != "task.signalled"]
    return tuple(_record(body, name) for body, name in zip(bodies, names, strict=False))


def prefix(workspace: str) -> str:
    """What the ids of a workspace's entries begin with. Quoted, so that no workspace is the beginning of another."""
    return compact([workspace])[:-1] + ","


def place_at(workspace: str, at: Micros) -> str:
    """Above the ids of all entries from before that time, and below those of all others."""
    return f"{prefix(workspace)}{at:016d}"


def place_of(workspace: str, cursor: str) -> str:
    if not _CURSOR.fullmatch(cursor):
        raise InvalidInput("cursor", "must be one that an earlier page gave")
    return prefix(workspace) + cursor


def cursor_of(record: Record) -> str:
    """The entry's own part of its id."""
    return record.id[len(prefix(AUDIT.of(record)["workspace"])) :]


def kept_since(now: Micros, days: float) -> Micros:
    return Micros(max(0, now - int(days * DAY)))


def _record(body: AuditBody, name: str) -> RecordChange:
    stored: dict[str, Json] = {
        "workspace": body["workspace"],
        "at": body["at"],
        "by": body["by"],
        "action": body["action"],
        "object": body["object"],
        "task_id": body["task_id"],
        "dag_id": body["dag_id"],
        "facts": body["facts"],
    }
    return RecordChange(KIND, EVERYWHERE, f"{place_at(body['workspace'], body['at'])}-{name}", 0, stored)


def _may_name(event: Event) -> bool:
    is_ours = event.task_id is None or event.event == _ANSWERED
    return is_ours and event.data is not None and '"by"' in event.data


def _entry(event: Event) -> AuditBody | None:
    facts: dict[str, Json] = json.loads(event.data) if event.data else {}
    by = facts.pop("by", None)
    if not isinstance(by, str) or by.startswith(_NOBODY) or _is_by_worker(event.event, by):
        return None
    return AuditBody(
        workspace=event.workspace,
        at=event.at,
        by=by,
        action=event.event,
        object=_object(event, facts),
        task_id=event.task_id,
        dag_id=event.dag_id,
        facts=_bounded(facts),
    )


def _rerun(new: NewTask) -> AuditBody | None:
    """Of new tasks, only those that do an old one again are acts of their own. The others name who put them in."""
    definition = new.definition
    if definition.created_by.startswith(_NOBODY):
        return None
    return AuditBody(
        workspace=new.hot.workspace,
        at=definition.created_at,
        by=definition.created_by,
        action="task.rerun",
        object=f"task:{definition.rerun_of}",
        task_id=definition.rerun_of,
        dag_id=None,
        facts={"made": definition.id},
    )


def _is_by_worker(event: str, by: str) -> bool:
    return by.startswith("agent:") and event.startswith(_OF_WORKERS)


def _object(event: Event, facts: dict[str, Json]) -> str | None:
    """The object of an act, as KIND:NAME."""
    if event.task_id is not None:
        return f"task:{event.task_id}"
    if event.dag_id is not None:
        return f"dag:{event.dag_id}"
    kind = event.event.partition(".")[0]
    # The budget of an agent's type names the type.
    name = facts.get(_OBJECTS.get(kind, kind)) or (facts.get("type") if kind == "agent" else None)
    return f"{kind}:{name}" if isinstance(name, str) else None


def _bounded(facts: dict[str, Json]) -> dict[str, Json]:
    if len(compact(facts)) <= LONGEST_FACTS:
        return facts
    each = LONGEST_FACTS // max(1, len(facts))
    return {name: text[:each] for name, value in facts.items() for text in [compact(value)]}


def _is_word(wanted: str, action: str) -> bool:
    return action.startswith(wanted[:-1]) if wanted.endswith("*") else action == wanted
