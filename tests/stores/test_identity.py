"""Which yard it is: the same for every process that has it open, and another for one that was made anew."""

from typing import Any, cast

import pytest

from taskyard.core.changes import RecordChange
from taskyard.core.task import LaneId
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.configuration import Configuration
from taskyard.stores.contract import Store
from taskyard.stores.memory import MemoryStore
from tests.stores.given import HERE, a_lane, committed, given_a_record


async def test_every_process_sees_the_same_yard(store: Store, other: Store):
    before = (await store.config(HERE, LaneId(0))).yard
    await given_a_record(other, "queue", "default", {})

    assert before
    assert (await other.config(HERE, LaneId(0))).yard == before
    assert (await store.config(HERE, LaneId(0))).yard == before


async def test_the_identity_does_not_give_the_secret_away(store: Store):
    yard = (await store.config(HERE, LaneId(0))).yard

    assert yard not in store.secret.hex()


class Replaced:
    """A store behind an address that leads to another yard one day."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


async def test_another_yard_is_noticed_though_it_has_changed_as_often_as_the_first(clock: ManualClock):
    first, second = MemoryStore(clock=clock), MemoryStore(clock=clock)
    behind = Replaced(first)
    configuration = Configuration(cast(Store, behind), HERE)
    await configuration.lane_ids([a_lane(type="known"), a_lane(type="also known")])
    planning = await configuration.fresh()
    [other_lane] = await second.lanes([a_lane(type="other")])
    for version in range(5):
        await committed(second, records=(RecordChange("queue", HERE, "default", version, {"paused": True}),))

    behind.store = second
    again = await configuration.fresh()

    assert again.epoch > planning.epoch
    assert again is not planning
    assert configuration.own_lanes == {other_lane: a_lane(type="other")}
    assert await configuration.lane_ids([a_lane(type="known")]) == await second.lanes([a_lane(type="known")])


async def test_a_yard_that_went_back_to_an_earlier_moment_is_noticed_and_named(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
):
    later, restored = MemoryStore(clock=clock), MemoryStore(clock=clock)
    restored.secret = later.secret
    behind = Replaced(later)
    await committed(later, records=(RecordChange("queue", HERE, "default", 0, {"paused": True}),))
    configuration = Configuration(cast(Store, behind), HERE)
    await configuration.lane_ids([a_lane(type="known")])
    await configuration.fresh()

    behind.store = restored
    await configuration.fresh()

    assert configuration.own_lanes == {}
    assert f"workspace {HERE} is not as it was" in caplog.text
