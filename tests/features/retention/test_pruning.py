"""A step of pruning is bounded, has its pace beside others, and takes along what belongs to the tasks."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from taskyard.features.approvals import rules as approvals
from taskyard.features.retention import rules
from taskyard.features.retention.pruning import PruneStep
from taskyard.features.retention.pruning_pace import PruningPace
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Cursor, Prunable, Store
from taskyard.yard import Yard, local_yard
from tests.guarantees.test_pruning_pace import OLD, Seconds
from tests.yards import given_a_running_task


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


async def test_beside_others_a_piece_is_small_unless_pruning_is_behind(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    time = Seconds(monkeypatch)
    pace = PruningPace(yard.local.ledger)
    sizes: list[int] = []
    for seconds in (0, 10):
        sizes.append(pace.begin_piece(500))
        await yard.enqueue("code", dedup="none")
        time.now += seconds
        await pace.rest(removed=500, kept=0)

    assert [*sizes, pace.begin_piece(500)] == [500, rules.SMALL_PIECE, 500]


async def test_what_was_removed_while_nobody_worked_is_no_debt_when_somebody_does(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    time = Seconds(monkeypatch)
    pace = PruningPace(yard.local.ledger)
    await pace.rest(removed=5_000, kept=0)
    await yard.enqueue("code")

    await pace.rest(removed=0, kept=0)

    assert time.rests == [0, 0]


async def test_what_a_task_asked_people_goes_with_it(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?")
    await yard.cancel(held.id)
    await yard.on_store.sweeper.follow()  # what is not counted yet is kept
    clock.advance(seconds=OLD)
    assert len(await yard.store.records(approvals.KIND)) == 1

    await yard.on_store.sweeper.make_room(at_length=True)

    assert await yard.find() == []
    assert await yard.store.records(approvals.KIND) == []
