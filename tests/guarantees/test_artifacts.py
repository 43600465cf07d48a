"""Artifacts: only what the accepted attempt put can be seen, it is what was put, and nothing else is left behind."""

import io
from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput, LeaseLost, NotFound, TooLarge
from taskyard.features.artifacts.content import Content
from taskyard.ledger.clock import ManualClock
from taskyard.outbound.object_store import Objects
from taskyard.yard import Yard
from tests.files import content_of, objects_in, path_of, put_by
from tests.sources.words import behind
from tests.yards import Died, OpenYard, claim_that, elapse, given_a_running_task, given_an_agent

HOUR = 3600


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "objects"


@pytest.fixture
async def yard(open_yard: OpenYard, folder: Path) -> Yard:
    return await open_yard(artifacts=folder.as_uri(), max_artifact_bytes=10_000_000)


async def clear(yard: Yard, clock: ManualClock, seconds: float = 61) -> None:
    """Let time pass, and errands be run."""
    clock.advance(seconds=seconds)
    await yard.sweep()
    await yard.host.run_outbox()


async def run_again(yard: Yard, clock: ManualClock, task_id: str) -> Any:
    await elapse(yard, clock, 400)
    return await claim_that(yard, task_id, start=True)


# Seeing


async def test_an_artifact_is_seen_from_the_completion_on(yard: Yard):
    held = await given_a_running_task(yard)
    stored = await yard.artifacts.put(
        "report.md", "# Done", task_id=held.id, lease=held.lease, media_type="text/markdown"
    )
    with pytest.raises(NotFound):
        await yard.artifacts.get(stored.id)

    await yard.complete(held.id, held.lease, {"ok": True})

    assert await yard.artifacts.get(stored.id) == stored
    assert (stored.name, stored.size, stored.media_type) == ("report.md", 6, "text/markdown")
    assert stored.sha256 == sha256(b"# Done").hexdigest()
    assert await content_of(yard, stored.reference) == b"# Done"
    assert [each.id for each in await yard.artifacts.list(task_id=held.id)] == [stored.id]
    output: Any = (await yard.get(held.id)).to_dict()["output"]
    assert output["artifacts"] == [stored.reference]


async def test_what_an_attempt_put_that_lost_its_lease_is_never_seen_and_is_cleared_away(
    yard: Yard, clock: ManualClock, folder: Path
):
    stale = await given_a_running_task(yard)
    lost = await put_by(yard, stale, data="of a zombie")
    again = await run_again(yard, clock, stale.id)
    with pytest.raises(LeaseLost):
        await put_by(yard, stale, "late.md")
    kept = await put_by(yard, again, data="of its successor")
    await yard.complete(again.id, again.lease)
    await clear(yard, clock)

    assert [each.id for each in await yard.artifacts.list()] == [kept]
    with pytest.raises(NotFound):
        await yard.artifacts.get(lost)
    assert objects_in(folder) == [kept]


async def test_a_lease_that_is_lost_while_the_file_comes_makes_it_nothing(yard: Yard, clock: ManualClock, folder: Path):
    held = await given_a_running_task(yard)

    async def slowly() -> AsyncIterator[bytes]:
        yield b"the first half"
        await elapse(yard, clock, 100)
        yield b"the second"

    with pytest.raises(LeaseLost):
        await yard.artifacts.put("slow.bin", slowly(), task_id=held.id, lease=held.lease)
    assert objects_in(folder) == []


@pytest.mark.parametrize("ending", ["fail", "cancel", "release"])
async def test_what_came_of_an_attempt_that_did_not_end_well_is_cleared_away(
    yard: Yard, clock: ManualClock, folder: Path, ending: str
):
    held = await given_a_running_task(yard)
    await put_by(yard, held)
    assert len(objects_in(folder)) == 1

    match ending:
        case "fail":
            await yard.fail(held.id, held.lease, "crash")
        case "release":
            await yard.release(held.id, held.lease)
        case _:
            await yard.cancel(held.id)
    await clear(yard, clock)

    assert (await yard.artifacts.list(), objects_in(folder)) == ([], [])


