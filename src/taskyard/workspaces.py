"""One store, and the features of each workspace that somebody asks for."""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakValueDictionary

from taskyard.ledger.options import Options
from taskyard.ledger.queue import CommitQueue
from taskyard.stores.contract import Store
from taskyard.workspace import Workspace

KEPT = 64  # workspaces whose features are kept, beside the first: a sweep may come to many


class Workspaces:
    """The workspaces of one store in this process. They share the store's queue of commits."""

    def __init__(self, store: Store, options: Options) -> None:
        self.queue = CommitQueue(store)
        self._store = store
        self._options = replace(options, preset=None)
        self.first = Workspace(store, options, self.queue)
        self._known = WeakValueDictionary({options.workspace: self.first})  # those that somebody still uses, or kept
        self._kept: dict[str, Workspace] = {}  # the one that was asked for last at the end

    def of(self, name: str) -> Workspace:
        """The features of a workspace. Of many, those that nobody uses or asked for lately are made anew."""
        workspace = self._known.get(name)
        if workspace is None:
            workspace = Workspace(self._store, replace(self._options, workspace=name), self.queue)
            self._known[name] = workspace
        if workspace is not self.first:
            self._kept.pop(name, None)
            self._kept[name] = workspace
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return workspace

    async def close(self) -> None:
        for workspace in list(self._known.values()):
            await workspace.close()
        await self.queue.close()
