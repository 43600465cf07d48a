"""The gateway: what a program's calls of models become, and what becomes of a program that makes too many."""

import asyncio
import json
import os
import signal
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from taskyard import Status
from taskyard.app import Yard
from taskyard.features.tasks.views import Details
from taskyard.worker import command
from taskyard.worker.gateway import attempt_endpoint, call_usage, forwarding
from tests.worker.conftest import until, working
from tests.worker.gateway.conftest import outcome, program
from tests.worker.gateway.upstream import (
    GPT_4O_COST,
    REAL_KEY,
    SONNET_COST,
    Exchange,
    ScriptedProvider,
    completion,
    cut_completion,
    cut_message,
    held_message,
    message,
    message_events,
    provider,
    refusal,
    streamed_completion,
    streamed_message,
    streamed_response,
)

pytestmark = pytest.mark.timeout(120)


async def records(yard: Yard) -> list[dict[str, Any]]:
    """The calls that were recorded."""
    said = [json.loads(each.event.data or "{}") for each in await yard.events() if each.event.event == "task.message"]
    return [each for each in said if each["kind"] == "model_call"]


def spent(details: Details) -> tuple[int, int, int, str | None]:
    (attempt,) = details.attempts
    return attempt.cost, attempt.tokens.input, attempt.tokens.output, attempt.model


async def test_a_message_is_forwarded_with_the_real_key_and_its_cost_is_exact(yard: Yard) -> None:
    with provider(message) as upstream:
        agent = program(upstream.gateway, "print(ask(*MESSAGES, max_tokens=9)[1]['content'][0]['text'])")
        details = await outcome(yard, agent)

    assert (details.status, details.result) == (Status.COMPLETED, "Hello.")
    assert spent(details) == (SONNET_COST, 1000, 100, "claude-sonnet-4-5-20250929")
    [heard] = upstream.heard
    assert (heard.path, heard.headers["x-api-key"]) == ("/v1/messages", REAL_KEY)
    assert heard.body == {"model": "asked-for", "max_tokens": 9}
    [record] = await records(yard)
    assert record["tokens"] == {"input": 1000, "output": 100, "cache_read": 600, "cache_write": 200}
    assert (record["cost_usd"], record["status"], record["failure"]) == ("0.00303", 200, None)
    assert record["text"].startswith("claude-sonnet-4-5-20250929: 1000 tokens in, 100 out, $0.00303, ")


async def test_every_shape_is_priced_to_the_micro_dollar(yard: Yard) -> None:
    answers = (streamed_message, completion, streamed_completion, streamed_response)
    calls = "MESSAGES, dict(stream=True)", "CHAT, {}", "CHAT, dict(stream=True)", "RESPONSES, dict(stream=True)"
    with provider(*answers) as upstream:
        text = "".join(f"print(ask(*({each})[0], **({each})[1])[0])\n" for each in calls)
        details = await outcome(yard, program(upstream.gateway, text))

    assert details.result == "200\n200\n200\n200"
    assert spent(details) == (SONNET_COST + 3 * GPT_4O_COST, 4000, 400, "gpt-4o-2024-08-06")
    assert [each.headers["authorization"] for each in upstream.heard[1:]] == [f"Bearer {REAL_KEY}"] * 3


async def test_a_stream_passes_event_by_event_while_it_goes_on(yard: Yard, tmp_path: Path) -> None:
    """The second half is sent only once the program has read the first."""
    read = tmp_path / "read"
    with provider(held_message) as upstream:
        text = (
            "answer = open_call(*MESSAGES, {'model': 'm', 'stream': True})\n"
            "for line in answer:\n"
            f"    if b'Hel' in line: open({str(read)!r}, 'w').close()\n"
            "    if line.startswith(b'data:'): print(json.loads(line[5:])['type'])"
        )
        task = await yard.enqueue("code")
        async with working(yard, program(upstream.gateway, text)):
            await _appears(read)
            upstream.let_go.set()
            await until(yard, task.id, Status.COMPLETED)

    details = await yard.get(task.id)
    assert isinstance(details.result, str)
    assert details.result.split() == [each["type"] for each in message_events()]
    assert details.attempts[0].cost == SONNET_COST


