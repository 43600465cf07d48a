"""Background subagents: started at once, written down while they work, and told of exactly once."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput, LeaseLost, NotFound
from taskyard.core.task import Status
from taskyard.features.subagents.views import StartedSubagent
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import claim_that, definition_of, elapse, fail_once, given_an_agent

PARENT = ("lead", "c1")


async def start(yard: Yard, **facts: Any) -> StartedSubagent:
    given: dict[str, Any] = {"description": "Look around", **facts}
    return await yard.subagents.start("explore", "What is here?", parent=PARENT[0], conversation=PARENT[1], **given)


async def notifications(yard: Yard) -> list[dict[str, Any]]:
    """What the parent's inbox was told, taken out of it."""
    found: list[dict[str, Any]] = []
    while (batch := (await yard.inbox.take(*PARENT, hold_sec=0)).batch) is not None:
        found += [item.content for item in batch.items if isinstance(item.content, dict)]
    return found


def lines(begun: StartedSubagent) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(begun.output_file).read_text().splitlines()]


def folder(begun: StartedSubagent) -> list[Path]:
    return list(Path(begun.output_file).parent.iterdir())


def leave_unfinished(begun: StartedSubagent) -> None:
    with Path(begun.output_file).open("a") as file:
        file.write('{"seq":3,"ev')


def put_a_link_in_its_place(begun: StartedSubagent, target: Path) -> None:
    Path(begun.output_file).unlink()
    Path(begun.output_file).symlink_to(target)


def happenings(begun: StartedSubagent) -> list[str]:
    return [line["event"] for line in lines(begun)]


async def test_a_subagent_is_there_at_once_with_its_task_and_its_file(yard: Yard, tmp_path: Path):
    begun = await start(yard, model="large", max_turns=7, tool_call_id="call-1", fields={"priority": 5})

    task = await yard.get(begun.task_id)
    assert (task.type, task.prompt, task.priority) == ("explore", "What is here?", 5)
    assert task.models == ("large",)
    assert task.payload["subagent"] == {
        "subagent_id": begun.subagent_id,
        "description": "Look around",
        "max_turns": 7,
        "tool_call_id": "call-1",
    }
    assert Path(begun.output_file) == tmp_path / "transcripts" / f"{begun.task_id}.jsonl"
    assert happenings(begun) == ["subagent.started", "task.created"]


async def test_an_existing_agent_goes_on_with_an_existing_conversation(yard: Yard):
    begun = await start(yard, agent_id="coder-1", conversation_id="conversation-7")

    definition = await definition_of(yard, begun.task_id)
    assert (definition.agent, definition.session_id) == ("coder-1", "conversation-7")


async def test_the_transcript_grows_while_the_subagent_works(yard: Yard, clock: ManualClock):
    begun = await start(yard)
    held = await claim_that(yard, begun.task_id, by=await given_an_agent(yard), start=True)
    await yard.attempts.message(held.id, held.lease, "I see a door")
    await elapse(yard, clock, 1)
    assert lines(begun)[-1]["payload"]["text"] == "I see a door"

    await yard.progress(held.id, held.lease, {"fraction": 0.5})
    await yard.complete(held.id, held.lease, {"found": "a key"})
    await elapse(yard, clock, 2)
    await elapse(yard, clock, 2)

    assert happenings(begun) == [
        *("subagent.started", "task.created", "task.running", "task.message", "task.progress", "task.completed"),
    ]
    assert lines(begun)[-1]["output"] == {"found": "a key"}
    assert [line["event"] for line in await yard.subagents.transcript(begun.task_id)] == happenings(begun)


async def test_who_hears_of_the_end_finds_the_transcript_whole(yard: Yard):
    begun = await start(yard)
    held = await claim_that(yard, begun.task_id, by=await given_an_agent(yard), start=True)
    await yard.complete(held.id, held.lease, "done")

    (told,) = await notifications(yard)

    assert told["output_file"] == begun.output_file
    assert lines(begun)[-1]["output"] == "done"


