"""Triggers: work that is made by events. A delivery to a hook, a file that changed, a graph that ended, a bad figure.

What a trigger listens to and what it makes are data. Nothing here knows how an event came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict, TypeGuard

from taskyard.core.changes import Record
from taskyard.core.dag import DagStatus
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact, is_list, is_mapping, is_object
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import DAY, SECOND, Micros
from taskyard.definition import fields
from taskyard.definition.view import About, Hidden, Time
from taskyard.features.sources.templates import found
from taskyard.ledger.signing import Scheme

KIND = "trigger"
LONGEST_CHAIN = 20  # fires that lead to each other: two triggers must not keep each other going for ever
MOST_CONDITIONS = 50
MOST_DELIVERED_VALUES = 50_000  # numbers, texts, objects and lists in the body of a delivery
MOST_ATTEMPTS = 1000  # that a rule looks at


class SourceName(StrEnum):
    """The sources that are built in. Installed packages add others: `source`."""

    WEBHOOK = "webhook"  # a signed delivery to /api/hooks/PATH
    FILES = "files"  # a file that was added, modified or deleted
    DAG = "dag"  # a graph, or a lone task, that ended
    RULE = "rule"  # a figure over the last attempts that is above its limit


class FileChange(StrEnum):
    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


class Measure(StrEnum):
    """What a rule takes the mean of, attempt by attempt."""

    FAILURE_RATE = "failure_rate"  # the share that failed, from 0 to 1
    COST_USD = "cost_usd"
    DURATION_SEC = "duration_sec"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    id: str
    source: str  # a `SourceName`, or the name of an installed source
    settings: Mapping[str, Json]  # what it listens to, in the words of its source
    only: Mapping[str, Json]  # conditions on what came: path -> value, values, or {"exists": …}
    template: Mapping[str, Json]
    created_at: Time
    created_by: str
    paused: bool = False
    removed_at: Annotated[Micros | None, Hidden()] = None
    # Of a hook's secrets: until.
    nonces: Annotated[Mapping[str, Micros | None], Hidden()] = field(default_factory=dict[str, Micros | None])
    # It tells neither the hook's name nor its workspace.
    path: Annotated[str | None, About("Of a hook: deliveries go to /api/hooks/PATH.")] = None

    @property
    def fires_as(self) -> str:
        return f"{KIND}:{self.id}"

    @property
    def is_listening(self) -> bool:
        return self.removed_at is None and not self.paused

    def body(self) -> dict[str, Json]:
        return {
            "source": self.source,
            "settings": dict(self.settings),
            "only": dict(self.only),
            "template": dict(self.template),
            "created_at": self.created_at,
            "created_by": self.created_by,
            "paused": self.paused,
            "removed_at": self.removed_at,
            "nonces": dict[str, Json](self.nonces),
            "path": self.path,
        }


class TriggerBody(TypedDict):
    source: str
    settings: dict[str, Json]
    only: dict[str, Json]
    template: dict[str, Json]
    created_at: Micros
    created_by: str
    paused: bool
    removed_at: Micros | None
    nonces: dict[str, Micros | None]
    path: NotRequired[str | None]


TRIGGER = RecordKind(KIND, TriggerBody)


def trigger_of(record: Record) -> Trigger:
    body = TRIGGER.of(record)
    source = body["source"]
    # Before hooks had paths of their own, deliveries came to their names.
    usual = record.id if source == SourceName.WEBHOOK else None
    return Trigger(
        id=record.id,
        source=source,
        path=body.get("path", usual),
        settings=body["settings"],
        only=body["only"],
        template=body["template"],
        created_at=body["created_at"],
        created_by=body["created_by"],
        paused=body["paused"],
        removed_at=body["removed_at"],
        nonces=body["nonces"],
    )


# What it listens to


def settings(source: SourceName, given: Mapping[str, object]) -> dict[str, Json]:
    """What was said of the source, complete; InvalidInput names the field and the rule."""
    read = _SETTINGS[source]
    for name in given:
        if name not in read:
            known = ", ".join(sorted(read))
            raise InvalidInput(f"settings.{str(name)[:100]}", f"is not one of {source.value}: {known}")
    return {name: reader(given.get(name), f"settings.{name}") for name, reader in read.items()}


def _or(reader: fields.Read, usual: Json) -> fields.Read:
    return lambda value, path: usual if value is None else reader(value, path)


def _needed(reader: fields.Read) -> fields.Read:
    def read(value: Any, path: str) -> Any:
        if value is None:
            raise InvalidInput(path, "must be given")
        return reader(value, path)

    return read


def _word(of: type[StrEnum]) -> fields.Read:
    read = fields.choice(of)
    return lambda value, path: read(value, path).value


def _words_of(of: type[StrEnum]) -> fields.Read:
    return lambda value, path: [_word(of)(each, path) for each in fields.names(value, path, most=10, longest=50)]


def _text(most: int) -> fields.Read:
    return lambda value, path: fields.text(value, path, most=most)


def _texts(value: Any, path: str) -> list[str]:
    return list(fields.names(value, path, most=100, longest=1000))


def _number(least: float, most: float) -> fields.Read:
    return lambda value, path: fields.number(value, path, least=least, most=most)


def _whole(least: int, most: int) -> fields.Read:
    return lambda value, path: fields.whole(value, path, least=least, most=most)


_ENDS = [status.value for status in DagStatus if status.is_final]
_SETTINGS: Mapping[SourceName, Mapping[str, fields.Read]] = {
    SourceName.WEBHOOK: {"scheme": _or(_word(Scheme), Scheme.STANDARD.value)},
    SourceName.FILES: {
        "path": _needed(_text(4096)),
        "patterns": _or(_texts, ["*"]),
        "changes": _or(_words_of(FileChange), [FileChange.ADDED.value, FileChange.MODIFIED.value]),
    },
    SourceName.DAG: {
        "status": _or(_words_of(DagStatus), [DagStatus.COMPLETED.value]),
        "tag": fields.optional(_text(100)),
        "title": fields.optional(_text(1000)),
        "type": fields.optional(_text(255)),
    },
    SourceName.RULE: {
        "measure": _or(_word(Measure), Measure.FAILURE_RATE.value),
        "type": fields.optional(_text(255)),
        "above": _needed(_number(0, 10**9)),
        "over": _or(_whole(1, MOST_ATTEMPTS), 50),
        "window_sec": _or(_whole(1, fields.LONGEST_SEC), DAY // SECOND),
    },
}


# Conditions


def conditions(given: object) -> dict[str, Json]:
    """Conditions that can be looked at; InvalidInput says what is wrong with them."""
    if not is_mapping(given) or len(given) > MOST_CONDITIONS:
        raise InvalidInput("only", f"must be an object of at most {MOST_CONDITIONS} paths and what stands there")
    sound: dict[str, Json] = {}
    for path, value in given.items():
        if not _is_condition(value):
            raise InvalidInput("only", 'must have a value, a list of values, or {"exists": true} for each path')
        sound[fields.text(path, "only", most=255)] = value
    return sound


def _is_condition(value: object) -> TypeGuard[Json]:
    if is_object(value):
        return set(value) == {"exists"} and isinstance(value["exists"], bool)
    listed = value if is_list(value) else [value]
    return len(listed) <= 100 and all(each is None or isinstance(each, str | int | float | bool) for each in listed)


def unmet(only: Mapping[str, Json], values: Mapping[str, Json]) -> str | None:
    """The first condition that does not hold, in words; None where all do."""
    given: Json = dict(values)
    for path, wanted in only.items():
        try:
            value, is_there = found(given, path), True
        except LookupError:
            value, is_there = None, False
        if isinstance(wanted, dict):
            if is_there != wanted["exists"]:
                return f"{path} is {'there' if is_there else 'not there'}"
        elif not is_there:
            return f"{path} is not there"
        elif not any(_is_same(value, each) for each in (wanted if isinstance(wanted, list) else [wanted])):
            return f"{path} is {compact(value)[:100]}"
    return None


def _is_same(value: Json, wanted: Json) -> bool:
    # True is 1 to Python, and not in JSON.
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def names_of(settings: Mapping[str, Json], name: str) -> list[str]:
    """A setting that lists names, such as the states of DAGs that fire a trigger."""
    listed = settings[name]
    return [str(each) for each in listed] if isinstance(listed, list) else []


def matches_file(trigger: Trigger, name: str, change: str) -> bool:
    patterns, changes = names_of(trigger.settings, "patterns"), names_of(trigger.settings, "changes")
    return change in changes and any(fnmatchcase(name, pattern) for pattern in patterns)


# Ready-made


class ReadyMade(NamedTuple):
    only: Mapping[str, Json]
    task: Mapping[str, Json] | None


READY_MADE: Mapping[str, ReadyMade] = {
    "pull-request-opened": ReadyMade(
        {"body.action": ["opened", "reopened", "ready_for_review"], "body.pull_request.number": {"exists": True}},
        {
            "type": "review",
            "title": "Review {{ body.repository.full_name }}#{{ body.pull_request.number }}",
            "subject": "pr:{{ body.repository.full_name }}#{{ body.pull_request.number }}",
            "prompt": "Review the pull request {{ body.pull_request.html_url }}.",
            "payload": {
                "title": "{{ body.pull_request.title }}",
                "url": "{{ body.pull_request.html_url }}",
                "author": "{{ body.pull_request.user.login? }}",
                "base": "{{ body.pull_request.base.ref? }}",
                "head": "{{ body.pull_request.head.sha? }}",
                "description": "{{ body.pull_request.body? }}",
            },
        },
    ),
    "json": ReadyMade({}, {"type": "event", "title": "Delivery to {{ hook.name }}", "payload": "{{ body }}"}),
}
