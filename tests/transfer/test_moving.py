"""A yard moves from every store to every store: what arrives is what was there, and work goes on with it."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from taskyard.core.changes import RecordChange
from taskyard.core.errors import ImportUnfinished, InvalidInput, YardMoved
from taskyard.features.transfer import service
from taskyard.features.transfer.service import Transfer
from taskyard.ledger.clock import ManualClock
from taskyard.stores.copies import Copy, CopyPlace, YardPart
from tests.model.choosing import Chooser, opening
from tests.model.playing import stage
from tests.model.running import Run
from tests.transfer.moving import PAIRS, STORES, exported, given_a_lived_in_yard, lines_of, opened, yard_on
from tests.yards import Died, events_of, given_a_running_task, given_an_agent

Restore = Callable[[Sequence[Copy], RecordChange], Awaitable[bool]]


@pytest.mark.parametrize(("source", "target"), PAIRS)
async def test_what_arrives_is_what_was_there(source: str, target: str, tmp_path: Path, clock: ManualClock):
    async with opened(source, tmp_path, clock) as here, opened(target, tmp_path, clock) as there:
        await given_a_lived_in_yard(yard_on(here), clock)
        file = await exported(here)

        imported = await Transfer(there).load(file, "yard.jsonl")

        assert imported.counts["task"] == len(await yard_on(here).find())
        assert lines_of(await exported(there)) == lines_of(file)
        verified = await yard_on(there).verify()
        assert verified.ok, str(verified)


@pytest.mark.parametrize(("source", "target", "seed"), [(*pair, seed) for seed, pair in enumerate(PAIRS)])
async def test_a_yard_with_any_history_arrives_whole(
    source: str, target: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Another history for each pair of stores: what is exported does not depend on where it goes."""
    monkeypatch.setattr(service, "STEP", 7)
    run = Run(stage([source], tmp_path))
    chooser = Chooser(seed, run.seen)
    await run.open()
    try:
        for step in opening():
            await run.step(step)
        for _ in range(40):
            await run.step(chooser.next())
        here = run.sides[0].store
        async with opened(target, tmp_path, run.clock) as there:
            file = await exported(here)
            imported = await Transfer(there).load(file, "yard.jsonl")

            assert lines_of(await exported(there)) == lines_of(file)
            for workspace in imported.workspaces:
                before, after = [await yard_on(each, workspace).verify() for each in (here, there)]
                assert after == before, str(after)
    finally:
        await run.close()


async def test_a_lone_task_that_spawned_arrives_as_the_first_of_its_dag(tmp_path: Path, clock: ManualClock):
    async with opened("memory", tmp_path, clock) as here, opened("sqlite", tmp_path, clock) as there:
        old = yard_on(here)
        held = await given_a_running_task(old)
        await old.tasks.spawn(held.id, held.lease, [{"type": "code"}], name="more")
        dag_id = (await old.get(held.id)).dag_id
        file = await exported(here)

        await Transfer(there).load(file, "yard.jsonl")

        assert dag_id is not None
        assert (await yard_on(there).get(held.id)).dag_id == dag_id
        assert lines_of(await exported(there)) == lines_of(file)


@pytest.mark.parametrize(("source", "target"), PAIRS)
async def test_work_goes_on_where_it_was(source: str, target: str, tmp_path: Path, clock: ManualClock):
    async with opened(source, tmp_path, clock) as here, opened(target, tmp_path, clock) as there:
        old, new = yard_on(here), yard_on(there)
        held = await given_a_running_task(old, "code", by="coder", idempotency_key="once")
        await given_an_agent(old, "other")
        ready = [(await old.enqueue("code", priority=priority)).id for priority in (50, 10, 50)]
        seen = (await old.events())[-1].seq
        await Transfer(there).load(await exported(here), "yard.jsonl")

        await new.complete(held.id, held.lease, {"by": "the one that held it"})
        claimed = await new.claim("other", count=9)
        later = [stored.event.task_id for stored in await new.events(after=seen)]

        assert (await new.get(held.id)).output.data == {"by": "the one that held it"}
        assert [each.id for each in claimed] == [ready[1], ready[0], ready[2]]
        assert later[0] == held.id
        assert not (await new.enqueue("code", idempotency_key="once")).created


@pytest.mark.parametrize("target", STORES)
async def test_what_is_pruned_later_takes_along_no_event_of_another_task(
    target: str, tmp_path: Path, clock: ManualClock
):
    async with opened("memory", tmp_path, clock) as here, opened(target, tmp_path, clock) as there:
        await given_an_agent(yard_on(here), "worker")
        await yard_on(here).enqueue_many([{"type": "code"} for _ in range(4)])
        await Transfer(there).load(await exported(here), "yard.jsonl")
        yard = yard_on(there)
        first, second, *_ = await yard.claim("worker", count=4, start=True)
        await yard.complete(first.id, first.lease, 1)
        clock.advance(seconds=30 * 24 * 3600)
        await yard.complete(second.id, second.lease, 2)
        await yard.sweep()

        assert [task.id for task in await yard.find(type="code")].count(first.id) == 0
        assert await events_of(yard, second.id) == ["task.created", "task.running", "task.completed"]
        verified = await yard.verify()
        assert verified.ok, str(verified)


