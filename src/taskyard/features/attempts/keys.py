"""Idempotency keys that a task gives up when it starts, and has again while it waits."""

from __future__ import annotations

from taskyard.core import outcomes
from taskyard.core.changes import ChangeSet
from taskyard.core.task import (
    WAITING,
    Trait,
)
from taskyard.ledger.ledger import Ledger


class ReturnedKeys:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def keyed_again(self, change_set: ChangeSet) -> ChangeSet:
        """A task that let its key go when it started has it again while it waits; where another waits it gives way."""
        change = change_set.changes[0]
        if not change.after.traits & Trait.KEY_WHILE_WAITING or change.after.status not in WAITING:
            return change_set
        key = (await self._ledger.definition(change.after.id)).idempotency_key
        if key is None:
            return change_set
        if (owner := (await self._store.by_key(self._workspace, [key])).get(key, change.after.id)) != change.after.id:
            return outcomes.gave_way(change_set, to=owner, now=change_set.at)
        return change_set._replace(changes=(change._replace(after=change.after._replace(idempotency_key=key)),))
