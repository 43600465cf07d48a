"""What is drawn and written under locks goes in one statement: round trips of the paths that lock first."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from taskyard.core.changes import Expect
from taskyard.core.units import MicroUsd
from taskyard.stores.postgres import PostgresStore
from taskyard.stores.postgres.connection.session import PostgresSession
from tests.stores.given import a_new_task, cancelling, committed, given_a_task, history
from tests.stores.plans import a_plan, take


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


async def test_a_commit_that_relies_on_another_task_locks_and_writes(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    moved, other, new = await given_a_task(store), await given_a_task(store), await a_new_task(store)
    expects = (Expect(other.id, other.version, other.status),)

    with statements(monkeypatch) as sent:
        await committed(store, changes=(cancelling(store, moved),), tasks=(new,), expects=expects)

    assert await history(store, moved.id) == ["task.created", "task.cancelled"]
    assert len(sent) == 2
