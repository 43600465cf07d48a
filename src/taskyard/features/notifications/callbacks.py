"""Callbacks: a task that names a webhook has it called when it has ended.

The row of the outbox is committed with the end itself. From there on a callback is a notification like any other: tried
until it is taken, under one id, and parked where it is not.
"""

from __future__ import annotations

import json

from taskyard.core.changes import Change, ChangeSet, Outbox
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, size_of
from taskyard.core.notice import LONGEST_ERROR, Notice, notice_row
from taskyard.core.task import FINAL, Hot, Status, Trait
from taskyard.features.notifications import rules
from taskyard.outbound.addresses import AllowedTargets
from taskyard.outbound.channel_posts import checked_target
from taskyard.stores.contract import Store

CALLS_BACK = Trait.CALLS_BACK.value
MOST_OUTPUT = 64 << 10  # bytes of UTF-8 of an output that a callback carries; a longer one is read with the task


def check_callback(callback: str, permitted: AllowedTargets, *, is_spawned: bool) -> None:
    """Refuse a callback that nothing may be sent to, or that an agent asks for: it would reach out through the yard."""
    if is_spawned:
        raise InvalidInput(
            "callback", "may be set by people and orchestrators, and not for a task that an agent spawns"
        )
    if not rules.is_webhook(callback):
        raise InvalidInput("callback", "must be the URL of a webhook: http:// or https://")
    try:
        checked_target(callback, permitted)
    except InvalidInput as refused:
        raise InvalidInput("callback", str(refused.facts["rule"])) from None


class CallbackFeed:
    """Adds the callbacks of tasks that end to a change set. Few tasks have any."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def wants(self, change_set: ChangeSet) -> bool:
        return any(map(_ends, change_set.changes))

    async def contribute(self, change_set: ChangeSet) -> ChangeSet:
        rows = [await self._row(change_set, change) for change in change_set.changes if _ends(change)]
        return change_set._replace(outbox=(*change_set.outbox, *rows))

    async def _row(self, change_set: ChangeSet, change: Change) -> Outbox:
        after = change.after
        facts: dict[str, Json] = {"status": after.status.value, "attempt": after.attempt, "failures": after.failures}
        if after.status is Status.COMPLETED:
            output = next((each for each in change_set.outputs if each.task_id == after.id), None)
            # One that was validated was handed in by an earlier change.
            output = output or (await self._store.outputs([after.id])).get(after.id)
            fits = output is not None and size_of(output.data, "output") <= MOST_OUTPUT
            facts |= {"output": json.loads(output.data) if output is not None and fits else None, "has_output": fits}
        else:
            facts["why"] = _why(change_set, after)
        return notice_row(Notice.TASK_ENDED, after.workspace, facts, at=change.event.at, task_id=after.id)


def _why(change_set: ChangeSet, after: Hot) -> str | None:
    """What a task was cancelled for, or how the attempt failed with which it died."""
    last = next((each for each in change_set.attempts if each.task_id == after.id), None)
    if after.status is Status.CANCELLED or last is None or last.reason is None:
        return after.why
    return f"{last.reason}: {last.error[:LONGEST_ERROR]}" if last.error else last.reason


def _ends(change: Change) -> bool:
    after = change.after
    return bool(after.traits & CALLS_BACK) and after.status in FINAL and change.before.status not in FINAL
