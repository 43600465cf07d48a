"""Scripts have what they need and no more; and what they gather is written before it is looked at again."""

import re

import pytest

from taskyard.core.changes import Count, Output, Spend
from taskyard.core.task import Status
from taskyard.stores.redis import RedisStore, scripts
from taskyard.stores.redis.encoding import FIELDS
from taskyard.stores.redis.scripts import COMMIT, COMMIT_PLAIN, Script
from tests.redis_servers import RedisServer
from tests.stores.given import (
    ELSEWHERE,
    HERE,
    a_new_task,
    a_set,
    an_attempt,
    claiming,
    committed,
    completing,
    given_a_running_task,
    given_a_task,
    given_tasks,
    row_of,
)
from tests.stores.redis.conftest import Connect

ALL = {name: script for name, script in vars(scripts).items() if isinstance(script, Script)}
STRING = r"'(?:\\.|[^'\\\n])*'"


@pytest.mark.parametrize("name", ALL)
def test_a_server_takes_every_script(server: RedisServer, name: str):
    assert server.client().script_load(ALL[name].text) == ALL[name].digest


@pytest.mark.parametrize("name", ALL)
def test_no_field_has_to_be_looked_up(name: str):
    words = set(re.findall(r"\w+", re.sub(STRING, "", ALL[name].text)))

    assert not words & {field.upper() for field in FIELDS}


def test_what_stands_between_quotes_is_no_name():
    assert "redis.call('SET'" not in COMMIT.text
    assert "'HGET'" in COMMIT.text
    assert "redis.call('TIME')" in COMMIT.text


@pytest.mark.parametrize("script", [COMMIT, COMMIT_PLAIN])
def test_functions_that_nothing_refers_to_are_left_out(script: Script):
    assert "function prune_loose(" not in script.text  # of the sweep
    assert ("function writes.remove(" in script.text) is (script is COMMIT)
    assert ("function settle_removals(" in script.text) is (script is COMMIT)


async def test_plain_tasks_come_in_and_end_by_the_short_script(store: RedisStore, server: RedisServer):
    server.client().script_flush()
    running = await given_a_running_task(store)
    await committed(
        store,
        changes=(completing(store, running),),
        attempts=(an_attempt(running, store.now()),),
        outputs=(Output(running.id, running.attempt, "null", (), None),),
        spends=(Spend(HERE, "slots:ada", -1, 0),),
        counts=(Count(HERE, "a count", 1),),
    )

    assert server.client().script_exists(COMMIT.digest, COMMIT_PLAIN.digest) == [False, True]


async def test_a_set_sees_what_the_set_before_it_wrote(store: RedisStore):
    (waiting,) = await given_tasks(store, 1)
    claimed = claiming(waiting, now=store.now())
    ended = completing(store, claimed.after)
    await store.commit([a_set(store, changes=(claimed,)), a_set(store, changes=(ended,))])

    assert (await row_of(store, waiting.id)).status is Status.COMPLETED


async def test_held_tasks_of_one_type_are_counted_by_workspace(store: RedisStore):
    tasks = [await given_a_task(store, workspace=workspace) for workspace in (HERE, ELSEWHERE, HERE)]
    await store.commit([a_set(store, changes=(claiming(task, now=store.now()),)) for task in tasks])

    held = [await store.tally(workspace) for workspace in (HERE, ELSEWHERE)]
    assert [each[Status.RUNNING, "code"] for each in held] == [2, 1]  # and `checks` counts after each test


async def test_more_rows_than_one_command_takes_are_written_and_read(connect: Connect):
    store = await connect()
    tasks = tuple([await a_new_task(store) for _ in range(2_100)])
    await committed(store, tasks=tasks)
    rows = list((await store.load([task.hot.id for task in tasks])).values())
    await committed(store, changes=tuple(claiming(row, now=store.now()) for row in rows))

    found = (await store.load([row.id for row in rows])).values()
    assert {(row.id, row.seq, row.status) for row in found} == {(row.id, row.seq, Status.RUNNING) for row in rows}
