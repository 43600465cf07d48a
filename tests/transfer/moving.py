"""Yards with something of everything, and moving them from store to store."""

import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import mkdtemp

from taskyard.features.transfer.service import Transfer
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.contract import Store
from taskyard.yard import Yard, local_yard
from tests.graphs import claim_all, diamond, given_a_graph
from tests.storage import asked_for, give_back, opener, take
from tests.yards import given_a_dead_letter, given_a_running_task, given_an_agent

STORES = [name for name in asked_for() if name != "http"]
PAIRS = [(source, target) for source in STORES for target in STORES]


@asynccontextmanager
async def opened(name: str, folder: Path, clock: ManualClock) -> AsyncGenerator[Store]:
    """A store without a yard on it, which nothing was ever put into."""
    place = Path(mkdtemp(dir=folder))
    take(name, place)
    store = opener(name, place, clock)()
    await store.open()
    try:
        yield store
    finally:
        await store.close()
        give_back(name, place)


def yard_on(store: Store, workspace: str = "default") -> Yard:
    """A yard on a store that is open."""
    return local_yard(store, Options(sweeps=False, workspace=workspace, dice=lambda: 0.5))


async def exported(store: Store, workspace: str | None = None, *, with_secrets: bool = True) -> io.BytesIO:
    file = io.BytesIO()
    await Transfer(store).export(file, workspace=workspace, with_secrets=with_secrets)
    return file


def lines_of(file: io.BytesIO) -> list[bytes]:
    """All lines but the header, which says when the file was made."""
    return file.getvalue().splitlines()[1:-1]


async def given_a_lived_in_yard(yard: Yard, clock: ManualClock) -> None:
    """Tasks in every state, with history, and something of all that is no task."""
    await given_an_agent(yard, "worker")
    await given_a_dead_letter(yard, "report", by="undertaker", title="Über uns", tags=("a", "b"))
    held = await given_a_running_task(yard, "code", by="coder", idempotency_key="key-1", payload={"n": 1})
    await yard.queues.pause("gpu", by="human:ada")  # which leaves an entry in the audit log
    await yard.attempts.checkpoint(held.id, held.lease, "step-1", {"done": ["é", 1]})
    await yard.heartbeat(held.id, held.lease, cost_usd=0.25, progress={"percent": 40})
    waiting = await given_a_running_task(yard, "approve", by="approver")
    await yard.attempts.wait_for(waiting.id, waiting.lease, "approval", "signed", timeout_sec=3600)
    late = await given_a_running_task(yard, "flaky", by="failer")
    await yard.fail(late.id, late.lease, "crash", "it broke", cost_usd=0.5)
    cancelled = await yard.enqueue("code", idempotency_key="key-2")
    await yard.cancel(cancelled.id, "not wanted")
    await yard.signal(waiting.id, "other", {"by": "ada"})
    await _given_dags(yard)
    await _given_configuration(yard)
    clock.advance(seconds=2)
    await yard.sweep()


async def _given_dags(yard: Yard) -> None:
    dag = await given_a_graph(
        yard,
        *diamond(3),
        title="A diamond",
    )
    (first,) = await claim_all(yard, 1)
    await yard.complete(first.id, first.lease, {"answer": 42}, cost_usd=0.1)
    middle = await claim_all(yard, 3)
    await yard.complete(middle[0].id, middle[0].lease, "a text")
    await yard.enqueue("lone", depends_on=[dag.tasks["bottom"].id], run_after="2030-01-01T00:00:00Z")


async def _given_configuration(yard: Yard) -> None:
    await yard.schedules.add("nightly", "0 2 * * *", task={"type": "audit", "prompt": "Audit"})
    await yard.triggers.add("after-code", "dag", task={"type": "review"})
    await yard.tokens.create("ada", "operator")
    await yard.queues.pause("slow")
    await yard.budgets.set(daily_budget_usd=20)
