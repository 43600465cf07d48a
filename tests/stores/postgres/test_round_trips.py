"""What the paths cost that lock first: round trips, and rows that are read."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from taskyard.core.changes import Expect, expected
from taskyard.core.units import MicroUsd
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.connection.session import PostgresSession
from tests.stores.given import a_lane, a_new_task, cancelling, committed, given_a_task, given_tasks, history, lane_of
from tests.stores.plans import a_plan, take
from tests.stores.postgres.conftest import Gate

READY = 300
MANY = 50


@contextmanager
def statements(monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """The statements that were sent for their rows, without those that begin and end a transaction."""
    sent: list[str] = []
    fetch = PostgresSession.fetch

    async def counted(self: PostgresSession, query: str, *values: Any) -> Any:
        sent.append(query)
        return await fetch(self, query, *values)

    with monkeypatch.context() as patched:
        patched.setattr(PostgresSession, "fetch", counted)
        yield sent


async def test_a_claim_under_a_ceiling_looks_locks_and_takes(store: PostgresStore, monkeypatch: pytest.MonkeyPatch):
    task = await given_a_task(store, reserve=MicroUsd(1))
    plan = await a_plan(store, agent_money=10)

    with statements(monkeypatch) as sent:
        claimed = await take(store, plan)

    assert [hot.id for hot in claimed.tasks] == [task.id]
    assert await history(store, task.id) == ["task.created", "task.running"]
    assert len(sent) == 3  # the look of the fast path, which does not apply, the lock and the write


async def test_a_claim_reads_empty_lanes_once(store: PostgresStore, monkeypatch: pytest.MonkeyPatch):
    tasks = await given_tasks(store, MANY)
    lanes = [await lane_of(store, a_lane(type=f"type {number}")) for number in range(MANY)]
    plan = await a_plan(store, tasks[0].lane, *lanes, tasks=MANY)

    with statements(monkeypatch) as sent:
        claimed = await take(store, plan)

    assert len(claimed.tasks) == MANY
    assert len(sent) == 1  # a look at all lanes, which reads on in the one that has more; the write is sent otherwise


@pytest.mark.parametrize("is_alone", [True, False])
async def test_a_claim_passes_over_what_the_agent_cannot_afford(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, is_alone: bool
):
    dear = await given_tasks(store, MANY, reserve=MicroUsd(100), rank=1)
    cheap = await given_tasks(store, 3, reserve=MicroUsd(1), rank=2)
    others = [] if is_alone else [await lane_of(store, a_lane(type="another"))]
    plan = await a_plan(store, dear[0].lane, *others, tasks=2, agent_money=10)

    with statements(monkeypatch) as sent:
        claimed = await take(store, plan)

    assert [hot.id for hot in claimed.tasks] == [hot.id for hot in cheap[:2]]
    assert len(sent) <= 2 * 4 + 1  # looks at 2, 8, 32 and 128 tasks, again with locks, and the write


async def test_a_commit_that_relies_on_another_task_locks_and_writes(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    moved, other, new = await given_a_task(store), await given_a_task(store), await a_new_task(store)
    expects = (Expect(other.id, other.version, other.status),)

    with statements(monkeypatch) as sent:
        await committed(store, changes=(cancelling(store, moved),), tasks=(new,), expects=expects)

    assert await history(store, moved.id) == ["task.created", "task.cancelled"]
    assert len(sent) == 2


async def test_who_locks_a_task_does_not_read_what_else_is_ready(
    connect: Callable[[], Awaitable[PostgresStore]], gate: Gate
):
    """The process ends, so that all it read is counted."""
    store = await connect()
    first, *others = await given_tasks(store, READY)
    for moved in others[:10]:
        await committed(store, changes=(cancelling(store, moved),), expects=(expected(first),))
    await store.close()

    read = "select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relname = 'ready' and schemaname = $1"
    assert await gate.ask(read, gate.schema) < READY
