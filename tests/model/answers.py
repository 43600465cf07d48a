"""What was answered to a call: a value or a refusal, in a form that two stores can be compared by."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

from taskyard.core.errors import TaskyardError
from taskyard.core.task import Definition, Hot
from taskyard.features.dags.views import Dag, DagView
from taskyard.features.tasks.task_rows import TaskInShort
from taskyard.features.tasks.views import Details, Held, Task, stored_task
from taskyard.ledger.ids import mint


@dataclass(frozen=True, slots=True)
class Ok:
    shown: Any
    value: Any = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Refused:
    code: str
    sentence: str


Answer = Ok | Refused


async def answered(calling: Awaitable[Any]) -> Answer:
    """Anything but a value or one of the yard's own refusals is a mistake of the program, and is let through."""
    try:
        value = await calling
    except TaskyardError as error:
        return Refused(error.code, str(error))
    return Ok(_shown(value), value)


def _shown(value: Any) -> Any:
    match value:
        case Hot():
            return value._replace(seq=0)  # the order counts, not the number: a store may leave some out
        case Details():
            return value.to_dict() | {"seq": 0}
        case Held():
            return *_stored(value), value.lease
        case Task():
            return *_stored(value), value.created
        case TaskInShort():
            return replace(value, seq=0)
        case DagView():
            return {each.name: _shown(getattr(value, each.name)) for each in fields(value)}
        case Dag():
            return value.id, _shown(dict(value.tasks))
        case Mapping():
            return {name: _shown(each) for name, each in cast(Mapping[str, Any], value).items()}
        case str() if value.startswith("audit:"):
            return value[: -len(mint())]  # what such an id ends with is drawn at random: see AuditFeed
        case list() | tuple():
            return tuple(_shown(each) for each in cast(list[Any], value))
        case _:
            return value


def _stored(task: Task) -> tuple[Hot, Definition]:
    hot, definition = stored_task(task)
    return _shown(hot), definition
