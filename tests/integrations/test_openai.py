"""OpenAI's own client in handlers, against an endpoint that the test serves: what is paid for is done once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletionUserMessageParam
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel

import taskyard
from taskyard.app import Yard
from taskyard.core.task import Status
from taskyard.integrations.openai import AsyncOpenAI, OpenAI
from taskyard.ledger.clock import ManualClock
from tests.integrations.conftest import Crash, lose_lease, outcomes, spent, streamed, traced_calls
from tests.integrations.openai_endpoint import Endpoint, endpoint

# Micro-dollars for 400 tokens read at 2.50 dollars a million, 600 from the cache at 1.25, and 100 written at 10.
PRICE = 1_000 + 750 + 1_000


def client_of(served: Endpoint) -> AsyncOpenAI:
    return AsyncOpenAI(api_key="none", base_url=served.url)


async def ask(client: openai.AsyncOpenAI, text: str) -> str:
    answer = await client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content or ""


def worker_of(handler: Callable[[taskyard.Context], Awaitable[Any]]) -> taskyard.Agent:
    worker = taskyard.Agent("helper")
    worker.handles("ask", "respond")(handler)
    return worker


async def test_a_rate_limit_in_the_middle_repeats_nothing_and_costs_no_attempt(yard: Yard):
    with endpoint("one", 429, 429, "two") as served:

        async def handler(task: taskyard.Context) -> list[str]:
            async with client_of(served) as client:
                return [await ask(client, task.prompt), await ask(client, "And then?")]

        task = await yard.enqueue("ask", prompt="Count", max_attempts=1)
        await yard.drain(worker_of(handler))

    assert (await yard.get(task.id)).result == ["one", "two"]
    assert len(served.heard) == 4
    parked = ("failed", "rate_limit", False)
    assert await outcomes(yard, task.id) == [parked, parked, ("completed", None, False)]
    assert await spent(yard, task.id) == 2 * PRICE


async def test_a_crash_after_the_fifth_of_ten_calls_repeats_nothing_that_was_paid_for(yard: Yard, clock: ManualClock):
    crashes = [Crash()]
    with endpoint(*"abcdefghij") as served:

        async def handler(task: taskyard.Context) -> str:
            said = ""
            async with client_of(served) as client:
                for number in range(10):
                    if number == 5 and crashes:
                        raise crashes.pop()
                    said += await ask(client, said)
            return said

        worker, task = worker_of(handler), await yard.enqueue("ask", prompt="Spell")
        await yard.drain(worker)
        await lose_lease(yard, clock)
        await yard.drain(worker)

    assert ((await yard.get(task.id)).result, len(served.heard)) == ("abcdefghij", 10)
    assert [each.cost for each in await yard.tasks.history(task.id)] == [5 * PRICE, 5 * PRICE]


async def test_a_call_that_was_refused_and_passed_over_gets_no_answer_of_another(yard: Yard):
    with endpoint("one", 400, "three", 429, 400, "four") as served:

        async def handler(task: taskyard.Context) -> list[str | None]:
            answers = list[str | None]()
            async with client_of(served) as client:
                for number in range(1, 5):
                    try:
                        answers.append(await ask(client, f"Item {number}"))
                    except openai.BadRequestError:
                        answers.append(None)
            return answers

        task = await yard.enqueue("ask")
        await yard.drain(worker_of(handler))

    assert (await yard.get(task.id)).result == ["one", None, "three", "four"]
    assert await spent(yard, task.id) == 3 * PRICE


async def test_chains_of_calls_side_by_side_get_their_own_answers(yard: Yard):
    crashes = [RuntimeError("crash")]
    with endpoint("b", "B", "a", "A") as served:

        async def handler(task: taskyard.Context) -> list[list[str]]:
            turn = asyncio.Event()
            if not crashes:
                turn.set()

            async def chain(client: openai.AsyncOpenAI, name: str) -> list[str]:
                if name == "a":
                    await turn.wait()
                answers = [await ask(client, f"begin {name}"), await ask(client, f"end {name}")]
                turn.set()
                return answers

            async with client_of(served) as client:
                answers = list(await asyncio.gather(chain(client, "a"), chain(client, "b")))
            if crashes:
                raise crashes.pop()
            return answers

        task = await yard.enqueue("ask", retry={"strategy": "immediate"})
        await yard.drain(worker_of(handler))

    assert ((await yard.get(task.id)).result, len(served.heard)) == ([["a", "A"], ["b", "B"]], 4)


async def again(yard: Yard, handler: Callable[[taskyard.Context], Awaitable[Any]], *, type: str = "ask") -> Any:
    """The result of a handler whose first attempt fails behind its last call."""
    seen = list[Any]()

    async def twice(task: taskyard.Context) -> Any:
        seen.append(await handler(task))
        if task.attempt == 1:
            raise RuntimeError("crash")
        return seen[-1]

    task = await yard.enqueue(type, prompt="Hello", retry={"strategy": "immediate"})
    await yard.drain(worker_of(twice))
    assert (seen[0], await spent(yard, task.id)) == (seen[1], PRICE)
    return (await yard.get(task.id)).result


async def test_a_response_is_stored_with_what_it_cost(yard: Yard):
    with endpoint("Hi there") as served:

        async def handler(task: taskyard.Context) -> str:
            async with client_of(served) as client:
                return (await client.responses.create(model="gpt-4o", input=task.prompt)).output_text

        assert await again(yard, handler) == "Hi there"
    assert len(served.heard) == 1


async def test_the_request_id_of_an_answer_can_be_asked_for_and_is_none(yard: Yard):
    with endpoint("Hi there") as served:

        async def handler(task: taskyard.Context) -> str:
            async with client_of(served) as client:
                answer = await client.responses.create(model="gpt-4o", input=task.prompt)
                return f"{answer._request_id}"  # pyright: ignore[reportPrivateUsage] - the library's documents have it

        assert await again(yard, handler) == "None"


async def test_embeddings_of_openai_have_their_price(yard: Yard):
    embedding = {"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}
    usage = {"prompt_tokens": 1000, "total_tokens": 1000}
    body = {"object": "list", "model": "text-embedding-3-small", "data": [embedding], "usage": usage}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=body))

    async def handler(task: taskyard.Context) -> list[float]:
        async with AsyncOpenAI(
            api_key="none", http_client=openai.DefaultAsyncHttpxClient(transport=transport)
        ) as client:
            made = await client.embeddings.create(model="text-embedding-3-small", input=task.prompt)
            return made.data[0].embedding

    task = await yard.enqueue("ask", prompt="Hello")
    await yard.drain(worker_of(handler))

    assert ((await yard.get(task.id)).result, await spent(yard, task.id)) == ([0.5, 0.25], 20)


class Point(BaseModel):
    x: int
    y: int


async def test_an_answer_that_is_parsed_is_parsed_again_from_what_is_stored(yard: Yard):
    with endpoint('{"x": 1, "y": 2}') as served:

        async def handler(task: taskyard.Context) -> list[object]:
            async with client_of(served) as client:
                asked: ChatCompletionUserMessageParam = {"role": "user", "content": task.prompt}
                answer = await client.chat.completions.parse(model="gpt-4o", messages=[asked], response_format=Point)
            point = answer.choices[0].message.parsed
            return [type(point).__name__, point and point.x, point and point.y]

        assert await again(yard, handler) == ["Point", 1, 2]
    assert len(served.heard) == 1


async def test_a_streamed_completion_is_stored_at_its_end_and_streamed_again_from_what_is_stored(yard: Yard):
    with endpoint("one two three") as served:

        async def handler(task: taskyard.Context) -> list[str]:
            async with client_of(served) as client:
                asked: Any = [{"role": "user", "content": task.prompt}]
                chunks = await client.chat.completions.create(model="gpt-4o", messages=asked, stream=True)
                return [chunk.choices[0].delta.content or "" async for chunk in chunks]

        assert await again(yard, handler) == ["one ", "two ", "three "]
    (task,) = await yard.find(type="ask")
    assert await streamed(yard, task.id) == dict.fromkeys((1, 2), "one two three ")
    assert served.heard[0]["stream_options"] == {"include_usage": True}


async def test_a_streamed_response_is_stored_too(yard: Yard):
    with endpoint("one two") as served:

        async def handler(task: taskyard.Context) -> list[str]:
            async with client_of(served) as client:
                events = await client.responses.create(model="gpt-4o", input=task.prompt, stream=True)
                return [event.delta async for event in events if event.type == "response.output_text.delta"]

        assert await again(yard, handler) == ["one ", "two "]
    (task,) = await yard.find(type="ask")
    assert await streamed(yard, task.id) == dict.fromkeys((1, 2), "one two ")
    assert len(served.heard) == 1


async def test_a_stream_that_the_library_puts_together_is_stored_too(yard: Yard):
    with endpoint("one two", "three") as served:

        async def handler(task: taskyard.Context) -> list[str | None]:
            asked: Any = [{"role": "user", "content": task.prompt}]
            async with client_of(served) as client:
                if task.type == "ask":
                    async with client.chat.completions.stream(model="gpt-4o", messages=asked) as completion:
                        return [(await completion.get_final_completion()).choices[0].message.content]
                async with client.responses.stream(model="gpt-4o", input=task.prompt) as response:
                    return [(await response.get_final_response()).output_text]

        assert await again(yard, handler) == ["one two "]
        assert await again(yard, handler, type="respond") == ["three"]
    assert len(served.heard) == 2


async def test_a_stream_that_the_library_puts_together_and_is_left_early_is_not_stored(yard: Yard):
    with endpoint("one two", "three", holds=True) as served:

        async def handler(task: taskyard.Context) -> str:
            async with client_of(served) as client, client.responses.stream(model="gpt-4o", input="Count") as response:
                if task.attempt == 1:
                    await anext(response)
                    task.loop.call_soon(served.let_go.set)
                    raise RuntimeError("crash")
                return (await response.get_final_response()).output_text

        task = await yard.enqueue("ask", prompt="Count", retry={"strategy": "immediate"})
        await yard.drain(worker_of(handler))

    assert ((await yard.get(task.id)).result, len(served.heard)) == ("three", 2)
    assert await spent(yard, task.id) == PRICE


async def test_a_stream_that_is_left_early_is_not_stored_and_is_asked_for_again(yard: Yard):
    with endpoint("one two three", "four five", holds=True) as served:

        async def handler(task: taskyard.Context) -> str:
            asked: Any = [{"role": "user", "content": task.prompt}]
            async with client_of(served) as client:
                stream = await client.chat.completions.create(model="gpt-4o", messages=asked, stream=True)
                async with stream:
                    if task.attempt == 1:
                        await anext(stream)
                        task.loop.call_soon(served.let_go.set)  # the rest comes, to whoever still listens
                        raise RuntimeError("crash")
                    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

        task = await yard.enqueue("ask", prompt="Count", retry={"strategy": "immediate"})
        await yard.drain(worker_of(handler))

    assert ((await yard.get(task.id)).result, len(served.heard)) == ("four five ", 2)
    assert await spent(yard, task.id) == PRICE


async def test_a_plain_handler_has_a_client_without_await(yard: Yard):
    worker = taskyard.Agent("helper")
    with endpoint("one", 429, "two words", "three") as served:

        @worker.handles("ask")
        def handler(task: taskyard.SyncContext) -> list[str]:
            asked: Any = [{"role": "user", "content": task.prompt}]
            with OpenAI(api_key="none", base_url=served.url) as client:
                first = client.chat.completions.create(model="gpt-4o", messages=asked)
                chunks = client.chat.completions.create(model="gpt-4o", messages=asked, stream=True)
                said = [chunk.choices[0].delta.content or "" for chunk in chunks]
                with client.chat.completions.stream(model="gpt-4o", messages=asked) as stream:
                    last = stream.get_final_completion()
            return [first.choices[0].message.content or "", *said, last.choices[0].message.content or ""]

        task = await yard.enqueue("ask", prompt="Count", max_attempts=1)
        await yard.drain(worker)

    assert (await yard.get(task.id)).result == ["one", "two ", "words ", "three "]
    assert (len(served.heard), await spent(yard, task.id)) == (4, 3 * PRICE)


async def test_a_client_that_would_block_the_worker_is_refused(yard: Yard):
    with endpoint() as served:

        async def handler(task: taskyard.Context) -> None:
            with OpenAI(api_key="none", base_url=served.url) as client:
                client.responses.create(model="gpt-4o", input=task.prompt)

        task = await yard.enqueue("ask", prompt="Hello", max_attempts=1)
        await yard.drain(worker_of(handler))

    (attempt,) = await yard.tasks.history(task.id)
    assert "use AsyncOpenAI" in (attempt.error or "")


async def test_the_calls_are_one_trace(yard: Yard, spans: InMemorySpanExporter):
    with endpoint("one", "two") as served:

        async def handler(task: taskyard.Context) -> list[str]:
            async with client_of(served) as client:
                return [await ask(client, task.prompt), await ask(client, "And then?")]

        await yard.enqueue("ask", prompt="Count")
        await yard.drain(worker_of(handler))

    first, _ = traced_calls(spans)
    assert first["gen_ai.request.model"] == served.model
    assert (first["gen_ai.usage.cache_read.input_tokens"], first["taskyard.cost_usd"]) == (600, PRICE / 1e6)


async def test_a_question_to_a_person_suspends_without_a_slot_and_repeats_no_call(yard: Yard):
    with endpoint("a plan", "done") as served:

        async def handler(task: taskyard.Context) -> str:
            async with client_of(served) as client:
                plan = await ask(client, task.prompt)
                may = await task.ask(f"May I follow {plan}?", choices=["yes", "no"])
                return await ask(client, may)

        worker, task = worker_of(handler), await yard.enqueue("ask", prompt="Plan")
        await yard.drain(worker)
        assert (await yard.get(task.id)).status is Status.PENDING
        assert [agent.current_tasks for agent in await yard.agents.list()] == [0]
        (asked,) = await yard.approvals.list(task_id=task.id)
        await yard.approvals.answer(task.id, asked.signal, "yes")
        await yard.drain(worker)

    assert ((await yard.get(task.id)).result, len(served.heard)) == ("done", 2)
    assert await outcomes(yard, task.id) == [("suspended", None, False), ("completed", None, False)]
    assert await spent(yard, task.id) == 2 * PRICE


async def test_a_sub_agent_can_be_a_task_of_its_own_with_its_own_cost(yard: Yard):
    with endpoint("cats", "all about cats", "a summary") as served:

        async def handler(task: taskyard.Context) -> str:
            async with client_of(served) as client:
                subject = await ask(client, task.prompt)
                found = await task.spawn("research", prompt=subject, wait=True)
                return await ask(client, found)

        worker = worker_of(handler)

        @worker.handles("research")
        async def research(task: taskyard.Context) -> str:
            async with client_of(served) as client:
                return await ask(client, task.prompt)

        task = await yard.enqueue("ask", prompt="Write")
        await yard.drain(worker)

    assert ((await yard.get(task.id)).result, len(served.heard)) == ("a summary", 3)
    (child,) = await yard.find(parent_id=task.id)
    assert (await spent(yard, task.id), await spent(yard, child.id)) == (2 * PRICE, PRICE)


async def test_a_model_without_a_known_price_costs_nothing_and_is_named(yard: Yard, caplog: pytest.LogCaptureFixture):
    with endpoint("ok", model="home-grown-5") as served:

        async def handler(task: taskyard.Context) -> str:
            async with client_of(served) as client:
                return await ask(client, task.prompt)

        task = await yard.enqueue("ask", prompt="Hello")
        with caplog.at_level(logging.WARNING, logger="taskyard.prices"):
            await yard.drain(worker_of(handler))

    (attempt,) = await yard.tasks.history(task.id)
    assert (attempt.cost, attempt.tokens.input, attempt.model) == (0, 1000, "home-grown-5")
    assert "no price is known for model home-grown-5" in caplog.text


async def test_a_cancelled_task_asks_no_model_any_more_and_keeps_what_it_cost(yard: Yard):
    with endpoint("one", "two") as served:

        async def handler(task: taskyard.Context) -> None:
            async with client_of(served) as client:
                await ask(client, task.prompt)
                await yard.cancel(task.id, reason="not wanted")
                await task.progress(0.5)
                await ask(client, "And then?")

        task = await yard.enqueue("ask", prompt="Count")
        await yard.drain(worker_of(handler))

    assert ((await yard.get(task.id)).status, len(served.heard)) == (Status.CANCELLED, 1)
    assert await spent(yard, task.id) == PRICE


async def test_the_client_outside_of_a_task_is_openais_own():
    with endpoint("one", "two") as served:
        async with client_of(served) as client:
            assert [await ask(client, "Count"), await ask(client, "Count")] == ["one", "two"]
