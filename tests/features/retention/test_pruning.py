"""A step of pruning is bounded: ten pieces of 500 tasks and ten of 1,000 events, and then others have their turn."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from taskyard.features.retention.pruning import PruneStep
from taskyard.stores.contract import Cursor, Prunable, Store
from taskyard.yard import Yard, local_yard


class EndlessStore:
    """A store with no end of old tasks and events, none of which may go."""

    def __init__(self, store: Store, *, endless: Sequence[str]) -> None:
        self._store = store
        self._endless = endless
        self.looked_at: dict[str, list[int]] = {name: [] for name in endless}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def prunable(self, before: Any, limit: int, **options: Any) -> Prunable:
        if "tasks" not in self._endless:
            return await self._store.prunable(before, limit, **options)
        self.looked_at["tasks"].append(limit)
        return Prunable((), Cursor(len(self.looked_at["tasks"]), 0))

    async def prune_events(self, before: Any, after: int, limit: int) -> int | None:
        if "events" not in self._endless:
            return await self._store.prune_events(before, after, limit)
        self.looked_at["events"].append(limit)
        assert after == len(self.looked_at["events"]) - 1, "each piece begins where the one before ended"
        return len(self.looked_at["events"])


@pytest.mark.parametrize(("what", "piece"), [("tasks", 500), ("events", 1_000)])
async def test_a_step_looks_at_ten_pieces_and_says_that_there_is_more(yard: Yard, what: str, piece: int):
    store = EndlessStore(yard.store, endless=[what])

    step = await local_yard(cast(Store, store), yard.options).local.pruning.prune()

    assert store.looked_at == {what: [piece] * 10}
    assert step == PruneStep(0, more=True)


async def test_a_step_that_finds_nothing_old_says_that_there_is_no_more(yard: Yard):
    assert await yard.local.pruning.prune() == PruneStep(0)
