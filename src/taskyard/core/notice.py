"""Notices: what the yard reports to people, written to the outbox with the change that the notice is about.

Each notifier that wants a notice gets a notification of its own. The outbox tries it until it is delivered or parked.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from taskyard.core.changes import Outbox
from taskyard.core.json_value import Json, compact
from taskyard.core.task import TaskId
from taskyard.core.units import HOUR, SECOND, Micros

TOPIC = "notify"  # of the outbox
UNDELIVERED = "notification"  # of records: to be delivered
FIRST_DELAY, LONGEST_DELAY, GROWTH = Micros(10 * SECOND), Micros(2 * HOUR), 4
LONGEST_ERROR = 300  # characters


class Notice(StrEnum):
    """What people can be notified of."""

    DEAD_LETTER = "dead_letter"  # a task is out of attempts
    BREAKER_OPEN = "breaker_open"  # nothing of a type is handed out for a while
    BUDGET_GONE = "budget_gone"  # a day or a graph has no money left, and tasks wait for it
    APPROVAL_WANTED = "approval_wanted"  # a task waits for a signal from a person
    DAG_FAILED = "dag_failed"
    DAG_COMPLETED = "dag_completed"
    TASK_ENDED = "task_ended"  # goes to the callback of the task, and to no notifier
    TEST = "test"  # an operator checks that notifications arrive
    TASK_UPDATE = "task_update"  # the agent that asked for a task over A2A hears how it stands


def notice_row(
    notice: Notice, workspace: str, facts: Mapping[str, Json], *, at: Micros, task_id: TaskId | None = None
) -> Outbox:
    """The row of the outbox that is committed with the change that it is about."""
    return Outbox(workspace, TOPIC, task_id, compact({"kind": notice.value, **facts}), at)


def delivery_delay(tries: int) -> Micros:
    """How long after this number of tries the next one is made."""
    return min(Micros(FIRST_DELAY * GROWTH ** min(tries - 1, 20)), LONGEST_DELAY)
