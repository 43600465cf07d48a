"""Running agents until nothing is left: for tests and scripts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext

from taskyard.core.task import Status
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Filter
from taskyard.worker.cheap_lane.batch_sender import with_senders
from taskyard.worker.handlers import Agent
from taskyard.worker.process.heartbeats import HeartbeatSender
from taskyard.worker.process.membership import leave
from taskyard.worker.process.runner import Worker, parted
from taskyard.worker.process.runtime_files import Process, passing
from taskyard.worker.process.supervisor import Supervisor, work_is_over
from taskyard.yard import Yard

STEP = 25.0  # seconds: below the gap after which the yard counts as having been away
MOST_WAITING = 1000
SUPERVISED_AFTER = 0.5  # seconds: before that no heartbeat is due, and most that is drained has ended


async def drain(yard: Yard, agents: Sequence[Agent], *, clock: ManualClock | None = None) -> int:
    """Work until no agent finds anything to do, and say how many attempts that took.

    With a manual clock, delays and sleeps pass at once, and so no lease is kept by heartbeats. What waits for a signal
    or for a person is left waiting.
    """
    process, heartbeats = passing(), HeartbeatSender()
    workers = [Worker(yard, agent, heartbeats=heartbeats, process=process) for agent in with_senders(agents)]
    for worker in workers:
        await worker.register()
    attempts = 0
    try:
        async with _supervised(yard, heartbeats, process) if clock is None else nullcontext():
            while True:
                worked = sum([await worker.work_once() for worker in workers])
                attempts += worked
                if not worked and (clock is None or not await _next_moment(yard, clock)):
                    return attempts
    finally:
        for worker in workers:
            await yard.agents.sign_off(worker.id)
        await work_is_over()


@asynccontextmanager
async def _supervised(yard: Yard, heartbeats: HeartbeatSender, process: Process) -> AsyncGenerator[None]:
    """Keep the leases of what takes longer than a moment, and hear who cancels it."""
    supervisor = Supervisor(yard, heartbeats, process)
    supervisor.start(after=SUPERVISED_AFTER)
    try:
        yield
    finally:
        await supervisor.stop()
        if supervisor.has_begun:
            await parted(leave(yard, process))


async def _next_moment(yard: Yard, clock: ManualClock) -> bool:
    """Let time pass until something is due; False where nothing ever will be."""
    waiting = Filter(workspace=yard.workspace, statuses=frozenset({Status.PENDING, Status.RETRYING}))
    found = await yard.store.find(waiting, after=0, limit=MOST_WAITING)
    due = min((hot.wake_at for hot in found if hot.wake_at is not None), default=None)
    if due is None:
        return False
    while (left := (due - yard.now()) / 1_000_000) > 0:
        clock.advance(seconds=min(left, STEP))
        await yard.sweep()
    clock.advance(seconds=1)  # a sweep is made once a second
    await yard.sweep()
    return True