async def test_a_stream_of_completions_says_what_it_used_only_to_who_asked(yard: Yard) -> None:
    with provider(streamed_completion, streamed_completion) as upstream:
        text = (
            "plain = ask(*CHAT, stream=True, stream_options={'other': 1})[1]\n"
            "asked = ask(*CHAT, stream=True, stream_options={'include_usage': True})[1]\n"
            "print([('\"usage\"' in each, each.count('data:'), each.rstrip()[-6:]) for each in (plain, asked)])"
        )
        details = await outcome(yard, program(upstream.gateway, text))

    assert details.result == str([(False, 3, "[DONE]"), (True, 4, "[DONE]")])
    assert upstream.heard[0].body["stream_options"] == {"other": 1, "include_usage": True}
    assert details.attempts[0].cost == 2 * GPT_4O_COST


async def test_the_program_sees_no_real_key_and_no_address_of_the_provider(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, REAL_KEY)
    with provider() as upstream:
        details = await outcome(yard, program(upstream.gateway, "print(json.dumps(dict(os.environ)))"))

    seen = json.loads(str(details.result))
    assert REAL_KEY not in str(seen)
    assert upstream.url not in str(seen)
    assert seen["ANTHROPIC_API_KEY"] == seen["OPENAI_API_KEY"]
    assert seen["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("call", "status"),
    [
        ("call(*MESSAGES, {'model': 'm'}, key='sk-other')", 401),
        ("call(*CHAT, {'model': 'm'}, key='sk-other')", 401),
        ("call('ANTHROPIC', '/v1/messages/batches', {})", 404),
        ("call('OPENAI', '/files', {})", 404),
        ("call('OPENAI', '/responses/r1', method='GET')", 404),
        ("call('OPENAI', '/models/../files', method='GET')", 404),
        ("call(*MESSAGES, b'[]')", 400),
        ("call(*MESSAGES, b'{')", 400),
        ("call(*RESPONSES, {'model': 'm', 'background': True})", 400),
        ("call(*MESSAGES, b'{' + b' ' * 3000)", 413),
    ],
)
async def test_what_is_no_call_of_the_attempt_is_refused_in_the_providers_shape(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, call: str, status: int
) -> None:
    monkeypatch.setattr(attempt_endpoint, "MOST_REQUEST", 2000)
    with provider() as upstream:
        details = await outcome(yard, program(upstream.gateway, f"print(json.dumps({call}))"))

    answered, text = json.loads(str(details.result))
    assert (answered, upstream.heard) == (status, [])
    assert json.loads(text)["error"]["message"]


async def test_models_are_listed_and_tokens_counted_without_a_record(yard: Yard) -> None:
    with provider(refusal(200, {"data": []}), refusal(200, {"input_tokens": 7})) as upstream:
        text = (
            "print(call('OPENAI', '/models', method='GET')[1])\n"
            "print(ask('ANTHROPIC', '/v1/messages/count_tokens?beta=true')[1])"
        )
        details = await outcome(yard, program(upstream.gateway, text))

    assert details.result == "{\"data\": []}\n{'input_tokens': 7}"
    assert [each.path for each in upstream.heard] == ["/v1/models", "/v1/messages/count_tokens?beta=true"]
    assert (details.attempts[0].cost, await records(yard)) == (0, [])


async def test_what_a_program_reports_of_the_same_calls_is_not_counted_again(yard: Yard) -> None:
    with provider(message) as upstream:
        text = "ask(*MESSAGES); print(json.dumps({'type': 'spend', 'usd': 5, 'input_tokens': 1000}))"
        details = await outcome(yard, program(upstream.gateway, text))

    assert (details.attempts[0].cost, details.attempts[0].tokens.input) == (SONNET_COST, 1000)


# Refusals of the provider


async def test_a_rate_limit_reaches_the_program_and_parks_the_task_when_the_program_fails(yard: Yard) -> None:
    with provider(refusal(429, retry_after="120")) as upstream:
        text = (
            "answer = open_call(*MESSAGES, {'model': 'm'})\n"
            "sys.exit(f'{answer.status} {answer.headers[\"retry-after\"]}')"
        )
        details = await outcome(yard, program(upstream.gateway, text))

    (attempt,) = details.attempts
    assert (details.status, details.failures, attempt.reason) == (Status.RETRYING, 0, "rate_limit")
    assert "429 120" in (attempt.error or "")
    assert details.wake_at is not None
    assert 100 < (details.wake_at - details.updated_at) / 1e6 < 140
    [record] = await records(yard)
    assert (record["status"], record["failure"], record["cost_usd"]) == (429, "rate_limit", None)


