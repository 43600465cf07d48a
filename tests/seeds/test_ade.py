"""The document that the preset ade comes from, replayed in its own field names: tasks, workers, inbox, subagents."""

import asyncio
import json
from typing import Any

import pytest

from taskyard.core.errors import CutoverRefused, InvalidInput, LeaseLost, NotFound
from taskyard.core.task import Status
from taskyard.core.units import from_iso
from taskyard.features.tasks.views import Held
from taskyard.integrations.shadow import ShadowedInbox
from taskyard.integrations.shadow_tasks import ShadowedTasks
from taskyard.ledger.clock import ManualClock
from taskyard.worker.inbox import Inbox
from taskyard.yard import Yard
from tests.graphs import status_of
from tests.server.calling import calling
from tests.sources.words import behind, look_at_events
from tests.yards import OpenYard, claim_that, data_of, elapse, events_of, given_an_agent

WORKER = "host:4711:5f2e"  # hostname, process and a random part
SCOPE = ("lead", "c1")
MIDNIGHT_MS = 1_767_225_600_000  # when the manual clock begins
SUBAGENT: dict[str, Any] = {
    "description": "Look around",
    "model": "large",
    "max_turns": 7,
    "tool_call_id": "call-1",
    "agent_id": "agent-9",
    "conversation_id": "conversation-7",
}


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    yard = await open_yard(preset="ade")
    await given_an_agent(yard, WORKER)
    return yard


async def put(yard: Yard, kind: str = "overlay_action", **fields: Any) -> str:
    (made,) = await yard.enqueue_many([{"kind": kind, **fields}])
    return made.id


async def take(yard: Yard, task_id: str) -> Held:
    return await claim_that(yard, task_id, by=WORKER)


async def facts(yard: Yard, task_id: str) -> Any:
    return (await yard.get(task_id)).to_dict()


async def wait_after_failure(yard: Yard, task_id: str) -> float:
    held = await take(yard, task_id)
    receipt = await yard.fail(held.id, held.lease, "crash", "it broke")
    assert receipt.wake_at is not None
    return (receipt.wake_at - yard.now()) / 1_000_000


# 2. Task entity


async def test_a_payload_is_taken_in_the_words_of_the_document(yard: Yard):
    made = await put(
        yard,
        "task_notification",
        id="task_01J8K2M0000000000000000001",
        agentId="agent-9",
        prompt="What is here?",
        description="Look around",
        model="large",
        payload={"text": "hello"},
        priority=0,
        runAfter=MIDNIGHT_MS + 60_000,
        maxAttempts=3,
        backoffMultiplier=2,
        maxBackoffMs=300_000,
        isCoalescable=False,
    )

    shown = await facts(yard, made)
    assert (shown["id"], shown["type"], shown["agent"]) == (made, "task_notification", "agent-9")
    assert (shown["title"], shown["spec"]["prompt"], shown["spec"]["payload"]) == (
        *("Look around", "What is here?"),
        {"text": "hello"},
    )
    assert shown["spec"]["constraints"]["model_preferences"] == ["large"]
    assert (shown["priority"], shown["state"], shown["attempts"], shown["max_attempts"]) == (0, "pending", 0, 3)
    assert shown["run_after"] == "2026-01-01T00:01:00.000000Z"
    assert (shown["retry"]["backoff_multiplier"], shown["retry"]["max_delay_sec"]) == (2, 300)
    for kept in ("createdAt", "enqueuedAt", "startedAt", "workerId", "attemptCount", "error", "result"):
        with pytest.raises(InvalidInput, match=f"{kept}.*is kept by the system"):
            await yard.enqueue_many([{"kind": "message", kept: None}])


async def test_the_defaults_are_those_of_the_document(yard: Yard):
    shown = await facts(yard, await put(yard))

    assert (shown["priority"], shown["max_attempts"]) == (5, 3)
    retry = shown["retry"]
    assert (retry["initial_delay_sec"], retry["backoff_multiplier"], retry["max_delay_sec"]) == (1, 2, 300)
    assert retry["jitter"] == 0.1


