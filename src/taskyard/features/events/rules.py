"""The words for events, the yard's own and those of preset multica on the wire; what events are filtered by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from taskyard.core.changes import Event, Labels, StoredEvent
from taskyard.core.json_value import value_of
from taskyard.core.task import Status

_WIRE = {
    "task.created": "task:queued",
    "task.ready": "task:queued",
    "task.released": "task:queued",
    "task.revived": "task:queued",
    "task.claimed": "task:dispatch",
    "task.running": "task:running",
    "task.validating": "task:running",
    "task.completed": "task:completed",
    "task.retrying": "task:failed",
    "task.dead_lettered": "task:failed",
    "task.cancelled": "task:cancelled",
    "task.session": "task:message",
    "task.step": "task:progress",
    "task.sent": "task:progress",
    "task.batched": "task:progress",
}


def wire_type(event: Event) -> str:
    """The word that a client of preset multica knows it by; others keep the yard's, in the spelling of that preset."""
    if event.event == "task.created" and event.status is Status.PENDING:
        return "task:pending"
    return _WIRE.get(event.event, event.event.replace(".", ":", 1))


# Their data is what the agent sent, so an agent that the data names proves nothing.
SENT_BY_AGENTS = frozenset({"task.message", "task.progress"})


def named_agent(event: Event) -> str | None:
    """The agent that the yard wrote into the event: the holder of the task, or the owner of an inbox."""
    return None if event.event in SENT_BY_AGENTS else _fact(event, "agent")


def own_labels(event: Event) -> Labels:
    """The labels of an event that is of no task: the type of a breaker, the agent that registered or owns an inbox."""
    # An agent's own type is not a type of tasks.
    return Labels(type=_fact(event, "type") if event.event.startswith("breaker.") else None, agent=named_agent(event))


def _fact(event: Event, name: str) -> str | None:
    data = event.data
    if data is None:
        return None
    before, found, rest = data.partition(f'"{name}":"')
    # Nearly always it is a key of the object itself, since no other has begun, and no text before it has a quote.
    if found and before.count("{") == 1 and "\\" not in before:
        fact, _, _ = rest.partition('"')
        if "\\" not in fact:
            return fact
    if f'"{name}"' not in data:
        return None
    fact = value_of(data).get(name)
    return fact if isinstance(fact, str) else None


class Wanted(TypedDict, total=False):
    """The fields of an `EventFilter`, as the arguments of a call."""

    task_id: str | None
    dag_id: str | None
    event: str | None
    task_type: str | None
    agent: str | None
    subject: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events a reader wants. Everything given must match."""

    task_id: str | None = None
    dag_id: str | None = None
    event: str | None = None  # a word of the yard: task.ready, or task.* for all that begin so
    task_type: str | None = None
    agent: str | None = None
    subject: str | None = None

    @property
    def takes_all(self) -> bool:
        return self.task_id is None and not self.is_selective

    @property
    def is_selective(self) -> bool:
        """Whether it leaves out events, beside those of other tasks."""
        return any((self.dag_id, self.event, self.task_type, self.agent, self.subject))

    def matches(self, stored: StoredEvent) -> bool:
        event = stored.event
        return self.matches_facts(event.event, event.task_id, event.dag_id, stored.labels)

    def matches_facts(self, event: str, task_id: str | None, dag_id: str | None, labels: Labels) -> bool:
        return (
            self.task_id in (None, task_id)
            and self.dag_id in (None, dag_id)
            and self.task_type in (None, labels.type)
            and self.agent in (None, labels.agent)
            and self.subject in (None, labels.subject)
            and self._names(event)
        )

    def _names(self, event: str) -> bool:
        if self.event is None:
            return True
        return event.startswith(self.event[:-1]) if self.event.endswith("*") else event == self.event
