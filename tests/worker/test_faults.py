"""Exceptions of the providers' own libraries: what each means for a task is known by its shape alone."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from taskyard.app import Yard
from taskyard.core.task import Outcome, Status
from taskyard.worker.context import Context
from taskyard.worker.faults import diagnose_error, failure_of
from taskyard.worker.handlers import Agent


class Shape(Exception):
    """An exception with the attributes that a library gives its own."""

    def __init__(self, text: str, **attributes: Any) -> None:
        super().__init__(text)
        vars(self).update(attributes)


class RateLimitError(Shape):
    """openai and anthropic."""


class OverloadedError(Shape):
    """anthropic."""


class APITimeoutError(Shape):
    """openai and anthropic."""


class BadRequestError(Shape):
    """openai and anthropic."""


class ModelHTTPError(Shape):
    """pydantic-ai."""


class ClientError(Shape):
    """google-genai: the status is called code."""


def answer(status: int, headers: Mapping[str, str] | None = None) -> httpx.Response:
    return httpx.Response(status, headers=headers, request=httpx.Request("POST", "https://provider.example/v1"))


def from_httpx(status: int, headers: Mapping[str, str] | None = None) -> Exception:
    with pytest.raises(httpx.HTTPStatusError) as raised:
        answer(status, headers).raise_for_status()
    return raised.value


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


SHAPES: list[tuple[Exception, str, float | None]] = [
    (RateLimitError("Error code: 429", status_code=429, response=answer(429, {"Retry-After": "2"})), "rate_limit", 2),
    (
        RateLimitError("Error code: 429", status_code=429, response=answer(429, {"retry-after-ms": "900"})),
        "rate_limit",
        1,
    ),
    (OverloadedError("Error code: 529", status_code=529, response=answer(529)), "rate_limit", None),
    (Shape("Error code: 401", status_code=401, response=answer(401)), "auth_failure", None),
    (Shape("Error code: 403", status_code=403, response=answer(403)), "auth_failure", None),
    (APITimeoutError("Request timed out."), "timeout", None),
    (
        BadRequestError("no", status_code=400, body={"error": {"code": "context_length_exceeded"}}),
        "context_length",
        None,
    ),
    (from_httpx(429, {"retry-after": "3"}), "rate_limit", 3),
    (from_httpx(403), "auth_failure", None),
    (httpx.ReadTimeout("slow"), "timeout", None),
    (ModelHTTPError("status_code: 429, model_name: m", status_code=429, headers={"retry-after": "7"}), "rate_limit", 7),
    (ClientError("429 RESOURCE_EXHAUSTED. {'retryDelay': '34s'}", code=429, response=None), "rate_limit", 34),
    (ClientError("403 PERMISSION_DENIED.", code=403, response=None), "auth_failure", None),
    (
        caused(ModelHTTPError("status_code: 429", status_code=429), from_httpx(429, {"retry-after": "4"})),
        "rate_limit",
        4,
    ),
    (ExceptionGroup("tasks", [from_httpx(401)]), "auth_failure", None),
    (TimeoutError("too slow"), "timeout", None),
    (from_httpx(500), "agent_error", None),
    (ValueError("added a 429 handler"), "agent_error", None),
    (MemoryError(), "crash", None),
]


@pytest.mark.parametrize(("error", "reason", "wait"), SHAPES, ids=lambda value: type(value).__name__)
def test_an_exception_is_a_failure_with_its_reason_and_the_providers_time(
    error: Exception, reason: str, wait: float | None
):
    failure = failure_of(error)

    assert failure["reason"] == reason
    assert failure.get("retry_after_sec") == wait


async def test_a_rate_limit_parks_the_task_for_the_time_in_the_headers(yard: Yard):
    agent = Agent("worker")

    @agent.handles("ask")
    async def ask(task: Context) -> str:
        raise RateLimitError("Error code: 429", status_code=429, response=answer(429, {"Retry-After": "900"}))

    task = await yard.enqueue("ask")
    await yard.drain(agent)

    parked = await yard.get(task.id)
    (attempt,) = await yard.tasks.history(task.id)
    assert (parked.status, attempt.reason, attempt.counted) == (Status.RETRYING, "rate_limit", False)
    assert parked.wake_at is not None
    assert 890 < (parked.wake_at - attempt.ended_at) / 1_000_000 < 1000


@pytest.mark.parametrize("status", [401, 400])
async def test_what_the_next_attempt_would_meet_again_is_not_retried(yard: Yard, status: int):
    agent = Agent("worker")

    @agent.handles("ask")
    async def ask(task: Context) -> str:
        raise BadRequestError("the maximum context length is 8192", status_code=status, response=answer(status))

    task = await yard.enqueue("ask", retry={"strategy": "immediate"})
    await yard.drain(agent)

    (attempt,) = await yard.tasks.history(task.id)
    assert (attempt.outcome, attempt.reason) == (Outcome.FAILED, "auth_failure" if status == 401 else "context_length")
    assert (await yard.get(task.id)).status is Status.DEAD_LETTERED


def test_a_handler_may_ask_what_an_exception_means_and_decide_by_itself():
    limited = diagnose_error(from_httpx(429, {"retry-after": "3"}))

    assert limited is not None
    assert (limited.reason, limited.retry_after_sec) == ("rate_limit", 3)
    assert diagnose_error(ValueError("429 bottles")) is None
