"""Two yards are compared row by row: what is alike is counted, and what is not is named."""

from pathlib import Path

from taskyard.features.transfer.comparison import compare
from taskyard.features.transfer.service import Transfer
from taskyard.ledger.clock import ManualClock
from tests.transfer.moving import exported, given_a_lived_in_yard, opened, yard_on


async def test_a_yard_that_moved_is_alike(tmp_path: Path, clock: ManualClock):
    async with opened("memory", tmp_path, clock) as here, opened("sqlite", tmp_path, clock) as there:
        await given_a_lived_in_yard(yard_on(here), clock)
        file = await exported(here)
        imported = await Transfer(there).load(file, "yard.jsonl")

        compared = await compare(here, there)

        assert compared.ok
        assert {each for counts in compared.counts.values() for each in counts} == {"alike"}
        assert compared.counts["tasks"] == {"alike": imported.counts["task"]}
        assert compared.counts["events"] == {"alike": imported.counts["event"]}


async def test_what_differs_is_counted_and_named(tmp_path: Path, clock: ManualClock):
    async with opened("memory", tmp_path, clock) as here, opened("memory", tmp_path, clock) as there:
        moved = await yard_on(here).enqueue("code")
        await Transfer(there).load(await exported(here), "yard.jsonl")
        await yard_on(there).cancel(moved.id)
        only_here = await yard_on(here).enqueue("code")

        compared = await compare(here, there)

        assert compared.counts["tasks"] == {"differs": 1, "only_here": 1}
        named = {(each.part, each.name, each.outcome) for each in compared.differences}
        assert {("tasks", moved.id, "differs"), ("tasks", only_here.id, "only_here")} <= named