async def test_the_parent_is_notified_once_however_many_attempts_it_took(yard: Yard, clock: ManualClock):
    begun = await start(yard, tool_call_id="call-1", fields={"max_attempts": 5})
    await given_an_agent(yard)
    await fail_once(yard, clock, begun.task_id)
    failed = await claim_that(yard, begun.task_id, start=True)
    spent = await yard.fail(failed.id, failed.lease, "crash", cost_usd="0.10", tokens_input=90, tokens_output=10)
    assert spent.wake_at is not None
    await elapse(yard, clock, (spent.wake_at - yard.now()) / 1_000_000 + 1)
    held = await claim_that(yard, begun.task_id, start=True)
    released = await yard.release(held.id, held.lease)
    assert released.status is Status.READY
    last = await claim_that(yard, begun.task_id, start=True)
    for _ in range(3):
        await yard.complete(last.id, last.lease, {"found": 1}, cost_usd="0.025", tokens_input=900, tokens_output=100)
    with pytest.raises(LeaseLost):
        await yard.complete(held.id, held.lease, {"found": "too late"})

    assert await notifications(yard) == [
        {
            "task_id": begun.task_id,
            "subagent_id": begun.subagent_id,
            "tool_call_id": "call-1",
            "status": "completed",
            "summary": 'Agent "Look around" completed',
            "result": {"found": 1},
            "usage": {
                "attempts": 4,
                "cost_usd": "0.125",
                "tokens_used": {"input": 990, "output": 110, "cache_read": 0, "cache_write": 0},
                "total_tokens": 1100,
            },
            "output_file": begun.output_file,
        }
    ]


async def test_one_that_fails_for_good_is_reported_as_failed(yard: Yard, clock: ManualClock):
    begun = await start(yard, fields={"max_attempts": 2})
    await given_an_agent(yard)
    await fail_once(yard, clock, begun.task_id)
    await fail_once(yard, clock, begun.task_id)

    (told,) = await notifications(yard)

    assert (told["status"], told["error"]) == ("failed", "crash: ")


async def test_one_whose_agent_dies_is_reported_when_its_time_is_over(yard: Yard, clock: ManualClock):
    begun = await start(yard, fields={"max_attempts": 1})
    await claim_that(yard, begun.task_id, by=await given_an_agent(yard), start=True)

    await elapse(yard, clock, 120)

    (told,) = await notifications(yard)
    assert (told["status"], told["error"]) == ("failed", "heartbeat_timeout: no heartbeat in time")


async def test_one_that_is_cancelled_is_reported_as_cancelled(yard: Yard):
    begun = await start(yard)

    await yard.cancel(begun.task_id, "not needed")
    await yard.cancel(begun.task_id, "not needed")

    (told,) = await notifications(yard)
    assert told["usage"]["attempts"] == 0
    assert (told["status"], told["summary"], told["error"]) == (
        *("cancelled", 'Agent "Look around" was cancelled', "not needed"),
    )


async def test_a_silent_one_is_reported_to_nobody(yard: Yard):
    begun = await start(yard, silent=True)
    held = await claim_that(yard, begun.task_id, by=await given_an_agent(yard), start=True)
    await yard.complete(held.id, held.lease)

    assert await notifications(yard) == []
    assert (await yard.subagents.get(begun.task_id)).status == "completed"


async def test_a_dead_one_that_a_person_revives_is_reported_again_when_it_ends_again(yard: Yard, clock: ManualClock):
    begun = await start(yard, fields={"max_attempts": 1})
    await given_an_agent(yard)
    held = await claim_that(yard, begun.task_id, start=True)
    await yard.fail(held.id, held.lease, "crash")
    await elapse(yard, clock, 2)
    await yard.dead_letters.resolve(begun.task_id, "retry", by="human:ada")
    again = await claim_that(yard, begun.task_id, start=True)
    await yard.attempts.message(again.id, again.lease, "another try")
    await elapse(yard, clock, 2)
    assert lines(begun)[-1]["payload"]["text"] == "another try"
    await yard.complete(again.id, again.lease)

    assert [told["status"] for told in await notifications(yard)] == ["failed", "completed"]


async def test_many_that_end_at_once_are_each_reported_once(yard: Yard):
    begun = [await start(yard) for _ in range(20)]
    held = await yard.claim(await given_an_agent(yard), count=20, start=True)

    await asyncio.gather(*(yard.complete(each.id, each.lease) for each in held))

    told = [each["task_id"] for each in await notifications(yard)]
    assert sorted(told) == sorted(each.task_id for each in begun)


async def test_an_inbox_that_is_full_loses_no_notification(yard: Yard):
    for number in range(100):
        await yard.inbox.put(*PARENT, number)
    begun = await start(yard)
    held = await claim_that(yard, begun.task_id, by=await given_an_agent(yard), start=True)
    await yard.complete(held.id, held.lease)
    assert (await yard.inbox.peek(*PARENT)).inbox.queue_len == 100

    first = (await yard.inbox.take(*PARENT)).batch

    assert first is not None
    assert [item.content for item in first.items] == list(range(100))
    assert [told["task_id"] for told in await notifications(yard)] == [begun.task_id]


