"""What callers say beside the fields of a task: who they are, why, for how long, and what it cost.

It is stored with the task and must be the same on every store, so what one of them cannot hold is refused here, with
the field and the rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from taskyard.core import fields
from taskyard.core.errors import InvalidInput
from taskyard.core.task import DagId, TaskId
from taskyard.core.units import Micros, MicroUsd, usd, usd_spent

MOST_TOKENS = 2**53 - 1  # what every store and JSON reader holds exactly
MOST_ARTIFACTS = 1000


def name(field: str, value: object) -> str:
    """What something is called by: an agent, a step, a signal, a person."""
    return fields.text(value, field, most=255)


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


def money(field: str, value: object) -> MicroUsd | None:
    """A ceiling: exact."""
    return None if value is None else MicroUsd(fields.decimal(value, field, convert=usd))


def spent(field: str, value: object) -> MicroUsd | None:
    """What is gone: rounded up."""
    return None if value is None else MicroUsd(fields.decimal(value, field, convert=usd_spent))


def tokens(field: str, value: object) -> int | None:
    return None if value is None else fields.whole(value, field, least=0, most=MOST_TOKENS)