async def test_the_same_id_is_one_task_and_is_executed_once(yard: Yard):
    minted = "task_01J8K2M0000000000000000002"
    assert [await put(yard, id=minted) for _ in range(2)] == [minted] * 2
    held = await take(yard, minted)
    await yard.complete(held.id, held.lease)

    assert await put(yard, id=minted) == minted
    assert await yard.claim(WORKER) == []


async def test_a_task_goes_through_the_states_of_the_document(yard: Yard, clock: ManualClock):
    made, other = await put(yard, maxAttempts=2), await put(yard, priority=9)
    seen = [(await facts(yard, made))["state"]]
    held = await take(yard, made)
    shown = await facts(yard, made)
    assert (shown["claim"]["agent_id"], from_iso(shown["started_at"])) == (WORKER, yard.now())
    seen.append(shown["state"])
    await yard.fail(held.id, held.lease, "crash", "it broke")
    shown = await facts(yard, made)
    assert (shown["claim"], shown["attempts"], shown["failure"]["error"]) == (None, 1, "it broke")
    seen.append(shown["state"])
    await elapse(yard, clock, 2)
    held = await take(yard, made)
    await yard.fail(held.id, held.lease, "crash", "for good")
    seen.append((await facts(yard, made))["state"])
    held = await take(yard, other)
    await yard.complete(held.id, held.lease, {"answer": 42})
    seen.append((await facts(yard, other))["state"])
    cancelled = await put(yard)
    await yard.cancel(cancelled)
    seen.append((await facts(yard, cancelled))["state"])

    assert seen == ["pending", "running", "pending", "failed", "completed", "cancelled"]
    done = await facts(yard, other)
    assert (done["output"]["data"], from_iso(done["completed_at"])) == ({"answer": 42}, yard.now())
    assert "task.dead_lettered" in await events_of(yard, made)  # the failure is published for observers


# 1.2, 4.3. Delays and priorities


async def test_a_delayed_task_is_promoted_when_it_is_due_and_lower_numbers_come_first(yard: Yard, clock: ManualClock):
    later = await put(yard, priority=0, runAfter=MIDNIGHT_MS + 10_000)
    nine, five, one = await put(yard, priority=9), await put(yard), await put(yard, priority=1)

    assert [held.id for held in await yard.claim(WORKER, count=10)] == [one, five, nine]
    await elapse(yard, clock, 9)
    assert await yard.claim(WORKER) == []
    await elapse(yard, clock, 1)
    await take(yard, later)


# 3. Workers


async def test_a_worker_is_in_the_registry_with_what_it_says_of_itself(yard: Yard, clock: ManualClock):
    await yard.runtimes.register("machine", hostname="host", pid=4711, version="1.2.3")
    started = yard.now()
    await elapse(yard, clock, 5)
    await yard.runtimes.heartbeat("machine")

    (view,) = await yard.runtimes.list()
    assert (view.id, view.hostname, view.pid, view.version) == ("machine", "host", 4711, "1.2.3")
    assert (view.started_at, view.last_heartbeat) == (started, yard.now())


async def test_a_worker_claims_a_batch_and_no_task_goes_to_two(yard: Yard):
    await given_an_agent(yard, "host:2:aa")
    made = {await put(yard) for _ in range(15)}

    batches = await asyncio.gather(yard.claim(WORKER, count=10), yard.claim("host:2:aa", count=10))

    claimed = [held.id for batch in batches for held in batch]
    assert (len(claimed), set(claimed)) == (15, made)


async def test_a_worker_that_stops_releases_its_tasks_and_is_gone_from_the_registry(yard: Yard):
    held = await take(yard, await put(yard))
    await yard.release(held.id, held.lease)
    await yard.agents.remove(WORKER)

    assert (await facts(yard, held.id))["state"] == "pending"
    assert (await facts(yard, held.id))["attempts"] == 0
    with pytest.raises(NotFound):
        await yard.agents.get(WORKER)


