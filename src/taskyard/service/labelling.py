"""Adds to events what readers filter by and the log does not hold: the type, the subject and the agent of the task.

The labels are read once for each page, in one narrow read, as the definitions are at that moment. Nothing is kept here.
"""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.changes import Labels, StoredEvent
from taskyard.core.events import SENT_BY_AGENTS, named_agent, own_labels
from taskyard.core.task import TaskId
from taskyard.stores.contract import Store

_UNKNOWN = Labels()


async def with_labels(store: Store, page: Sequence[StoredEvent]) -> list[StoredEvent]:
    tasks = {stored.event.task_id for stored in page if stored.event.task_id is not None}
    labels = await store.labels(list(tasks)) if tasks else {}
    senders = await _senders(store, page)
    return [StoredEvent(stored.seq, stored.event, _labels(stored, labels, senders)) for stored in page]


def _labels(
    stored: StoredEvent, labels: dict[TaskId, Labels], senders: dict[tuple[TaskId, int | None], str | None]
) -> Labels:
    event = stored.event
    if event.task_id is None:
        return own_labels(event)
    task = labels.get(event.task_id, _UNKNOWN)  # unknown: pruned since the page was read
    sent = event.event in SENT_BY_AGENTS
    holder = senders.get((event.task_id, event.attempt)) if sent else named_agent(event)
    return task if holder is None else Labels(task.type, task.subject, holder)


async def _senders(store: Store, page: Sequence[StoredEvent]) -> dict[tuple[TaskId, int | None], str | None]:
    """Who made the attempts that messages and progress came from: the row names the latest, its history the others."""
    asked = {
        (stored.event.task_id, stored.event.attempt)
        for stored in page
        if stored.event.task_id is not None and stored.event.event in SENT_BY_AGENTS
    }
    if not asked:
        return {}
    rows = await store.load(list({task_id for task_id, _ in asked}))
    senders: dict[tuple[TaskId, int | None], str | None] = {(hot.id, hot.attempt): hot.agent for hot in rows.values()}
    earlier = {task_id for task_id, attempt in asked if (task_id, attempt) not in senders}
    histories = await store.histories(list(earlier)) if earlier else {}
    made = (attempt for attempts in histories.values() for attempt in attempts)
    return senders | {(attempt.task_id, attempt.number): attempt.agent for attempt in made}