async def test_other_workers_leave_a_busy_model_alone_though_the_program_goes_on(yard: Yard) -> None:
    with provider(refusal(429, retry_after="120"), message) as upstream:
        details = await outcome(yard, program(upstream.gateway, "print([ask(*MESSAGES)[0], ask(*MESSAGES)[0]])"))

    assert (details.status, details.result) == (Status.COMPLETED, "[429, 200]")
    (throttle,) = await yard.queues.throttles()
    assert (throttle.type, throttle.model) == ("code", None)  # as tasks of this kind are told apart
    assert 50 < (throttle.until - yard.now()) / 1_000_000 <= 60  # half of the wait
    await yard.enqueue("code")
    await yard.agents.register("other")
    assert await yard.claim("other") == []


async def test_a_program_that_gets_over_a_rate_limit_completes(yard: Yard) -> None:
    with provider(refusal(429, retry_after="0"), message) as upstream:
        details = await outcome(
            yard, program(upstream.gateway, "print([ask(*MESSAGES)[0], ask(*MESSAGES)[0]]); sys.exit(0)")
        )

    assert (details.status, details.result) == (Status.COMPLETED, "[429, 200]")


async def test_a_failure_after_an_answer_is_the_programs_own(yard: Yard) -> None:
    with provider(refusal(429), message) as upstream:
        details = await outcome(yard, program(upstream.gateway, "ask(*MESSAGES); ask(*MESSAGES); sys.exit(3)"))

    assert details.attempts[0].reason == "agent_error"


@pytest.mark.parametrize(
    ("status", "document", "reason"),
    [
        (401, None, "auth_failure"),
        (400, {"error": {"message": "prompt is too long: 210000 tokens"}}, "context_length"),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, "rate_limit"),
        (500, None, "agent_error"),
    ],
)
async def test_what_a_provider_refuses_says_why_the_program_failed(
    yard: Yard, status: int, document: Any, reason: str
) -> None:
    with provider(refusal(status, document)) as upstream:
        details = await outcome(yard, program(upstream.gateway, "sys.exit(str(ask(*MESSAGES)))"))

    assert details.attempts[0].reason == reason
    assert str(status) in (details.attempts[0].error or "")


async def test_a_stream_that_is_cut_off_ends_with_an_error_and_is_counted_as_far_as_known(yard: Yard) -> None:
    with provider(cut_message) as upstream:
        details = await outcome(yard, program(upstream.gateway, "print(ask(*MESSAGES, stream=True)[1])"))

    assert isinstance(details.result, str)
    *events, last = details.result.split("\n\n")
    assert len(events) == 2
    assert last.splitlines()[0] == "event: error"
    assert json.loads(last.splitlines()[1][6:])["error"]["type"] == "api_error"
    assert spent(details)[1:3] == (1000, 1)
    assert (await records(yard))[0]["failure"] == "502"


