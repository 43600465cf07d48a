"""A day of a yard that people look up in the store itself."""

from typing import Any

from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.contract import Store
from taskyard.yard import local_yard
from tests.yards import given_a_running_task

FIGURES: dict[str, Any] = {
    "day": "2026-01-01",
    "workspace": "default",
    "tasks_created": 1,
    "tasks_completed": 1,
    "tasks_failed": 0,
    "tasks_dead_lettered": 0,
    "average_latency": 2.0,
    "worker_heartbeat_delay": 2.0,
    "error_rates_per_agent": {"worker": 0.0},
}


async def given_a_day(store: Store, clock: ManualClock) -> None:
    """One task that took two seconds, counted."""
    yard = local_yard(store, Options(sweeps=False))
    held = await given_a_running_task(yard)
    clock.advance(seconds=2)
    await yard.complete(held.id, held.lease)
    await yard.sweep()