async def test_the_same_tool_call_again_gets_the_same_subagent(yard: Yard):
    first = await start(yard, tool_call_id="call-1")

    again = await asyncio.gather(*(start(yard, tool_call_id="call-1") for _ in range(5)))
    other = await start(yard, tool_call_id="call-2")

    assert set(again) == {first}
    assert other.task_id != first.task_id


async def test_a_task_starts_a_subagent_in_its_graph_and_is_notified_in_its_own_inbox(yard: Yard):
    await given_an_agent(yard, "coder-1", type="coder")
    task = await yard.enqueue("code")
    held = await claim_that(yard, task.id, by="coder-1", start=True)

    begun = await yard.subagents.spawn(held.id, held.lease, "explore", "Look", name="scout")
    again = await yard.subagents.spawn(held.id, held.lease, "explore", "Look", name="scout")
    child = await claim_that(yard, begun.task_id, by="coder-1", start=True)
    await yard.complete(child.id, child.lease, "found it")

    assert again == begun
    assert child.parent_id == task.id
    batch = (await yard.inbox.take("coder", task.id)).batch
    assert batch is not None
    assert [item.about for item in batch.items] == [begun.task_id]
    with pytest.raises(LeaseLost):
        await yard.subagents.spawn(held.id, "no lease", "explore", "Look", name="another")


async def test_their_state_is_there_for_a_screen(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    first = await start(yard)
    held = await claim_that(yard, first.task_id, start=True)
    await yard.heartbeat(held.id, held.lease, progress={"fraction": 0.5}, cost_usd="0.25", tokens_input=7)
    clock.advance(seconds=3)
    second = await start(yard, description="Count the doors", silent=True)
    await yard.subagents.start("review", "Check", parent="somebody else")

    newer, older = await yard.subagents.list(parent=PARENT[0])

    assert (newer.task_id, newer.status, newer.silent, newer.description) == (
        *(second.task_id, "queued", True, "Count the doors"),
    )
    assert (older.task_id, older.status, older.attempts, older.progress) == (
        first.task_id,
        "running",
        1,
        {"fraction": 0.5},
    )
    assert (older.elapsed_sec, older.cost, older.total_tokens) == (3, 250_000, 7)
    assert len(await yard.subagents.list()) == 3
    assert [view.task_id for view in await yard.subagents.list(limit=1, below=second.task_id)] == [first.task_id]


async def test_what_is_kept_of_a_subagent_goes_with_its_task(yard: Yard, clock: ManualClock):
    begun = await start(yard)
    await yard.cancel(begun.task_id)
    await elapse(yard, clock, 10)
    clock.advance(seconds=8 * 86_400)

    await elapse(yard, clock, 60)

    assert folder(begun) == []
    assert await yard.subagents.list() == []
    with pytest.raises(NotFound):
        await yard.subagents.transcript(begun.task_id)


async def test_a_line_that_a_crash_left_unfinished_is_written_anew(yard: Yard):
    begun = await start(yard)
    leave_unfinished(begun)

    held = await claim_that(yard, begun.task_id, by=await given_an_agent(yard), start=True)
    await yard.complete(held.id, held.lease, "x" * 10_000)
    await notifications(yard)

    assert happenings(begun) == ["subagent.started", "task.created", "task.running", "task.completed"]


async def test_a_link_in_the_place_of_a_transcript_is_not_followed(yard: Yard, tmp_path: Path):
    begun = await start(yard)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    put_a_link_in_its_place(begun, victim)

    await yard.cancel(begun.task_id)
    await notifications(yard)

    assert victim.read_text() == "precious"


@pytest.mark.parametrize(
    ("field", "facts"),
    [
        ("max_turns", {"max_turns": 0}),
        ("payload", {"fields": {"payload": [1]}}),
        ("depends_on", {"fields": {"depends_on": ["task_01ARZ3NDEKTSV4RRFFQ69G5FAV"]}}),
        ("id", {"task_id": "../../etc/passwd"}),
    ],
)
async def test_what_makes_no_sense_is_refused_and_nothing_is_started(yard: Yard, field: str, facts: dict[str, Any]):
    with pytest.raises(InvalidInput) as refused:
        await start(yard, **facts)

    assert refused.value.facts["field"] == field
    assert await yard.subagents.list() == []
    assert await yard.find() == []