async def test_what_was_put_before_a_wait_is_there_when_the_handler_goes_on(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    before = await put_by(yard, held, "plan.md", "to be approved")
    await yard.attempts.wait_for(held.id, held.lease, "approval", "approve")
    await clear(yard, clock)
    await yard.signal(held.id, "approve", True)
    again = await claim_that(yard, held.id, start=True)
    await yard.complete(again.id, again.lease)

    assert [each.id for each in await yard.artifacts.list()] == [before]
    assert await content_of(yard, before) == b"to be approved"


async def test_a_name_that_is_put_again_takes_the_place_of_the_first(yard: Yard, clock: ManualClock, folder: Path):
    held = await given_a_running_task(yard)
    first = await put_by(yard, held, "notes.txt", "one")
    await put_by(yard, held, "other.txt", "other")
    second = await put_by(yard, held, "notes.txt", "two")
    await yard.complete(held.id, held.lease)
    await clear(yard, clock)

    assert {each.name: each.id for each in await yard.artifacts.list()}["notes.txt"] == second
    assert first not in objects_in(folder)
    assert len(objects_in(folder)) == 2


async def test_a_yard_clears_away_only_what_is_over(yard: Yard, clock: ManualClock, folder: Path):
    held = await given_a_running_task(yard, timeouts={"lease_sec": 10 * HOUR})
    await put_by(yard, held)

    await clear(yard, clock, 3 * HOUR)

    assert len(objects_in(folder)) == 1
    await yard.complete(held.id, held.lease)
    await clear(yard, clock, 3 * HOUR)
    assert len(await yard.artifacts.list()) == 1


# Referring


async def test_an_artifact_is_an_input_of_what_refers_to_it_or_depends_on_its_task(yard: Yard):
    await given_an_agent(yard, "worker")
    given = await yard.artifacts.put("brief.pdf", b"%PDF")
    dag = await yard.submit(
        {
            "tasks": [
                {"name": "a", "type": "code", "context_refs": [given.reference]},
                {"type": "test", "depends_on": ["a"]},
            ]
        }
    )
    first = await claim_that(yard, dag.tasks["a"].id, start=True)
    made = await put_by(yard, first)
    await yard.complete(first.id, first.lease, "done")

    read: Any
    (read,) = await yard.tasks.inputs(first.id)
    assert (read.ref, read.inlined, read.data["name"]) == (given.reference, False, "brief.pdf")
    passed_on = await yard.tasks.inputs(dag.tasks["#1"].id)
    assert [each.ref for each in passed_on] == [f"task:{first.id}:output", f"artifact:{made}"]


async def test_an_output_may_name_only_artifacts_that_are_there(yard: Yard):
    other = await given_a_running_task(yard, by="other")
    theirs = await put_by(yard, other)
    held = await given_a_running_task(yard)

    for unknown in (f"artifact:{theirs}", "artifact:art_01J8ZZZZZZZZZZZZZZZZZZZZZZ", "artifact:../x"):
        with pytest.raises(InvalidInput) as refused:
            await yard.complete(held.id, held.lease, artifacts=[unknown])
        assert refused.value.facts["field"] == "artifacts"

    await yard.complete(held.id, held.lease, artifacts=["https://elsewhere.example/build"])


async def test_a_workspace_does_not_see_anothers_artifacts(open_yard: OpenYard, folder: Path):
    here, there = (
        await open_yard(artifacts=folder.as_uri()),
        await open_yard(artifacts=folder.as_uri(), workspace="there"),
    )
    mine = await here.artifacts.put("mine.txt", "secret")
    task = await there.enqueue("code", context_refs=[mine.reference])

    with pytest.raises(NotFound):
        await there.artifacts.get(mine.id)
    with pytest.raises(NotFound):
        await content_of(there, mine.id)
    assert (await there.artifacts.list(), await there.tasks.inputs(task.id)) == ([], [])


# Content


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (lambda: "text", b"text"),
        (lambda: b"", b""),
        (lambda: bytearray(b"bytes"), b"bytes"),
        (lambda: memoryview(b"view"), b"view"),
        (lambda: io.BytesIO(b"file"), b"file"),
        (lambda: [b"a", b"b"], b"ab"),
    ],
    ids=["text", "nothing", "bytearray", "view", "file", "pieces"],
)
async def test_content_may_be_given_in_many_ways(yard: Yard, data: Callable[[], Content], expected: bytes):
    stored = await yard.artifacts.put("a.bin", data())

    assert (await content_of(yard, stored.id), stored.size) == (expected, len(expected))


async def test_a_file_is_read_from_where_it_is(yard: Yard, tmp_path: Path):
    path = tmp_path / "big.bin"
    path.write_bytes(bytes(range(256)) * 20_000)
    stored = await yard.artifacts.put("big.bin", path)

    assert await content_of(yard, stored.id) == path.read_bytes()
    assert b"".join([piece async for piece in yard.artifacts.read(stored.id, start=255, end=258)]) == b"\xff\x00\x01"
    with pytest.raises(InvalidInput):
        await yard.artifacts.put("none.bin", tmp_path / "missing")


async def test_more_than_may_be_stored_is_refused(yard: Yard, folder: Path):
    with pytest.raises(TooLarge):
        await yard.artifacts.put("long.bin", [b"x" * 1_000_000] * 25)

    assert objects_in(folder) == []