async def test_a_completion_that_is_cut_off_before_its_usage_came_is_counted_by_its_text(yard: Yard) -> None:
    with provider(cut_completion) as upstream:
        details = await outcome(yard, program(upstream.gateway, "print(ask(*CHAT, stream=True)[0])"))
        asked = -(-len(json.dumps(upstream.heard[0].body)) // 4)

    assert spent(details)[1:] == (asked, 3, "gpt-4o")  # nine characters are three tokens, about
    assert details.attempts[0].cost == ceil(asked * 2.5 + 3 * 10)
    (record,) = await records(yard)
    assert (record["is_estimate"], record["failure"]) == (True, "502")
    assert f"about {asked} tokens in, 3 out" in record["text"]


async def test_a_provider_that_is_away_is_an_error_of_its_own_shape(yard: Yard) -> None:
    with provider() as upstream:
        gateway = upstream.gateway
    details = await outcome(yard, program(gateway, "print(json.dumps([ask(*MESSAGES), ask(*CHAT)]))"))

    (first, message), (second, chat) = json.loads(str(details.result))
    assert (first, second) == (502, 502)
    assert (message["type"], message["error"]["type"], chat["error"]["code"]) == ("error", "api_error", "server_error")


async def test_an_answer_without_an_end_is_cut_off(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "MOST_ANSWER", 1000)
    monkeypatch.setattr(call_usage, "MOST_EVENT", 1000)

    def long_event(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.piece(b"data: " + b"x" * 2000)
        exchange.close_connection = True

    with provider(refusal(200, {"text": "x" * 2000}), long_event) as upstream:
        text = "print(ask(*MESSAGES)[0]); print(ask(*MESSAGES, stream=True)[1])"
        details = await outcome(yard, program(upstream.gateway, text))

    assert isinstance(details.result, str)
    assert details.result.startswith("502\nevent: error")


async def test_a_provider_that_says_nothing_is_given_up(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "SILENT_FOR", 0.2)
    with provider(lambda exchange: exchange.hold()) as upstream:
        details = await outcome(yard, program(upstream.gateway, "print(ask(*MESSAGES)[0])"))

    assert details.result == "504"


async def test_no_redirect_is_followed(yard: Yard) -> None:
    with provider() as other, provider(refusal(307, location=f"{other.url}/v1/messages")) as upstream:
        details = await outcome(yard, program(upstream.gateway, "print(ask(*MESSAGES)[0])"))

    assert (details.result, other.heard) == ("307", [])


async def test_a_model_without_a_price_is_recorded_with_its_tokens(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    answer = refusal(200, {"model": "house-model-7", "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
    with provider(answer, answer) as upstream:
        details = await outcome(yard, program(upstream.gateway, "ask(*CHAT); ask(*CHAT)"))

    assert spent(details) == (0, 10, 4, "house-model-7")
    assert [each["cost_usd"] for each in await records(yard)] == [None, None]
    assert len([each for each in caplog.messages if "house-model-7" in each]) == 1


# The budget


async def test_a_call_beyond_the_maximum_stops_the_attempt_and_the_program(yard: Yard, tmp_path: Path) -> None:
    went_on = tmp_path / "went_on"
    with provider(message, message) as upstream:
        text = f"ask(*MESSAGES); ask(*MESSAGES)\nimport time; time.sleep(600); open({str(went_on)!r}, 'w').close()"
        details = await outcome(yard, program(upstream.gateway, text), max_cost_usd="0.005")

    (attempt,) = details.attempts
    assert (details.status, attempt.reason) == (Status.DEAD_LETTERED, "budget_exceeded")
    assert attempt.cost == 2 * SONNET_COST
    assert len(await records(yard)) == 2
    assert not went_on.exists()


async def test_a_call_after_the_maximum_is_reached_is_refused_before_it_is_made(yard: Yard, tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    with provider(message, message) as upstream:
        text = (
            "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"  # so that it gets to write
            "ask(*MESSAGES)\n"
            f"with open({str(answer)!r}, 'w') as file: file.write(json.dumps(ask(*MESSAGES)))"
        )
        details = await outcome(yard, program(upstream.gateway, text), max_cost_usd="0.00303")

    status, body = json.loads(answer.read_text())
    assert (status, body["type"], body["error"]["type"]) == (402, "error", "billing_error")
    assert "max_cost_usd" in body["error"]["message"]
    (attempt,) = details.attempts
    assert (details.status, attempt.reason, attempt.cost) == (
        Status.DEAD_LETTERED,
        "budget_exceeded",
        SONNET_COST,
    )
    assert len(upstream.heard) == 1


# Ends


@pytest.mark.parametrize("how", ["cancelled", "killed"])
async def test_a_call_under_way_ends_with_its_attempt_and_what_it_used_is_counted(
    yard: Yard, tmp_path: Path, how: str
) -> None:
    pid = tmp_path / "pid"
    with provider(held_message) as upstream:
        text = (
            f"with open({str(pid)!r}, 'w') as file: file.write(str(os.getpid()))\n"
            "open_call(*MESSAGES, {'model': 'm', 'stream': True}).read()"
        )
        task = await yard.enqueue("code", max_attempts=1)
        async with working(yard, program(upstream.gateway, text)):
            assert await asyncio.to_thread(upstream.reached.wait, 60)
            if how == "cancelled":
                await yard.cancel(task.id)
            else:
                os.kill(int(pid.read_text()), signal.SIGKILL)
            assert await asyncio.to_thread(upstream.hung_up.wait, 60)
            await until(yard, task.id, Status.CANCELLED if how == "cancelled" else Status.DEAD_LETTERED)

    details = await yard.get(task.id)
    if how == "killed":
        assert (details.attempts[0].reason, spent(details)[1:3]) == ("crash", (1000, 1))


async def test_a_call_that_a_program_left_behind_ends_with_the_attempt_and_is_counted(yard: Yard) -> None:
    with provider(held_message) as upstream:
        text = (
            "answer = open_call(*MESSAGES, {'model': 'm', 'stream': True})\n"
            "for _ in range(5): answer.readline()\n"
            "if os.fork() == 0:\n"
            "    os.setsid(); [os.close(each) for each in (0, 1, 2)]\n"
            "    try: answer.read()\n"
            "    finally: os._exit(0)\n"
        )
        details = await outcome(yard, program(upstream.gateway, text))
        assert await asyncio.to_thread(upstream.hung_up.wait, 60)

    assert (details.status, spent(details)[1:3]) == (Status.COMPLETED, (1000, 1))
    assert [(each["failure"], each["is_estimate"]) for each in await records(yard)] == [("403", True)]


async def test_what_ignores_its_end_is_killed_though_the_end_is_heard_of_twice(
    yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call that costs too much ends the attempt, and so does the heartbeat that hears of the same."""
    monkeypatch.setattr(command, "PATIENCE", 2.0)
    pid = tmp_path / "pid"
    with provider(message) as upstream:
        text = (
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            f"with open({str(pid)!r}, 'w') as file: file.write(str(os.getpid()))\n"
            "ask(*MESSAGES); time.sleep(600)"
        )
        timeouts = {"lease_sec": 3, "heartbeat_sec": 1}
        task = await yard.enqueue("code", max_attempts=1, max_cost_usd="0.001", timeouts=timeouts)
        async with working(yard, program(upstream.gateway, text), grace_sec=30):
            await until(yard, task.id, Status.DEAD_LETTERED)

    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_two_attempts_at_once_cannot_use_each_others_endpoint(yard: Yard, tmp_path: Path) -> None:
    """Each program tries the address of the other with its own key, and its own address with the other's."""
    with provider() as upstream:
        text = (
            "import time\n"
            "mine = [os.environ['ANTHROPIC_BASE_URL'], os.environ['ANTHROPIC_API_KEY']]\n"
            f"folder = {str(tmp_path)!r}; me = os.environ['TASKYARD_TASK_ID']\n"
            "with open(f'{folder}/.{me}', 'w') as file: json.dump(mine, file)\n"
            "os.rename(f'{folder}/.{me}', f'{folder}/{me}')\n"
            "while len(names := [n for n in os.listdir(folder) if n.startswith('task_')]) < 2: time.sleep(0.01)\n"
            "base, key = json.load(open(f'{folder}/{[n for n in names if n != me][0]}'))\n"
            "first = call(*MESSAGES, {'model': 'm'}, key=key)[0]\n"
            "os.environ['ANTHROPIC_BASE_URL'] = base\n"
            "second = call(*MESSAGES, {'model': 'm'}, key=mine[1])[0]\n"
            "print(first, second, mine[1] != key, base != mine[0])\n"
            # Neither ends before the other has tried.
            "open(f'{folder}/done_{me}', 'w').close()\n"
            "while len([n for n in os.listdir(folder) if n.startswith('done_')]) < 2: time.sleep(0.01)\n"
        )
        tasks = [await yard.enqueue("code", max_attempts=1) for _ in range(2)]
        await yard.drain(program(upstream.gateway, text))

    assert [(await yard.get(task.id)).result for task in tasks] == ["401 401 True True"] * 2
    assert upstream.heard == []


async def test_an_endpoint_is_gone_when_its_attempt_is(yard: Yard) -> None:
    with provider() as upstream:
        details = await outcome(yard, program(upstream.gateway, "print(os.environ['OPENAI_BASE_URL'])"))

    port = int(str(details.result).split(":")[2].split("/")[0])
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_an_attempt_has_so_many_calls_at_a_time_and_no_more(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_endpoint, "MOST_CALLS", 1)
    with provider(held_message) as upstream:
        text = "first = open_call(*MESSAGES, {'model': 'm', 'stream': True}); print(ask(*MESSAGES)[0])"
        details = await outcome(yard, program(upstream.gateway, text))

    assert details.result == "429"


def test_the_key_is_in_no_text_of_an_upstream() -> None:
    upstream = ScriptedProvider([], url="http://127.0.0.1:1")

    assert REAL_KEY not in repr(upstream.gateway)


async def _appears(path: Path) -> None:
    async with asyncio.timeout(60):
        # Another program's file tells nobody when it appears.
        while not await asyncio.to_thread(path.exists):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