async def test_the_tasks_of_a_worker_that_is_silent_for_thirty_seconds_are_tried_again(yard: Yard, clock: ManualClock):
    made = await put(yard)
    held = await take(yard, made)
    for _ in range(4):
        await elapse(yard, clock, 5)
        await yard.heartbeat(held.id, held.lease)
    await elapse(yard, clock, 29)
    assert (await facts(yard, made))["state"] == "running"
    await elapse(yard, clock, 2)
    assert (await facts(yard, made))["state"] == "pending"
    await elapse(yard, clock, 2)

    await given_an_agent(yard, "host:2:aa")
    again = await claim_that(yard, made, by="host:2:aa")
    assert again.failures == 1
    with pytest.raises(LeaseLost):
        await yard.complete(held.id, held.lease)


async def test_a_task_that_takes_five_minutes_is_requeued_however_lively_its_worker_is(yard: Yard, clock: ManualClock):
    held = await take(yard, await put(yard))
    for _ in range(15):
        await elapse(yard, clock, 20)
        await yard.heartbeat(held.id, held.lease)

    (attempt,) = (await yard.get(held.id)).attempts
    assert attempt.reason == "timeout"
    assert not (await yard.get(held.id)).status.is_final


# 4. Retries


async def test_a_retry_waits_from_a_second_on_twice_as_long_each_time_up_to_five_minutes(
    yard: Yard, clock: ManualClock
):
    made = await put(yard, maxAttempts=12)
    waits: list[float] = []
    for _ in range(11):
        waits.append(await wait_after_failure(yard, made))
        await yard.breakers.close("overlay_action")
        clock.advance(seconds=waits[-1])
        await yard.sweep()

    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    held = await take(yard, made)
    await yard.fail(held.id, held.lease, "crash")
    assert (await facts(yard, made))["state"] == "failed"


@pytest.mark.parametrize(("dice", "wait"), [(0.0, 0.9), (0.999_999, 1.1)])
async def test_jitter_spreads_a_wait_by_a_tenth(open_yard: OpenYard, dice: float, wait: float):
    yard = await open_yard(preset="ade", dice=lambda: dice)
    await given_an_agent(yard, WORKER)

    assert await wait_after_failure(yard, await put(yard)) == pytest.approx(wait, abs=0.001)


async def test_a_poison_message_fails_three_times_and_then_for_good(yard: Yard, clock: ManualClock):
    made = await put(yard)
    for _ in range(2):
        await elapse(yard, clock, await wait_after_failure(yard, made))
    held = await take(yard, made)
    await yard.fail(held.id, held.lease, "crash")

    assert [letter.task.id for letter in await yard.dead_letters.list()] == [made]


# 5.1. The queue runtime


async def test_items_go_out_in_batches_and_a_barrier_goes_alone(yard: Yard):
    for kind, text in (
        *(("message", "one"), ("task_notification", "two"), ("approval_result", "yes"), ("overlay_action", "close")),
        *(("message", "three"),),
    ):
        added = await yard.inbox.put(*SCOPE, text, kind=kind, client_message_id=f"m-{text}", source="user")
        assert added.item is not None
        assert (added.item.kind, added.item.client_message_id) == (kind, f"m-{text}")
    assert (await yard.inbox.take(*SCOPE, "streaming")).batch is None
    (blocked,) = await data_of(yard, "inbox.blocked")
    assert blocked["reason"] == "streaming"

    batches: list[tuple[list[object], int, int]] = []
    while (batch := (await yard.inbox.take(*SCOPE, hold_sec=0)).batch) is not None:
        batches.append(([item.content for item in batch.items], batch.merged_count, batch.queue_len_after))

    assert batches == [(["one", "two"], 2, 3), (["yes"], 1, 2), (["close"], 1, 1), (["three"], 1, 0)]


# 5.2, 5.3. Subagents


