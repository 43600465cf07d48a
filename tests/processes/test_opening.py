"""Whoever comes first founds the yard; whoever comes at the same moment finds the same one."""

import asyncio
from pathlib import Path

import pytest

import taskyard
from tests.processes.crew import Crew
from tests.storage import asked_for_by_url, url_of

TIMES = 10


@pytest.mark.parametrize("store", asked_for_by_url())
async def test_two_processes_may_open_a_fresh_yard_at_the_same_moment(store: str, tmp_path: Path, crew: Crew):
    openers = await crew.start_many(2, "opener")
    for time in range(TIMES):
        folder = tmp_path / str(time)
        folder.mkdir()
        for opener in openers:
            opener.tell(url=url_of(store, folder))
        first, second = await asyncio.gather(*(opener.hear() for opener in openers))

        assert first["secret"] == second["secret"]
        async with taskyard.connect(url_of(store, folder), sweeps=False) as yard:
            assert {task.id for task in await yard.find()} == {first["id"], second["id"]}
            assert (await yard.verify()).ok
