"""What a provider's exception means, by its shape."""

import pytest

from taskyard.core.task import Reason
from taskyard.core.units import SECOND, Micros, from_iso
from taskyard.worker.providers import Fault, diagnose

NOW = from_iso("2026-11-16T05:00:00Z")
TOO_LONG = [
    "Error code: 400 - {'error': {'message': \"This model's maximum context length is 128000 tokens.\"}}",
    "{'error': {'code': 'context_length_exceeded'}}",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "400 INVALID_ARGUMENT. The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(("HTTPStatusError",), 429), Reason.RATE_LIMIT),
        (Fault(("InternalServerError",), 529), Reason.RATE_LIMIT),
        (Fault(("ModelRateLimitError", "ModelAPIError")), Reason.RATE_LIMIT),
        (Fault(("APIStatusError",), None, {}, '{"type": "overloaded_error"}'), Reason.RATE_LIMIT),
        (Fault(("AuthenticationError",), 401), Reason.AUTH_FAILURE),
        (Fault(("ClientError",), 403), Reason.AUTH_FAILURE),
        (Fault(("ReadTimeout", "TimeoutException")), Reason.TIMEOUT),
        (Fault(("TimeoutError", "OSError")), Reason.TIMEOUT),
        (Fault(("ServerError",), 504), Reason.TIMEOUT),
        (Fault(("BadRequestError",), 413, {}, "request_too_large"), Reason.CONTEXT_LENGTH),
        *((Fault(("BadRequestError",), 400, {}, text), Reason.CONTEXT_LENGTH) for text in TOO_LONG),
    ],
)
def test_a_fault_has_the_reason_that_the_retry_policy_knows(fault: Fault, reason: Reason):
    diagnosis = diagnose(fault, now=NOW)

    assert diagnosis is not None
    assert diagnosis.reason is reason


@pytest.mark.parametrize(
    "fault",
    [
        Fault(("ValueError",), None, {}, "the README says that the maximum context length is 128000"),
        Fault(("BadRequestError",), 400, {}, "bad tool schema"),
        Fault(("ServerError",), 500),
        Fault(("ServerError",), 503, {"retry-after": "5"}),
        Fault(("ConnectError",)),
    ],
)
def test_what_has_no_reason_of_its_own_is_left_alone(fault: Fault):
    assert diagnose(fault, now=NOW) is None


@pytest.mark.parametrize(
    ("headers", "text", "wait"),
    [
        ({"retry-after": "2"}, "", 2),
        ({"retry-after": "1.5"}, "", 1.5),
        ({"retry-after": "0"}, "", 1),
        ({"retry-after-ms": "2500", "retry-after": "60"}, "", 2.5),
        ({"retry-after": "Mon, 16 Nov 2026 05:00:30 GMT"}, "", 30),
        ({"retry-after": "Mon, 16 Nov 2026 04:00:00 GMT"}, "", 1),
        ({"retry-after": "99999999999"}, "", 7 * 86_400),
        ({}, "{'@type': 'google.rpc.RetryInfo', 'retryDelay': '34s'}", 34),
        ({"retry-after": "soon"}, "", None),
        ({}, "", None),
    ],
)
def test_the_wait_is_the_providers(headers: dict[str, str], text: str, wait: float | None):
    diagnosis = diagnose(Fault(("RateLimitError",), 429, headers, text), now=NOW)

    assert diagnosis is not None
    assert diagnosis.retry_after == (None if wait is None else Micros(round(wait * SECOND)))
