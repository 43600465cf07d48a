"""What handlers stream and programs print reaches those who follow, in order and once."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from taskyard import Agent, Context, SyncContext
from taskyard.app import Yard
from taskyard.core.errors import InvalidInput, LeaseLost, StoreUnavailable
from taskyard.core.json_value import Json
from taskyard.features.streams.rules import GATHERED_BYTES, GATHERED_FOR, MOST_CHUNK_BYTES, NewChunk
from taskyard.features.streams.views import StreamedChunk, StreamReceipt
from taskyard.worker.command import Command, command_agent
from taskyard.worker.output import MOST_PIECES, AttemptOutput, next_moment
from tests.worker.conftest import working


def test_attempts_of_one_process_write_at_the_same_moments_and_those_of_two_do_not() -> None:
    assert next_moment(100.01, phase=0.1) == next_moment(100.09, phase=0.1) == pytest.approx(100.1)
    assert next_moment(100.1001, phase=0.1) == pytest.approx(100.35)
    program = "from taskyard.worker.output import next_moment; print(next_moment(1000.0) - 1000)"
    moments = [
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert moments[0] != moments[1]
    assert all(0 < float(each) <= GATHERED_FOR for each in moments)


async def followed(yard: Yard, task_id: str) -> list[StreamedChunk]:
    async with asyncio.timeout(20):
        return [chunk async for chunk in yard.streams.follow(task_id)]


async def test_what_a_handler_streams_is_followed_while_it_works(yard: Yard) -> None:
    agent, was_heard = Agent("worker"), asyncio.Event()

    @agent.handles("write")
    async def write(task: Context) -> str:
        for word in ("the ", "quick ", "fox"):
            await task.stream(word)
        await was_heard.wait()
        await task.stream({"tool": "search"})
        return "done"

    task = await yard.enqueue("write")
    heard: list[StreamedChunk] = []
    async with working(yard, agent), asyncio.timeout(20):
        async for chunk in yard.streams.follow(task.id):
            heard.append(chunk)
            was_heard.set()
    assert [(each.kind, each.text, each.data) for each in heard] == [
        ("text", "the quick fox", None),
        ("json", "", {"tool": "search"}),
    ]


async def test_messages_and_progress_stand_between_the_texts_around_them(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("write")
    async def write(task: Context) -> None:
        await task.stream("before ")
        await task.message("half is written")
        await task.stream("between ")
        await task.progress(0.5, "half way")
        await task.stream("after")

    task = await yard.enqueue("write")
    await yard.drain(agent)
    assert [(each.kind, each.text or each.data) for each in await followed(yard, task.id)] == [
        ("text", "before "),
        ("message", {"kind": "text", "text": "half is written"}),
        ("text", "between "),
        ("progress", {"progress": {"fraction": 0.5, "note": "half way"}}),
        ("text", "after"),
    ]


async def test_a_plain_function_streams_too_and_a_wait_loses_nothing(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("write")
    def write(task: SyncContext) -> None:
        task.stream("before ")
        task.spawn("child", wait=True)
        task.stream("after")

    @agent.handles("child")
    async def child(_: Context) -> int:
        return 1

    task = await yard.enqueue("write")
    await yard.drain(agent)
    said = [(each.attempt, each.text, each.restarted) for each in await followed(yard, task.id)]
    assert said == [(1, "before ", False), (2, "before ", True), (2, "after", False)]


async def test_what_a_program_prints_is_its_log(yard: Yard) -> None:
    text = "import sys; print('out'); print('größe', file=sys.stderr); sys.stdout.flush(); print('more')"
    agent = command_agent(Agent("program"), Command(words=[sys.executable, "-c", text]))
    task = await yard.enqueue("code", max_attempts=1)
    await yard.drain(agent)
    chunks = await followed(yard, task.id)
    assert "".join(each.text for each in chunks if each.kind == "stdout") == "out\nmore\n"
    assert "".join(each.text for each in chunks if each.kind == "stderr") == "größe\n"


async def test_what_is_no_text_in_a_programs_output_takes_nothing_else_with_it(yard: Yard) -> None:
    text = (
        "import sys; from json import dumps; print('first'); print('a\\0b');"
        " print(dumps({'type': 'progress', 'fraction': 0.5, 'note': '\\ud83d'}));"
        " print(dumps({'type': 'message', 'text': 'n\\0ul'})); print('last')"
    )
    agent = command_agent(Agent("program"), Command(words=[sys.executable, "-c", text]))
    task = await yard.enqueue("code", max_attempts=1)
    await yard.drain(agent)
    assert [(each.kind, each.text or each.data) for each in await followed(yard, task.id)] == [
        ("stdout", "first\na\ufffdb\n"),
        ("progress", {"progress": {"fraction": 0.5, "note": "?"}}),
        ("message", {"kind": "text", "text": "n\ufffdul"}),
        ("stdout", "last\n"),
    ]


async def test_a_value_is_streamed_as_it_was_when_it_was_handed_over(yard: Yard) -> None:
    agent = Agent("worker")

    @agent.handles("count")
    async def count(task: Context) -> None:
        state: dict[str, Json] = {"done": 0}
        for number in range(3):
            state["done"] = number
            await task.stream(state)

    task = await yard.enqueue("count")
    await yard.drain(agent)
    assert [each.data for each in await followed(yard, task.id)] == [{"done": 0}, {"done": 1}, {"done": 2}]


@pytest.mark.parametrize("value", [b"bytes", {"rate": float("nan")}, {"text": "a\0b"}, ["x" * MOST_CHUNK_BYTES]])
async def test_a_value_that_is_no_json_is_refused_by_itself(value: Any) -> None:
    sink = Sink()
    output = AttemptOutput("task", sink, lambda: None)
    await output.say("text", "before")
    with pytest.raises(InvalidInput, match="chunk"):
        await output.say("json", data=value)
    await output.say("text", " after")
    await output.close()
    assert [chunks for chunks, _ in sink.sent] == [[{"kind": "text", "text": "before after"}]]


class Sink:
    """Takes what is sent, and says what it is told to."""

    def __init__(self) -> None:
        self.sent: list[tuple[Sequence[NewChunk], str]] = []
        self.were_patient: list[bool] = []
        self.answers: list[StreamReceipt | Exception] = []
        self.came = asyncio.Event()

    async def __call__(self, chunks: Sequence[NewChunk], /, *, request_id: str, patient: bool) -> StreamReceipt:
        self.sent.append((chunks, request_id))
        self.were_patient.append(patient)
        self.came.set()
        answer = self.answers.pop(0) if self.answers else StreamReceipt(is_full=False)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_what_gathered_while_the_store_was_away_goes_out_in_order() -> None:
    sink = Sink()
    output = AttemptOutput("task", sink, lambda: None)
    sink.answers = [StoreUnavailable("away") for _ in range(10 * MOST_PIECES)]
    for number in range(2 * MOST_PIECES):
        await output.say("json", data=number)
    sink.answers, sink.sent = [], []

    await output.close()

    assert len(sink.sent) > 2
    assert [chunk.get("data") for chunks, _ in sink.sent for chunk in chunks] == [*range(2 * MOST_PIECES)]


async def test_pieces_of_a_moment_go_out_together_and_much_at_once() -> None:
    sink = Sink()
    output = AttemptOutput("task", sink, lambda: None)
    await output.say("text", "a")
    await output.say("text", "b")
    await output.say("stdout", "c")
    assert sink.sent == []
    await asyncio.wait_for(sink.came.wait(), 5)
    assert [chunks for chunks, _ in sink.sent] == [[{"kind": "text", "text": "ab"}, {"kind": "stdout", "text": "c"}]]
    await output.say("text", "x" * GATHERED_BYTES)
    assert len(sink.sent) == 2
    await output.close()
    await output.say("text", "too late")
    await output.close()
    assert len(sink.sent) == 2


async def test_only_what_no_attempt_waits_for_lets_others_go_first() -> None:
    sink = Sink()
    output = AttemptOutput("task", sink, lambda: None)
    await output.say("text", "in the background")
    await asyncio.wait_for(sink.came.wait(), 5)
    await output.say("text", "x" * GATHERED_BYTES)
    await output.say("text", "before the attempt ends")
    await output.close()
    assert sink.were_patient == [True, False, False]


async def test_what_is_streamed_during_a_call_waits_for_the_next_interval() -> None:
    began, may_end, calls = asyncio.Event(), asyncio.Event(), list[Sequence[NewChunk]]()

    async def send(chunks: Sequence[NewChunk], /, *, request_id: str, patient: bool) -> StreamReceipt:
        del request_id, patient
        calls.append(chunks)
        began.set()
        await may_end.wait()
        return StreamReceipt(is_full=False)

    output = AttemptOutput("task", send, lambda: None)
    await output.say("text", "first")
    await asyncio.wait_for(began.wait(), 5)
    for word in ("second ", "third"):
        await output.say("text", word)
    may_end.set()
    # A round of the loop for each step of the answer's way: what went out at once would have gone by then.
    for _ in range(20):
        await asyncio.sleep(0)
    assert calls == [[{"kind": "text", "text": "first"}]]
    began.clear()
    await asyncio.wait_for(began.wait(), 5)
    assert calls[1:] == [[{"kind": "text", "text": "second third"}]]
    await output.close()


async def test_what_could_not_be_sent_is_sent_again_under_the_same_request() -> None:
    sink = Sink()
    sink.answers = [StoreUnavailable("away"), StoreUnavailable("away")]
    output = AttemptOutput("task", sink, lambda: None)
    await output.say("text", "x" * GATHERED_BYTES)
    await output.say("text", "y" * GATHERED_BYTES)
    await output.close()
    first, second, third, fourth = sink.sent
    assert first == second == third
    assert fourth[0] == [{"kind": "text", "text": "y" * GATHERED_BYTES}]
    assert fourth[1] != first[1]


@pytest.mark.parametrize("answer", [LeaseLost("task"), StreamReceipt(is_full=True)])
async def test_a_lost_lease_or_a_full_stream_ends_the_sending(answer: StreamReceipt | Exception) -> None:
    sink, lost = Sink(), list[bool]()
    sink.answers = [answer]
    output = AttemptOutput("task", sink, lambda: lost.append(True))
    await output.say("text", "x" * GATHERED_BYTES)
    await output.say("text", "y" * GATHERED_BYTES)
    await output.close()
    assert len(sink.sent) == 1
    assert lost == ([True] if isinstance(answer, LeaseLost) else [])
