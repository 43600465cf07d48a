"""What a change puts into inboxes is committed with the change itself, whoever made it and whatever it was for."""

from __future__ import annotations

import json

from taskyard.core.changes import Change, ChangeSet, RecordChange
from taskyard.core.task import FINAL, Attempt, Status, TaskId, Trait
from taskyard.features.inbox import items as inbox_items
from taskyard.features.inbox.items import InboxTopic, Posted, TaskEnd
from taskyard.stores.contract import Store

WATCHED = Trait.WATCHED.value


def marked(births: ChangeSet) -> ChangeSet:
    """New tasks that somebody's inbox gets items about."""
    tasks = [new._replace(hot=new.hot._replace(traits=new.hot.traits | WATCHED)) for new in births.tasks]
    return births._replace(tasks=tuple(tasks))


class InboxFeed:
    """Adds the items of inboxes to a change set. Few tasks have any."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def wants(self, change_set: ChangeSet) -> bool:
        return any(change.after.traits & WATCHED for change in change_set.changes)

    async def contribute(self, change_set: ChangeSet) -> ChangeSet:
        """The set with items for those who started what ends in it."""
        posted: list[Posted] = []
        for change in change_set.changes:
            if change.after.traits & WATCHED and inbox_items.topic_of(change) is not None:
                posted += await _posted(self._store, change_set, change)
        opened = [await _opened(self._store, change) for change in change_set.changes if _is_revived(change)]
        return change_set._replace(
            records=(*change_set.records, *(each.record for each in posted), *filter(None, opened)),
            events=(*change_set.events, *(each.event for each in posted)),
        )


async def _posted(store: Store, change_set: ChangeSet, change: Change) -> list[Posted]:
    after = change.after
    ended = await _ended(store, change_set, change)
    found: list[Posted | None] = []
    subagent = await store.record("subagent", after.workspace, after.id)
    if subagent is not None and inbox_items.topic_of(change) is not InboxTopic.ESCALATED:
        found.append(inbox_items.of_subagent(subagent, change, ended, await _attempts(store, change_set, after.id)))
    dag = None if after.dag_id is None else await store.record("dag", after.workspace, after.dag_id)
    if dag is not None:
        definition = (await store.definitions([after.id]))[after.id]
        found.append(inbox_items.of_task(dag, change, definition.type, definition.title, ended))
    return [each for each in found if each is not None]


async def _attempts(store: Store, change_set: ChangeSet, task_id: TaskId) -> list[Attempt]:
    """The attempts at a task, the one that ends in this change included."""
    ending = [each for each in change_set.attempts if each.task_id == task_id]
    return [*await store.attempts(task_id), *ending]


def _is_revived(change: Change) -> bool:
    return change.before.status in FINAL and change.after.status not in FINAL


async def _opened(store: Store, change: Change) -> RecordChange | None:
    """The transcript of a subagent that a person gives another set of attempts is written on."""
    after = change.after
    is_subagent = await store.record("subagent", after.workspace, after.id) is not None
    if not is_subagent or await store.record("transcript", after.workspace, after.id) is not None:
        return None
    return RecordChange("transcript", after.workspace, after.id, 0, {})


async def _ended(store: Store, change_set: ChangeSet, change: Change) -> TaskEnd:
    after = change.after
    if after.status is Status.COMPLETED:
        outputs = {output.task_id: output for output in change_set.outputs}
        # One that was validated elsewhere was handed in by an earlier change.
        output = outputs.get(after.id) or (await store.outputs([after.id])).get(after.id)
        return TaskEnd(None if output is None else output.data, None)
    if inbox_items.topic_of(change) is InboxTopic.ESCALATED:
        return TaskEnd(None, str(json.loads(change.event.data or "{}").get("note", "")))
    attempt = next((each for each in change_set.attempts if each.task_id == after.id), None)
    if after.status is Status.CANCELLED or attempt is None:
        return TaskEnd(None, after.why)
    return TaskEnd(None, f"{attempt.reason}: {attempt.error}")