async def test_a_subagent_is_enqueued_with_all_that_the_document_gives_it(yard: Yard):
    begun = await yard.subagents.start("explore", "What is here?", parent="lead", conversation="c1", **SUBAGENT)

    shown = await facts(yard, begun.task_id)
    assert (shown["type"], shown["spec"]["prompt"], shown["priority"]) == ("explore", "What is here?", 5)
    assert (shown["agent"], shown["session"]["session_id"]) == ("agent-9", "conversation-7")
    assert shown["spec"]["constraints"]["model_preferences"] == ["large"]
    subagent = shown["spec"]["payload"]["subagent"]
    assert (subagent["subagent_id"], subagent["description"], subagent["max_turns"]) == (
        *(begun.subagent_id, "Look around"),
        7,
    )
    (seen,) = await yard.subagents.list()
    assert (seen.status, seen.tool_call_id, seen.output_file) == ("queued", "call-1", begun.output_file)


@pytest.mark.parametrize(("succeeds", "silent"), [(True, False), (False, False), (True, True)])
async def test_the_parent_is_notified_once_how_its_subagent_ended_unless_it_is_silent(
    yard: Yard, clock: ManualClock, succeeds: bool, silent: bool
):
    begun = await yard.subagents.start(
        "explore", "What is here?", parent="lead", conversation="c1", description="Look around", silent=silent
    )
    await elapse(yard, clock, await wait_after_failure(yard, begun.task_id))
    held = await take(yard, begun.task_id)
    assert [each.status for each in await yard.subagents.list()] == ["running"]
    if succeeds:
        await yard.complete(held.id, held.lease, {"report": "a door"}, tokens_input=90, tokens_output=10)
    else:
        await yard.fail(held.id, held.lease, "crash", "it broke again")
        await elapse(yard, clock, 3)
        held = await take(yard, begun.task_id)
        await yard.fail(held.id, held.lease, "crash", "for good")

    word = "completed" if succeeds else "failed"
    (seen,) = await yard.subagents.list()
    assert (seen.status, seen.total_tokens) == (word, 100 if succeeds else 0)
    lines = await yard.subagents.transcript(begun.task_id)
    assert lines[0]["event"] == "subagent.started"
    batch = (await yard.inbox.take(*SCOPE, hold_sec=0)).batch
    if silent:
        assert batch is None
        return
    assert batch is not None
    (item,) = batch.items
    told: Any = item.content
    assert (item.kind, told["task_id"], told["status"]) == ("task_notification", begun.task_id, word)
    assert told["usage"]["total_tokens"] == (100 if succeeds else 0)
    assert (told["summary"], told["output_file"]) == (f'Agent "Look around" {word}', begun.output_file)
    # What the document has under one name, a failure has under its own.
    assert (told.get("result"), told.get("error")) == (
        ({"report": "a door"}, None) if succeeds else (None, "crash: for good")
    )


# 6. Operation


async def test_observers_are_notified_of_a_failure_with_its_error_and_all_attempts(yard: Yard):
    held = await take(yard, await put(yard, maxAttempts=1))
    await yard.fail(held.id, held.lease, "crash", "it broke")

    (told,) = [stored.event for stored in await yard.events() if stored.event.event == "task.dead_lettered"]
    data = json.loads(told.data or "")
    assert (told.attempt, data["reason"], data["error"]) == (1, "crash", "it broke")


async def test_the_figures_have_the_names_of_the_document(yard: Yard, clock: ManualClock):
    await yard.runtimes.register("machine", hostname="host", pid=4711)
    done = await take(yard, await put(yard))
    await yard.complete(done.id, done.lease)
    await put(yard)
    await put(yard, runAfter=MIDNIGHT_MS + 3_600_000)
    await look_at_events(yard, clock)

    async with calling(behind(yard)) as client:
        lines = (await client.get("/metrics")).text.splitlines()

    figures = {line.split("{")[0].split(" ")[0].removeprefix("taskyard_") for line in lines if line[0] != "#"}
    gauges = {"queue_pending_total", "queue_delayed_total", "queue_stream_length"}
    counted = {"tasks_enqueued_total", "tasks_completed_total", "workers_active_total", "workers_dead_total"}
    measured = {"task_duration_seconds_count", "task_queue_wait_seconds_count", "task_attempts_count"}
    assert gauges | counted | measured <= figures


