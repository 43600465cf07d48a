"""What the exception of a model provider's library means for the task: the rules for all of them, by shape alone.

openai, anthropic, httpx, pydantic-ai, google-genai and others raise different classes for the same few facts. Nothing
here imports any of them: what is known of an exception is its names, its status, its headers and its text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from taskyard.core.rate_limit import LONGEST_WAIT, SHORTEST_WAIT
from taskyard.core.task import Reason
from taskyard.core.units import SECOND, Micros, micros, seconds

EXAMINED = 20_000  # characters of an answer


class Fault(NamedTuple):
    """An exception, as far as the rules look."""

    names: tuple[str, ...]  # of its class and what that is made from, without their modules
    status: int | None = None  # of the HTTP answer
    headers: Mapping[str, str] = {}  # in lower case
    text: str = ""  # message and body of the answer


class Diagnosis(NamedTuple):
    """Why a call of a model failed."""

    reason: Reason
    retry_after: Micros | None = None  # what the provider asked for

    @property
    def retry_after_sec(self) -> float | None:
        return None if self.retry_after is None else self.retry_after / SECOND


_LIMITED = frozenset({"RateLimitError", "ModelRateLimitError", "ModelQuotaExceededError", "ResourceExhausted"})
_OVERLOADED = frozenset({"OverloadedError", "ModelOverloadedError"})
_UNKNOWN = frozenset({"AuthenticationError", "PermissionDeniedError", "ModelAuthenticationError", "Unauthenticated"})
_TOO_LONG = frozenset({"ModelContextWindowExceededError", "ContextWindowExceededError"})
_TIMED_OUT = frozenset({"TimeoutError", "TimeoutException", "APITimeoutError", "ModelTimeoutError", "DeadlineExceeded"})
_TIMED_OUT_STATUS = frozenset({408, 504})
_REFUSED_STATUS = frozenset({400, 413, 422})

# Only in the answer to a request that was refused: agents write about context windows as well.
_CONTEXT_LENGTH = re.compile(
    r"""context_length_exceeded | maximum\s+context\s+length | context\s+(?:window|limit|length)
    | (?:prompt|input|request)\s+is\s+too\s+long | request_too_large | input\s+token\s+count | string_above_max_length
    | exceeds?\s+the\s+maximum\s+number\s+of\s+tokens""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
# An error inside a stream that began well has no status of its own.
_TYPED = re.compile(r"""["']type["']\s*:\s*["'](rate_limit|overloaded|authentication)_error["']""", re.ASCII)
_DELAY = re.compile(r"""["']?retryDelay["']?\s*:\s*["'](\d{1,7}(?:\.\d{1,9})?)s["']""", re.ASCII)  # Google's RetryInfo
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?", re.ASCII)


def diagnose(fault: Fault, *, now: Micros) -> Diagnosis | None:
    """What the fault comes to; None where it is no provider's, or nothing that has a reason of its own."""
    reason = _reason(fault)
    if reason is None:
        return None
    return Diagnosis(reason, _retry_after(fault, now) if reason is Reason.RATE_LIMIT else None)


def _reason(fault: Fault) -> Reason | None:
    names, status, text = frozenset(fault.names), fault.status, fault.text[:EXAMINED]
    typed = match[1] if (match := _TYPED.search(text)) else None
    if names & _TOO_LONG or (status in _REFUSED_STATUS and _CONTEXT_LENGTH.search(text)):
        return Reason.CONTEXT_LENGTH
    if status in (429, 529) or names & (_LIMITED | _OVERLOADED) or typed in ("rate_limit", "overloaded"):
        return Reason.RATE_LIMIT
    if status in (401, 403) or names & _UNKNOWN or typed == "authentication":
        return Reason.AUTH_FAILURE
    if status in _TIMED_OUT_STATUS or names & _TIMED_OUT:
        return Reason.TIMEOUT
    return None


def _retry_after(fault: Fault, now: Micros) -> Micros | None:
    wait = _wait_named(fault, now)
    return None if wait is None else Micros(min(max(wait, SHORTEST_WAIT), LONGEST_WAIT))


def _wait_named(fault: Fault, now: Micros) -> Micros | None:
    """The most exact first: milliseconds, seconds, a date, what is in the body."""
    if _NUMBER.fullmatch(milliseconds := fault.headers.get("retry-after-ms", "").strip()):
        return seconds(float(milliseconds) / 1000)
    after = fault.headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(after):
        return seconds(float(after))
    if after and (at := _date(after)) is not None:
        return Micros(at - now)
    delay = _DELAY.search(fault.text[:EXAMINED])
    return None if delay is None else Micros(round(float(delay[1]) * SECOND))


def _date(text: str) -> Micros | None:
    try:
        return micros(parsedate_to_datetime(text))
    except (ValueError, TypeError, OverflowError):
        return None  # no date that anybody could wait for