@pytest.mark.parametrize("target", STORES)
async def test_a_lease_that_nobody_keeps_ends_after_one_more_of_its_length(
    target: str, tmp_path: Path, clock: ManualClock
):
    async with opened("memory", tmp_path, clock) as here, opened(target, tmp_path, clock) as there:
        held = await given_a_running_task(yard_on(here), "code", by="coder")
        await yard_on(here).sweep()
        await Transfer(there).load(await exported(here), "yard.jsonl")
        clock.advance(seconds=3600)
        await yard_on(there).sweep()
        assert (await yard_on(there).get(held.id)).status == "running"

        for _ in range(8):
            clock.advance(seconds=20)
            await yard_on(there).sweep()

        assert (await yard_on(there).get(held.id)).status != "running"


def dying_after(steps: int, restore: Restore) -> Restore:
    """Storing copies, by a process that dies at a step of the import."""
    left = [steps]

    async def restore_or_die(copies: Sequence[Copy], progress: RecordChange) -> bool:
        if left[0] == 0:
            raise Died
        left[0] -= 1
        return await restore(copies, progress)

    return restore_or_die


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
@pytest.mark.parametrize("target", STORES)
async def test_an_interrupted_import_is_refused_until_the_same_file_ends_it(
    target: str, steps: int, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(service, "STEP", 5)
    async with opened("memory", tmp_path, clock) as here, opened(target, tmp_path, clock) as there:
        await given_a_lived_in_yard(yard_on(here), clock)
        file = await exported(here)
        with monkeypatch.context() as patched:
            patched.setattr(there, "restore", dying_after(steps, there.restore))
            with pytest.raises(Died):
                await Transfer(there).load(file, "yard.jsonl")

        if steps:
            with pytest.raises(ImportUnfinished):
                await service.refuse_unfinished(there)
            with pytest.raises(ImportUnfinished):
                await exported(there)
            with pytest.raises(ImportUnfinished):
                await Transfer(there).load(await exported(here), "another.jsonl")
        imported = await Transfer(there).load(file, "yard.jsonl")

        assert bool(imported.resumed_after) == (steps > 1)
        assert lines_of(await exported(there)) == lines_of(file)


async def test_an_import_goes_into_an_empty_store_only(tmp_path: Path, clock: ManualClock):
    async with opened("memory", tmp_path, clock) as here, opened("memory", tmp_path, clock) as there:
        await yard_on(here).enqueue("code")
        await yard_on(there).enqueue("code")

        with pytest.raises(InvalidInput, match="must name an empty store"):
            await Transfer(there).load(await exported(here), "yard.jsonl")
        assert len(await yard_on(there).find()) == 1


async def test_an_import_does_not_go_into_a_store_that_somebody_sweeps(tmp_path: Path, clock: ManualClock):
    async with opened("memory", tmp_path, clock) as here, opened("memory", tmp_path, clock) as there:
        await there.take_duty("sweep", clock.now(), clock.now())

        with pytest.raises(InvalidInput, match="not in use"):
            await Transfer(there).load(await exported(here), "yard.jsonl")


@pytest.mark.parametrize("write", ["enqueue", "configure"])
async def test_an_export_is_refused_where_the_yard_moved(
    write: str, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    async with opened("memory", tmp_path, clock) as here:
        yard = yard_on(here)
        await yard.enqueue("code")
        dump = here.dump

        async def dump_beside_a_writer(part: YardPart, after: CopyPlace, limit: int) -> list[Copy]:
            found = await dump(part, after, limit)
            if part is YardPart.TASKS and not after:
                await (yard.enqueue("code") if write == "enqueue" else yard.queues.pause("slow"))
            return found

        monkeypatch.setattr(here, "dump", dump_beside_a_writer)
        with pytest.raises(YardMoved):
            await exported(here)


async def test_one_workspace_moves_alone(tmp_path: Path, clock: ManualClock):
    async with opened("memory", tmp_path, clock) as here, opened("sqlite", tmp_path, clock) as there:
        await given_a_lived_in_yard(yard_on(here, "mine"), clock)
        await given_a_lived_in_yard(yard_on(here, "theirs"), clock)

        imported = await Transfer(there).load(await exported(here, "mine"), "yard.jsonl")

        assert imported.workspaces == ("mine",)
        assert len(await yard_on(there, "mine").find()) == len(await yard_on(here, "mine").find())
        assert await yard_on(there, "theirs").find() == []
        assert [each.schedule.id for each in await yard_on(there, "mine").schedules.list()] == ["nightly"]
        verified = await yard_on(there, "mine").verify()
        assert verified.ok, str(verified)


async def test_secrets_can_be_left_out(tmp_path: Path, clock: ManualClock):
    async with opened("memory", tmp_path, clock) as here, opened("memory", tmp_path, clock) as there:
        await given_a_lived_in_yard(yard_on(here), clock)
        file = await exported(here, with_secrets=False)
        await Transfer(there).load(file, "yard.jsonl")

        assert here.secret.hex().encode() not in file.getvalue()
        assert await yard_on(there).tokens.list() == []
        assert len(await yard_on(here).tokens.list()) == 1
