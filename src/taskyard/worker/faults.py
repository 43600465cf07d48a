"""What a handler raised, as the rules about providers look at it. No provider's library is imported here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import is_mapping
from taskyard.core.task import Reason
from taskyard.core.units import micros
from taskyard.worker.providers import Diagnosis, Fault, diagnose

DEEPEST = 8  # causes that are looked at
_TEXTS = ("message", "body", "details")  # beside what the exception prints as


def failure_of(error: Exception) -> dict[str, Any]:
    """What an exception of a handler means for its task, as the arguments of `fail`."""
    failure: dict[str, Any] = {"error": described(error)}
    if isinstance(error, MemoryError):
        return {"reason": Reason.CRASH, **failure}
    if isinstance(error, InvalidInput):
        return {"reason": Reason.REFUSED, **failure}  # the yard would refuse it from the next attempt too
    diagnosis = diagnose_error(error)
    if diagnosis is None:
        return {"reason": Reason.AGENT_ERROR, **failure}
    return {"reason": diagnosis.reason, **failure, "retry_after_sec": diagnosis.retry_after_sec}


def described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def diagnose_error(error: BaseException) -> Diagnosis | None:
    """What the exception of a model provider's library means for a task: the reason, and how long to wait for.

    Known by their shape: httpx, openai, anthropic, pydantic-ai, google-genai and what wraps them. A cause is looked at
    too. 429 and 529 are `rate_limit`, 401 and 403 `auth_failure`, then there are `context_length` and `timeout`; None
    for anything else. What a handler raises is looked at in this way: a handler needs it only to decide by itself.
    """
    now = micros(datetime.now(UTC))
    found = [diagnosis for each in _chain(error) if (diagnosis := diagnose(fault_of(each), now=now)) is not None]
    if not found:
        return None
    # A framework's own exception may lack the headers that its cause has.
    waits = [each.retry_after for each in found if each.reason is found[0].reason and each.retry_after is not None]
    return found[0]._replace(retry_after=waits[0] if waits else None)


def fault_of(error: BaseException) -> Fault:
    return Fault(tuple(each.__name__ for each in type(error).__mro__), _status(error), _headers(error), _text(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it was raised from. What it merely came up beside says nothing about it."""
    cause: BaseException | None = error
    for _ in range(DEEPEST):
        if cause is None:
            return
        if isinstance(cause, BaseExceptionGroup) and len(group := cast(Any, cause).exceptions) == 1:
            cause = group[0]
            continue
        yield cause
        cause = cause.__cause__


def _status(error: BaseException) -> int | None:
    values = (
        getattr(place, name, None)
        for place in (error, getattr(error, "response", None))
        for name in ("status_code", "code", "status")
    )
    return next((int(value) for value in values if isinstance(value, int) and 400 <= value <= 599), None)


def _headers(error: BaseException) -> dict[str, str]:
    for place in (getattr(error, "response", None), error):
        headers = getattr(place, "headers", None)
        if is_mapping(headers):
            return {str(name).lower(): str(value) for name, value in headers.items()}
    return {}


def _text(error: BaseException) -> str:
    texts = [str(error), *(str(value) for name in _TEXTS if (value := getattr(error, name, None)) is not None)]
    return "\n".join(texts)