async def test_content_that_is_not_what_its_sender_stated_is_refused(yard: Yard, folder: Path):
    with pytest.raises(InvalidInput) as refused:
        await yard.artifacts.put("a.txt", "changed on the way", digest=sha256(b"as it was").hexdigest())

    assert refused.value.facts["field"] == "digest"
    assert objects_in(folder) == []
    await yard.artifacts.put("a.txt", "as it was", digest=sha256(b"as it was").hexdigest())


# Crashes


async def test_an_object_whose_record_never_came_is_cleared_away(
    yard: Yard, clock: ManualClock, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    written = Objects.write

    async def written_and_died(*given: Any, **more: Any) -> Any:
        await written(*given, **more)
        raise Died

    monkeypatch.setattr(Objects, "write", written_and_died)
    process = behind(yard)  # it is the one with the store that dies
    with pytest.raises(Died):
        await process.artifacts.put("lost.txt", "nobody knows of it")
    assert len(objects_in(folder)) == 1

    await clear(yard, clock, HOUR)
    assert len(objects_in(folder)) == 1  # it could still be on its way
    await clear(yard, clock, 2 * HOUR)
    assert (objects_in(folder), await yard.store.records("loose")) == ([], [])


async def test_who_dies_while_clearing_away_leaves_it_to_the_next(
    yard: Yard, clock: ManualClock, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    held = await given_a_running_task(yard)
    await put_by(yard, held)
    await yard.fail(held.id, held.lease, "crash")

    async def died(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(Objects, "remove", died)
        with pytest.raises(Died):
            await clear(yard, clock)
    assert (await yard.store.records("artifact"), len(objects_in(folder))) == ([], 1)

    await clear(yard, clock)
    assert (await yard.store.records("loose"), objects_in(folder)) == ([], [])


# Housekeeping


async def test_artifacts_are_pruned_with_their_tasks(yard: Yard, clock: ManualClock, folder: Path):
    held = await given_a_running_task(yard)
    await put_by(yard, held)
    await yard.complete(held.id, held.lease)
    lone = await yard.artifacts.put("kept.txt", "by itself")

    await clear(yard, clock, 8 * 24 * HOUR)

    assert [each.id for each in await yard.artifacts.list()] == [lone.id]
    assert objects_in(folder) == [lone.id]


async def test_an_artifact_is_let_go_of_in_the_commit_that_prunes_its_task(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard)
    made = await put_by(yard, held)
    await yard.complete(held.id, held.lease)
    clock.advance(seconds=8 * 24 * HOUR)

    await yard.sweep()

    assert await yard.find() == []
    assert await yard.store.records("artifact") == []
    assert [record.id for record in await yard.store.records("loose")] == [made]


async def test_one_that_was_put_in_by_itself_is_removed_by_hand_and_a_tasks_is_not(yard: Yard, folder: Path):
    lone = await yard.artifacts.put("a.txt", "by itself")
    held = await given_a_running_task(yard)
    made = await put_by(yard, held)
    await yard.complete(held.id, held.lease)

    await yard.artifacts.remove(lone.id)
    with pytest.raises(InvalidInput):
        await yard.artifacts.remove(made)

    assert objects_in(folder) == [made]
    with pytest.raises(NotFound):
        await yard.artifacts.get(lone.id)


async def test_many_are_listed_in_pages(yard: Yard):
    ids = [(await yard.artifacts.put(f"{number}.txt", str(number))).id for number in range(5)]

    first = await yard.artifacts.list(limit=3)
    rest = await yard.artifacts.list(limit=3, cursor=first[-1].id)

    assert [each.id for each in [*first, *rest]] == ids[::-1]


# Checking


@pytest.mark.parametrize("harm", ["changed", "gone"])
async def test_verify_finds_content_that_is_not_what_was_put(yard: Yard, folder: Path, harm: str):
    held = await given_a_running_task(yard)
    made = await put_by(yard, held)
    await yard.complete(held.id, held.lease)
    assert (await yard.verify()).ok
    path = path_of(folder, made)
    before = path.read_bytes()

    path.write_bytes(b"# Don't") if harm == "changed" else path.unlink()
    problems = (await yard.verify()).problems
    path.write_bytes(before)

    assert len(problems) == 1
    assert made in problems[0]


async def test_without_a_place_nothing_is_stored_and_the_error_says_what_to_set(open_yard: OpenYard):
    yard = await open_yard()

    with pytest.raises(InvalidInput) as refused:
        await yard.artifacts.put("a.txt", "nowhere")

    assert "TASKYARD_ARTIFACTS" in str(refused.value)
    assert await yard.store.records("loose") == []
