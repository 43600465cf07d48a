"""What the environment of a worker configures, how events are split, and what answers say of their usage."""

import json
import subprocess
import sys
from typing import Any

import pytest

from taskyard import Agent
from taskyard.core.errors import InvalidInput
from taskyard.features.budgets.token_counts import TokenCounts
from taskyard.worker.command import Command, command_agent
from taskyard.worker.gateway.attempt_endpoint import Gateway
from taskyard.worker.gateway.call_usage import CallUsage, EventSplitter, data_of
from taskyard.worker.gateway.upstreams import ANTHROPIC, OPENAI, PROVIDERS, configured
from taskyard.worker.isolation.limits import ProgramLimits


def test_a_key_alone_means_the_provider_itself() -> None:
    [anthropic] = configured({"ANTHROPIC_API_KEY": "k"})

    assert (anthropic.url, anthropic.headers) == ("https://api.anthropic.com", {"x-api-key": "k"})


def test_an_address_alone_is_an_upstream_without_a_key() -> None:
    [local] = configured({"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1/"})

    assert (local.provider, local.url, local.headers) == (OPENAI, "http://127.0.0.1:11434/v1", {})


def test_a_token_of_anthropic_is_sent_as_one() -> None:
    [anthropic] = configured({"ANTHROPIC_AUTH_TOKEN": "t"})

    assert anthropic.headers == {"authorization": "Bearer t"}


@pytest.mark.parametrize(
    ("environment", "field"),
    [
        ({}, "--gateway"),
        ({"OPENAI_BASE_URL": "ftp://host"}, "OPENAI_BASE_URL"),
        ({"OPENAI_BASE_URL": "https://"}, "OPENAI_BASE_URL"),
        ({"OPENAI_BASE_URL": "https://host:x/"}, "OPENAI_BASE_URL"),
        ({"ANTHROPIC_BASE_URL": "https://me:secret@host/"}, "ANTHROPIC_BASE_URL"),
        ({"ANTHROPIC_API_KEY": "two\nlines"}, "ANTHROPIC_API_KEY"),
    ],
)
def test_what_could_never_be_called_is_refused_without_repeating_it(environment: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput, match=field) as refused:
        configured(environment)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({"passed": ["HOME", "OPENAI_API_KEY"]}, "OPENAI_API_KEY"),
        ({"passed": ["ANTHROPIC_AUTH_TOKEN"]}, "ANTHROPIC_AUTH_TOKEN"),
        ({"limits": ProgramLimits(network=False)}, "--no-network"),
    ],
)
def test_what_would_lead_past_the_gateway_is_refused(
    monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], field: str
) -> None:
    def hold(limits: ProgramLimits) -> ProgramLimits:
        """Whether this machine can hold them is not asked here."""
        return limits

    monkeypatch.setattr(ProgramLimits, "check", hold)
    command = Command(words=["true"], gateway=Gateway(configured({"OPENAI_API_KEY": "k"})), **how)

    with pytest.raises(InvalidInput, match=field):
        command_agent(Agent("program"), command)


def test_a_library_that_is_missing_is_named_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)

    with pytest.raises(InvalidInput, match=r"needs httpx: pip install 'taskyard\[gateway\]'"):
        Gateway(configured({"OPENAI_API_KEY": "k"})).check()


def test_a_worker_without_a_gateway_loads_nothing_for_one() -> None:
    program = "import taskyard.worker.command, sys; print(*{'httpx', 'uvicorn', 'genai_prices'} & set(sys.modules))"

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout.split() == []


def test_the_environment_of_a_worker_is_closed_to_its_programs() -> None:
    program = (
        "import ctypes; from taskyard.worker.gateway.process_memory import hide\n"
        "print(hide(), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"  # 3 asks for what 4 sets
    )

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"True 0\n"


EVENTS = [b"event: a\ndata: 1\n\n", b": ping\n\n", b"data: 2\r\n\r\n", b"data: 3\ndata: 4\n\n"]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_events_are_split_alike_however_they_come(size: int) -> None:
    text, splitter, found = b"".join(EVENTS) + b"data: 5", EventSplitter(), list[bytes]()
    for start in range(0, len(text), size):
        found += splitter.events(text[start : start + size])

    assert (found, splitter.rest) == (EVENTS, b"data: 5")


@pytest.mark.parametrize(
    "text", [b"", b"data: [DONE]\n\n", b'data: {"usage": \n\n', b": ping\n\n", b'data: "usage"\n\n']
)
def test_an_event_that_says_nothing_of_usage_teaches_nothing(text: bytes) -> None:
    usage = CallUsage(OPENAI, "m")
    usage.learn(data_of(text))

    assert (usage.is_known, usage.model) == (False, "m")


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda each: each.name)
@pytest.mark.parametrize(
    "document",
    [
        {"usage": {"input_tokens": "many", "output_tokens": -5}},
        {"usage": [1, 2], "model": 7},
        {"usage": {"input_tokens": True, "prompt_tokens_details": 9}},
        {"message": [], "response": "x", "model": "a\nb"},
    ],
    ids=str,
)
def test_nonsense_counts_as_nothing(provider: Any, document: dict[str, Any]) -> None:
    usage = CallUsage(provider, "m")
    usage.learn(document)

    assert (usage.call.tokens, usage.call.cost, usage.model) == (TokenCounts(), None, "m")


def test_the_input_of_anthropic_has_the_cached_tokens_in_it() -> None:
    """Also where fewer tokens were cached than not: beside the input, they are never a part of it."""
    usage = CallUsage(ANTHROPIC, None)
    usage.learn({"usage": {"input_tokens": 1000, "cache_read_input_tokens": 600, "output_tokens": 5}})

    assert usage.call.tokens == TokenCounts(1600, 5, 600, 0)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda each: each.name)
def test_an_error_has_the_providers_shape_plain_and_in_a_stream(provider: Any) -> None:
    plain = provider.error(402, "nothing is left")
    event = provider.error_event(402, "nothing is left").decode()

    assert plain["error"]["message"] == "nothing is left"
    assert json.loads(event.partition("data: ")[2]) == plain
