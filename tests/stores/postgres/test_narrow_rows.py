"""What moves is narrow: counted writes of a plain task, from its birth to its end."""

import re
from collections.abc import Awaitable, Callable

from taskyard.core.changes import ChangeSet, Output
from taskyard.core.task import Hot
from taskyard.stores.postgres import PostgresStore
from tests.stores.given import a_beat, a_new_task, a_set, an_attempt, committed, completing
from tests.stores.plans import a_plan, take
from tests.stores.postgres.conftest import Gate

NUMBER = 300
# What moves while a plain task goes through. An index that names one of these, in its columns or condition, keeps
# every update of the row from being done in its page alone. `due_at` and `rescore_at` of a plain task stay null.
MOVING = {
    *("status", "version", "attempt", "failures", "losses", "parks", "wait", "agent", "runtime", "started_at"),
    *("wake_at", "session", "ran", "why", "updated_at", "log"),
}
FACTS = """
select relname, n_tup_ins, n_tup_upd, n_tup_hot_upd,
  (select count(*) from pg_index where indrelid = relid and indpred is null) as indexes
from pg_stat_user_tables
where schemaname = '{schema}'
"""


def an_end(store: PostgresStore, running: Hot) -> ChangeSet:
    output = Output(running.id, 1, '{"ok":true}', (), None)
    attempts = (an_attempt(running, store.now()),)
    return a_set(store, changes=(completing(store, running),), attempts=attempts, outputs=(output,))


async def drain(connect: Callable[[], Awaitable[PostgresStore]], *, beats: bool = False) -> None:
    """Plain tasks come in, are claimed and completed, by a process that ends then, so that all it did is counted."""
    store = await connect()
    await store.commit([a_set(store, tasks=(await a_new_task(store),)) for _ in range(NUMBER)])
    for _ in range(3):
        held = (await take(store, await a_plan(store, tasks=NUMBER // 3))).tasks
        if beats:
            await store.extend([a_beat(each) for each in held])
        await store.commit([an_end(store, each) for each in held])
    await store.close()


async def counted(gate: Gate) -> dict[str, tuple[int, int, int, int]]:
    found = await gate.session.fetch(FACTS.format(schema=gate.schema))
    return {row[0]: tuple(row[1:]) for row in found}


async def test_updates_of_tasks_touch_no_index(connect: Callable[[], Awaitable[PostgresStore]], gate: Gate):
    before = await counted_of_task(gate)
    await drain(connect)
    await gate.session.execute("select pg_stat_clear_snapshot()")
    _, updated, hot, _ = [after - was for after, was in zip(await counted_of_task(gate), before, strict=True)]

    assert updated == NUMBER
    assert hot >= 0.8 * NUMBER


async def counted_of_task(gate: Gate) -> tuple[int, int, int, int]:
    return (await counted(gate)).get("task", (0, 0, 0, 0))


async def test_a_drained_plain_task_has_at_most_nine_entries_in_indexes(
    connect: Callable[[], Awaitable[PostgresStore]], gate: Gate
):
    before = await counted(gate)
    await drain(connect, beats=True)
    await gate.session.execute("select pg_stat_clear_snapshot()")
    entries: dict[str, float] = {}
    for table, (inserted, updated, hot, indexes) in (await counted(gate)).items():
        was = before.get(table, (0, 0, 0, 0))
        written = inserted - was[0] + (updated - was[1]) - (hot - was[2])
        entries[table] = written * indexes / NUMBER

    assert {name: round(each, 1) for name, each in entries.items() if each >= 1} == {
        "task": 2,  # by id: whatever a caller names; by number: joins with the narrow rows
        "definition": 2,  # by number: lists from the newest, claims; by type: lists
        "ready": 1,  # claims, best first
        "held": 3,  # by number: guards; by time: the sweep; by agent: what an agent holds
        "attempt": 1,  # the attempts of a task
    }
    # Rows of a commit, a workspace or an agent, which tasks that come together share.
    assert sum(each for each in entries.values() if each < 1) < 0.2
    assert entries["log"] < 0.2


async def test_no_index_of_tasks_names_what_moves(store: PostgresStore, gate: Gate):
    found = await gate.session.fetch(
        f"select indexdef from pg_indexes where tablename = 'task' and schemaname = '{gate.schema}'"
    )
    named = {word for row in found for word in re.findall(r"\w+", row[0].partition(" USING ")[2])}

    assert len(found) == 5
    assert not named & MOVING


async def test_claims_and_heartbeats_write_no_task(store: PostgresStore, gate: Gate):
    task = await a_new_task(store)
    await committed(store, tasks=(task,))
    row = f"select ctid::text || xmin::text || xmax::text from {gate.schema}.task where id = '{task.hot.id}'"
    before = await gate.session.fetchval(row)

    (held,) = (await take(store, await a_plan(store))).tasks
    await store.extend([a_beat(held, '"half"')])

    assert await gate.session.fetchval(row) == before
