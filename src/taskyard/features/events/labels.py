"""Adds to events what readers filter by and the log does not hold: the type, the subject and the agent of the task.

The labels are read once for each page, in one narrow read, as the definitions are at that moment. Whoever follows the
log page by page has them kept from one page to the next: a task has several events, and is labelled by one read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from taskyard.core.changes import Labels, StoredEvent
from taskyard.core.named_rows import new_row
from taskyard.core.task import FINAL, TaskId
from taskyard.features.events.rules import SENT_BY_AGENTS, named_agent, own_labels
from taskyard.stores.contract import Store

Senders = dict[tuple[TaskId, int | None], str | None]  # by task and attempt

_UNKNOWN = Labels()
KEPT = 5_000  # tasks whose labels are kept
# Steps of an attempt. Only a dead letter can be changed by a person, and then the next event of the task is none of
# these: with any other event, the labels are read again.
_KEEPING = frozenset({"task.claimed", "task.running", "task.completed"})


async def with_labels(store: Store, page: Sequence[StoredEvent]) -> list[StoredEvent]:
    return await _labelled(store, page, {})


async def _labelled(store: Store, page: Sequence[StoredEvent], kept: dict[TaskId, Labels]) -> list[StoredEvent]:
    """The page with its labels. Those that were kept are not read again; afterwards, all that were used are kept."""
    tasks = {
        event.task_id
        for _, event, _ in page
        if event.task_id is not None and (event.event not in _KEEPING or event.task_id not in kept)
    }
    kept.update(await store.labels(list(tasks)) if tasks else {})
    senders = await _senders(store, page)
    labels = _labels_of(page, kept, senders)
    return [new_row(StoredEvent, (seq, event, each)) for (seq, event, _), each in zip(page, labels, strict=True)]


class FollowedLabels:
    """The labels of tasks whose events are read as they come, each page from the end of the one before it."""

    def __init__(self) -> None:
        self._kept: dict[TaskId, Labels] = {}
        self._end = 0  # of the last page

    async def add(self, store: Store, page: Sequence[StoredEvent], after: int) -> list[StoredEvent]:
        """The page after this number with its labels. An older page is labelled by a read of its own."""
        if after < self._end:
            return await with_labels(store, page)
        if after > self._end:
            self._kept, self._end = {}, after  # what happened in between is not known
        kept = self._kept
        labelled = await _labelled(store, page, kept)
        if page and kept is self._kept and self._end == after:
            self._end = page[-1].seq
            self._forget(page)
        return labelled

    def _forget(self, page: Sequence[StoredEvent]) -> None:
        """Let go of tasks that have ended, and of the oldest of too many."""
        for _, event, _ in page:
            if event.task_id is not None and event.status in FINAL:
                self._kept.pop(event.task_id, None)
        for task_id in list(islice(self._kept, max(0, len(self._kept) - KEPT))):
            del self._kept[task_id]


def _labels_of(page: Sequence[StoredEvent], labels: dict[TaskId, Labels], senders: Senders) -> Iterator[Labels]:
    last_task, last_holder, last = _UNKNOWN, None, _UNKNOWN  # most events of a page have the labels of the one before
    for _, event, _ in page:
        if event.task_id is None:
            yield own_labels(event)
            continue
        task = labels.get(event.task_id, _UNKNOWN)  # unknown: pruned since the page was read
        sent = event.event in SENT_BY_AGENTS
        holder = senders.get((event.task_id, event.attempt)) if sent else named_agent(event)
        if holder is None:
            yield task
            continue
        if holder != last_holder or task != last_task:
            last_task, last_holder, last = task, holder, Labels(task.type, task.subject, holder)
        yield last


async def _senders(store: Store, page: Sequence[StoredEvent]) -> Senders:
    """Who made the attempts that messages and progress came from: the row names the latest, its history the others."""
    asked = {
        (event.task_id, event.attempt)
        for _, event, _ in page
        if event.task_id is not None and event.event in SENT_BY_AGENTS
    }
    if not asked:
        return {}
    rows = await store.load(list({task_id for task_id, _ in asked}))
    senders: Senders = {(hot.id, hot.attempt): hot.agent for hot in rows.values()}
    earlier = {task_id for task_id, attempt in asked if (task_id, attempt) not in senders}
    histories = await store.histories(list(earlier)) if earlier else {}
    made = (attempt for attempts in histories.values() for attempt in attempts)
    return senders | {(attempt.task_id, attempt.number): attempt.agent for attempt in made}