async def test_ended_tasks_are_forgotten_after_a_week_the_failed_ones_too(yard: Yard, clock: ManualClock):
    held = await take(yard, await put(yard, maxAttempts=1))
    await yard.fail(held.id, held.lease, "crash")
    done = await take(yard, await put(yard))
    await yard.complete(done.id, done.lease)
    waiting = await put(yard)
    clock.advance(seconds=7 * 24 * 3600 + 61)
    await yard.sweep()
    await yard.sweep()

    assert await status_of(yard, waiting) is Status.READY
    for gone in (held.id, done.id):
        with pytest.raises(NotFound):
            await yard.get(gone)


# 7. Migration strategy


async def test_the_old_queue_is_replaced_in_the_phases_of_the_document_a_week_each(yard: Yard, clock: ManualClock):
    class InMemoryQueue:
        def __init__(self) -> None:
            self.items: list[dict[str, Any]] = []

        def enqueue(self, content: str) -> dict[str, Any]:
            self.items.append({"kind": "message", "content": content})
            return self.items[-1]

        def try_dequeue(self, _blocked_reason: str | None) -> dict[str, Any] | None:
            batch, self.items = self.items, []
            return {"items": batch} if batch else None

    await yard.cutovers.start("runtime", least=2)
    queue = ShadowedInbox(InMemoryQueue(), Inbox(yard, *SCOPE), cutover="runtime")
    answered: list[str] = []
    for after in ("shadow", "cutover", "finished"):
        await queue.enqueue("hello")
        batch = await queue.try_dequeue()
        await queue.consume(batch)
        await queue.report()
        answered.append(type(batch).__name__)
        with pytest.raises(CutoverRefused, match="7 are asked for"):
            await yard.cutovers.move("runtime", after)
        clock.advance(seconds=7 * 24 * 3600)
        await yard.cutovers.move("runtime", after)
        await queue.report()

    assert answered == ["dict", "dict", "ItemBatch"]  # in-memory, in-memory, and with the cutover the yard
    assert queue.differences == []
    shown = await yard.cutovers.get("runtime")
    assert [(each.phase.value, each.calls, each.differences) for each in shown.figures] == [
        *(("dual_write", 2, 0), ("shadow", 2, 0)),
        ("cutover", 2, 0),
    ]


async def test_subagents_move_in_the_same_phases_and_each_is_run_once(yard: Yard):
    class SpawnedSubagents:
        """What `spawnBackgroundSubagentTask` of the document keeps."""

        def __init__(self) -> None:
            self.queued: list[dict[str, Any]] = []

        def start_subagent(self, task_id: str, type: str, prompt: str, **facts: Any) -> dict[str, Any]:
            self.queued.append({"id": task_id, "subagentType": type, "prompt": prompt, **facts})
            return {"taskId": task_id, "outputFile": f"{task_id}.jsonl", "subagentId": f"subagent-{task_id}"}

        def claim(self) -> dict[str, Any] | None:
            return self.queued.pop(0) if self.queued else None

        def complete(self, _task: dict[str, Any], _output: Any) -> None:
            """Nothing is kept of what has ended."""

    await yard.cutovers.start("subagents", days=0, least=3)
    spawned = SpawnedSubagents()
    queue, ran = ShadowedTasks(spawned, yard, WORKER, cutover="subagents"), list[str]()
    for after in ("shadow", "cutover", "finished"):
        started = await queue.start_subagent("explore", "Look", parent="lead", conversation="c1", description=after)
        taken = await queue.claim()
        assert taken is not None
        ran.append(taken.id)
        await queue.complete(taken, {"report": after})
        assert (taken.id, await queue.claim()) == (started, None)
        await queue.report()
        await yard.cutovers.move("subagents", after)
        await queue.report()

    assert (queue.differences, spawned.queued) == ([], [])
    assert [each.status for each in await yard.subagents.list()] == ["completed"] * 3
    assert [each.task_id for each in reversed(await yard.subagents.list())] == ran
    batch = (await yard.inbox.take(*SCOPE, hold_sec=0)).batch
    assert batch is not None  # the parent hears of each once, whichever side has run it
