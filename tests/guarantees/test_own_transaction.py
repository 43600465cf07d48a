"""A task that is put in inside the caller's own transaction commits or vanishes with it."""

import sqlite3
from pathlib import Path

import apsw
import pytest

import taskyard
from taskyard import InvalidInput
from taskyard.app import Yard


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "yard.db"


async def types(yard: Yard) -> list[str]:
    return sorted(task.type for task in await yard.find())


async def test_it_commits_and_vanishes_with_the_callers_own_rows(file: Path) -> None:
    async with taskyard.connect(f"sqlite:///{file}", sweeps=False) as yard:
        mine = apsw.Connection(str(file))
        mine.execute("create table orders (id integer primary key)")

        mine.execute("begin")
        mine.execute("insert into orders default values")
        kept = await yard.tasks.enqueue_in(mine, "ship", payload={"order": 1}, tags=["new"], priority=10)
        assert await types(yard) == []
        mine.execute("commit")
        mine.execute("begin")
        mine.execute("insert into orders default values")
        await yard.tasks.enqueue_in(mine, "never", payload={"order": 2})
        mine.execute("rollback")

        assert mine.execute("select count(*) from orders").get == 1
        mine.close()
        assert await types(yard) == ["ship"]
        await yard.agents.register("worker")
        (held,) = await yard.claim("worker", start=True)
        assert (held.id, held.payload) == (kept.id, {"order": 1})
        await yard.complete(held.id, held.lease)
        assert (await yard.verify()).ok


async def test_neighbours_are_not_disturbed(file: Path) -> None:
    async with taskyard.connect(f"sqlite:///{file}", sweeps=False) as yard:
        await yard.enqueue("before")
        mine = apsw.Connection(str(file))
        with mine:
            await yard.tasks.enqueue_in(mine, "inside", run_after="2040-01-01T00:00:00Z")
        mine.close()
        await yard.enqueue("after")

        assert await types(yard) == ["after", "before", "inside"]
        assert (await yard.verify()).ok


async def test_a_key_that_is_taken_gives_the_task_that_has_it(file: Path) -> None:
    async with taskyard.connect(f"sqlite:///{file}", sweeps=False) as yard:
        there = await yard.enqueue("code", idempotency_key="k")
        mine = apsw.Connection(str(file))
        mine.execute("begin")
        again = await yard.tasks.enqueue_in(mine, "code", idempotency_key="k")
        mine.execute("commit")
        mine.close()

        assert (again.id, again.created) == (there.id, False)


async def test_what_breaks_a_rule_is_refused_and_the_transaction_stays_usable(file: Path) -> None:
    async with taskyard.connect(f"sqlite:///{file}", sweeps=False) as yard:
        mine = apsw.Connection(str(file))
        with mine:
            with pytest.raises(InvalidInput):
                await yard.tasks.enqueue_in(mine, " ")
            await yard.tasks.enqueue_in(mine, "good")
        mine.close()

        assert await types(yard) == ["good"]


async def test_another_copy_of_the_engine_is_refused_for_it_would_break_the_yards_locks(file: Path) -> None:
    async with taskyard.connect(f"sqlite:///{file}", sweeps=False) as yard:
        elsewhere = sqlite3.connect(":memory:")
        with pytest.raises(InvalidInput, match=r"apsw\.Connection"):
            await yard.tasks.enqueue_in(elsewhere, "code")
        elsewhere.close()


async def test_a_yard_that_has_no_transactions_says_so() -> None:
    async with taskyard.connect("memory://", sweeps=False) as yard:
        with pytest.raises(InvalidInput, match="connection"):
            await yard.tasks.enqueue_in(object(), "code")
