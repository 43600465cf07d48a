"""Heartbeats of many leases go out in bounded calls: one that hangs keeps none of the others waiting."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, cast

import pytest

from taskyard import yard as service
from taskyard.app import connect
from taskyard.features.attempts.views import Heartbeat, HeartbeatAnswer
from taskyard.worker.process import heartbeats as pulse
from taskyard.worker.process.heartbeats import HeartbeatSender


class OneHangs:
    """The yard, on which a call hangs that has this task among its own: as behind a row that another has locked."""

    def __init__(self, yard: service.Yard, hanging: str, wanted: int) -> None:
        self._yard = yard
        self.attempts = self
        self._hanging = hanging
        self._wanted = wanted
        self.sizes: list[int] = []
        self.kept: set[str] = set()
        self.all_kept = asyncio.Event()
        self.called_again = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._yard, name)

    async def heartbeat_many(self, heartbeats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        ids = [each.task_id for each in heartbeats]
        self.sizes.append(len(ids))
        if len(self.sizes) > 1:
            self.called_again.set()
        if self._hanging in ids:
            await asyncio.Event().wait()
        told = await self._yard.attempts.heartbeat_many(heartbeats)
        self.kept.update(ids)
        if len(self.kept) >= self._wanted:
            self.all_kept.set()
        return told


async def beat_until(heart: HeartbeatSender, yard: object, seen: asyncio.Event) -> None:
    """Send heartbeats to the yard until this is seen."""
    beating = asyncio.create_task(heart.beat(cast(service.Yard, yard)))
    async with asyncio.timeout(30):
        await seen.wait()
    beating.cancel()
    with suppress(asyncio.CancelledError):
        await beating


async def test_a_call_that_hangs_keeps_no_other_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "MOST", 2)
    async with connect("memory://") as yard:
        await yard.agents.register("worker", max_concurrent_tasks=10)
        await yard.enqueue_many([{"type": "code", "dedup": "none"} for _ in range(9)])
        held = await yard.claim("worker", count=9, start=True)
        heart, hanging = HeartbeatSender(), OneHangs(yard, held[0].id, wanted=7)
        for task in held:
            heart.add([task], monotonic() - task.timeouts.heartbeat_sec, lambda _word, _why: None)

        await beat_until(heart, hanging, hanging.all_kept)

        assert max(hanging.sizes) == 2
        assert held[0].id not in hanging.kept


async def test_leases_that_end_soonest_are_kept_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call has as long as the first lease in it: those with little time left must not cut the others short."""
    monkeypatch.setattr(pulse, "MOST", 2)
    lengths = [300, 20, 600, 10]
    async with connect("memory://") as yard:
        await yard.agents.register("worker", max_concurrent_tasks=10)
        timeouts = [{"lease_sec": length, "heartbeat_sec": 1} for length in lengths]
        await yard.enqueue_many([{"type": "code", "dedup": "none", "timeouts": each} for each in timeouts])
        held = await yard.claim("worker", count=4, start=True)
        heart, calls = HeartbeatSender(), Recorded(yard, wanted=2)
        for task in held:
            heart.add([task], monotonic() - 2, lambda _word, _why: None)

        await beat_until(heart, calls, calls.all_made)

        length_of = {str(task.id): task.timeouts.lease_sec for task in held}
        assert [[length_of[each] for each in call] for call in calls.made] == [[10, 20], [300, 600]]


class Recorded:
    """The yard, and which tasks each call of heartbeats was for."""

    def __init__(self, yard: service.Yard, wanted: int) -> None:
        self._yard = yard
        self.attempts = self
        self._wanted = wanted
        self.made: list[list[str]] = []
        self.all_made = asyncio.Event()

    async def heartbeat_many(self, heartbeats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        self.made.append([each.task_id for each in heartbeats])
        if len(self.made) >= self._wanted:
            self.all_made.set()
        return await self._yard.attempts.heartbeat_many(heartbeats)


async def test_a_call_that_hangs_is_given_up_when_its_lease_has_run_out() -> None:
    async with connect("memory://") as yard:
        await yard.agents.register("worker")
        await yard.enqueue("code", timeouts={"lease_sec": 2, "heartbeat_sec": 1})
        (task,) = await yard.claim("worker", start=True)
        heart, hanging = HeartbeatSender(), OneHangs(yard, task.id, wanted=1)
        heart.add([task], monotonic() - 2, lambda _word, _why: None)

        await beat_until(heart, hanging, hanging.called_again)


class TakesTurns(OneHangs):
    """The yard behind a line: an answer takes a few turns of the loop."""

    async def heartbeat_many(self, heartbeats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        for _ in range(5):
            await asyncio.sleep(0)
        return await super().heartbeat_many(heartbeats)


async def test_a_heartbeat_that_is_late_already_is_given_time_for_its_answer() -> None:
    async with connect("memory://") as yard:
        await yard.agents.register("worker")
        await yard.enqueue("code", timeouts={"lease_sec": 2, "heartbeat_sec": 1})
        (task,) = await yard.claim("worker", start=True)
        heart, slow = HeartbeatSender(), TakesTurns(yard, "", wanted=1)
        heart.add([task], monotonic() - 100, lambda _word, _why: None)

        await beat_until(heart, slow, slow.all_kept)
