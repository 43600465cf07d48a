"""What callers say beside the fields of a task: who they are, why, for how long, and what it cost.

It is stored with the task and must be the same on every store, so what one of them cannot hold is refused here, with
the field and the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from secrets import token_hex
from typing import NamedTuple, cast

from taskyard.core.agent import DEFAULT_SLOTS, Budget, Grant, Period
from taskyard.core.errors import InvalidInput
from taskyard.core.runtime import process_of
from taskyard.core.task import DagId, RuntimeId, TaskId
from taskyard.core.units import Micros, MicroUsd, usd, usd_spent
from taskyard.definition import fields

MOST_TOKENS = 2**53 - 1  # what every store and JSON reader holds exactly
MOST_ARTIFACTS = 1000
LONGEST_WAIT = 60  # seconds that one call waits for something to happen
MOST_SLOTS = 100_000  # of an agent, and of a type


def name(field: str, value: object) -> str:
    """What something is called by: an agent, a step, a signal, a person."""
    return fields.name(value, field)


def process(runtime_id: object, incarnation: object) -> RuntimeId | None:
    """Which process of which runtime it is; None where it has no runtime."""
    named = None if incarnation is None else name("incarnation", incarnation)
    if runtime_id is not None:
        return process_of(name("runtime_id", runtime_id), named)
    if named is not None:
        raise InvalidInput("incarnation", "is of a runtime: runtime_id must be given too")
    return None


class AgentName(NamedTuple):
    id: str
    type: str


def agent_name(agent_id: object, type_: object, known: Mapping[str, str]) -> AgentName:
    """Who registers; `known` says the type of each id.

    Without an id, a new one of its type. Without a type, a known id keeps its own; a new one is named as its type is.
    """
    if agent_id is None:
        kind = name("type", type_)
        return AgentName(minted_agent(kind), kind)
    own = name("agent_id", agent_id)
    return AgentName(own, known.get(own, own) if type_ is None else name("type", type_))


def minted_agent(type_: str) -> str:
    """The id of a worker that names none."""
    return f"{type_[:246]}-{token_hex(4)}"


def budget(usd_given: object, per: object) -> Budget:
    amount = money("budget_usd", usd_given)
    return Budget(amount, Period.EVER if per is None else fields.choice(Period)(per, "budget_per"))


def grant(
    *,
    types: Iterable[str] | None,
    capabilities: Iterable[str] | None,
    queues: Iterable[str] | None,
    slots: object,
) -> Grant | None:
    """What is granted; None where nothing was said. Slots that are not named are the default, never unlimited."""
    if types is None and capabilities is None and queues is None and slots is None:
        return None
    return Grant(
        types=None if types is None else frozenset(names("types", types)),
        capabilities=None if capabilities is None else frozenset(names("capabilities", capabilities)),
        queues=None if queues is None else frozenset(names("queues", queues)),
        slots=_slots(slots),
    )


def _slots(given: object) -> int | None:
    if given is None:
        return DEFAULT_SLOTS
    return None if given == "unlimited" else fields.whole(given, "slots", least=0, most=MOST_SLOTS)


def words(field: str, value: object, *, most: int = 1000) -> str:
    """What somebody says to people, if only nothing."""
    return fields.text(value, field, most=most, blank=True)


def names(field: str, values: Iterable[str], *, most: int = MOST_ARTIFACTS, longest: int = 255) -> tuple[str, ...]:
    if values in ((), []):
        return ()  # nothing was said, as with most calls
    # A text is a list of its letters to Python, and is never meant so.
    if isinstance(values, str | bytes) or not isinstance(cast(object, values), Iterable):
        raise InvalidInput(field, "must be a list")
    return fields.names(list(values), field, most=most, longest=longest)


def task_id(field: str, value: object) -> TaskId:
    return TaskId(fields.task_id(value, field))


def dag_id(field: str, value: object) -> DagId:
    return DagId(fields.dag_id(value, field))


def duration(field: str, value: object) -> Micros:
    return fields.delay(value, field)


def wait(field: str, value: object) -> float:
    return fields.number(value, field, least=0, most=LONGEST_WAIT)


def money(field: str, value: object) -> MicroUsd | None:
    """A ceiling: exact."""
    return None if value is None else MicroUsd(fields.decimal(value, field, convert=usd))


def spent(field: str, value: object) -> MicroUsd | None:
    """What is gone: rounded up."""
    return None if value is None else MicroUsd(fields.decimal(value, field, convert=usd_spent))


def tokens(field: str, value: object) -> int | None:
    return None if value is None else fields.whole(value, field, least=0, most=MOST_TOKENS)
