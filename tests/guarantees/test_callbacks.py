"""A task that names a webhook has it called when it has ended: at least once, signed, under one id, or parked."""

from collections.abc import AsyncIterator

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.units import Micros
from taskyard.features.notifications.callbacks import MOST_OUTPUT
from taskyard.features.notifications.rules import TRIES
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.signing import HEADERS, Scheme, delivered
from taskyard.yard import Yard
from tests.receivers import Receiver, receiving
from tests.yards import OpenYard, elapse, given_a_dead_letter, given_a_running_task, given_an_agent

HERE = ("127.0.0.0/8",)


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    return await open_yard(allowed_targets=HERE)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


async def deliver(yard: Yard, clock: ManualClock, seconds: float = 2) -> None:
    await elapse(yard, clock, seconds)
    await yard.host.run_outbox()


async def test_the_end_of_a_task_is_sent_to_its_callback_once_and_signed(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    held = await given_a_running_task(yard, callback=receiver.url)
    other = await given_a_running_task(yard)
    await deliver(yard, clock)
    assert receiver.received == []

    await yard.complete(held.id, held.lease, {"answer": 42})
    await yard.complete(other.id, other.lease, {"answer": 43})
    await deliver(yard, clock)
    await deliver(yard, clock)

    (received,) = receiver.received
    assert (received.json["type"], received.json["task_id"]) == ("task_ended", held.id)
    assert received.json["data"]["status"] == "completed"
    assert received.json["data"]["output"] == {"answer": 42}
    secret = (await yard.notifications.callback_secret()).secret
    shown = {name: received.headers.get(name, "") for name in HEADERS}
    assert delivered(Scheme.STANDARD, shown, received.body, [secret], Micros(yard.now())).id == received.json["id"]
    assert (await yard.get(held.id)).callback == receiver.url


@pytest.mark.parametrize(("end", "why"), [("cancelled", "not wanted"), ("dead_lettered", "agent_error: it fell over")])
async def test_every_end_is_one_and_says_why(yard: Yard, clock: ManualClock, receiver: Receiver, end: str, why: str):
    held = await given_a_running_task(yard, callback=receiver.url, max_attempts=1)
    if end == "cancelled":
        await yard.cancel(held.id, reason="not wanted")
    else:
        await yard.fail(held.id, held.lease, "agent_error", "it fell over")
    await deliver(yard, clock)
    (received,) = receiver.received
    assert (received.json["data"]["status"], received.json["data"]["why"]) == (end, why)


async def test_a_task_that_died_with_its_worker_says_why(yard: Yard, clock: ManualClock, receiver: Receiver):
    held = await given_a_running_task(yard, callback=receiver.url, max_attempts=1, timeouts={"lease_sec": 60})
    await elapse(yard, clock, 300)
    await deliver(yard, clock)
    (received,) = receiver.received
    assert (received.json["task_id"], received.json["data"]["why"]) == (
        held.id,
        "heartbeat_timeout: no heartbeat in time",
    )


async def test_a_dead_letter_that_is_cancelled_has_ended_before(yard: Yard, clock: ManualClock, receiver: Receiver):
    held = await given_a_dead_letter(yard, callback=receiver.url)
    await yard.cancel(held.id)
    await deliver(yard, clock)
    (received,) = receiver.received
    assert received.json["data"]["status"] == "dead_lettered"


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("character", ["x", "é", "€", "🙂"])
async def test_a_long_output_is_read_with_the_task(
    yard: Yard, clock: ManualClock, receiver: Receiver, character: str, more: int
):
    room = MOST_OUTPUT - len('""')  # in bytes, of which a character has up to four
    whole, rest = divmod(room, len(character.encode()))
    output = character * whole + "x" * (rest + more)
    held = await given_a_running_task(yard, callback=receiver.url)
    await yard.complete(held.id, held.lease, output)
    await deliver(yard, clock)
    (received,) = receiver.received
    told = received.json["data"]
    assert (told["output"], told["has_output"]) == ((None, False) if more else (output, True))


async def test_an_output_that_was_judged_is_in_the_callback(yard: Yard, clock: ManualClock, receiver: Receiver):
    judged = {"validation": "llm-judge", "validation_schema": "Is it convincing?"}
    await given_an_agent(yard, "judge", capabilities=["llm-judge"])
    held = await given_a_running_task(yard, callback=receiver.url, output=judged)
    await yard.complete(held.id, held.lease, "an essay")
    (judging,) = await yard.claim("judge", types=["llm-judge"], start=True)
    await yard.complete(judging.id, judging.lease, {"passed": True})
    await deliver(yard, clock)
    (received,) = receiver.received
    assert received.json["data"]["output"] == "an essay"


async def test_a_callback_that_is_not_taken_is_tried_again_under_its_id_and_parked(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    receiver.answers = ["500 Sorry"] * TRIES
    held = await given_a_running_task(yard, callback=receiver.url)
    await yard.complete(held.id, held.lease)
    for _ in range(TRIES + 1):
        clock.advance(seconds=2 * 3600)
        await deliver(yard, clock)
    assert len(receiver.received) == TRIES
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 1
    (parked,) = await yard.notifications.deliveries(parked=True)
    assert (parked.task_id, parked.error) == (held.id, "it answered with status 500")

    await yard.notifications.resend(parked.id)
    await deliver(yard, clock)
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 1
    assert await yard.notifications.deliveries(parked=True) == []


@pytest.mark.parametrize(
    ("callback", "rule"),
    [
        ("ftp://example.org/x", "http:// or https://"),
        ("slack://a/b/c", "http:// or https://"),
        ("http://169.254.169.254/latest", ""),
        ("http://user@10.0.0.1/", ""),
        ("https://", ""),
        ("http://[::1", ""),
        ("x" * 3000, ""),
    ],
)
async def test_a_callback_that_may_not_be_called_is_refused(yard: Yard, callback: str, rule: str):
    with pytest.raises(InvalidInput, match="callback") as refused:
        await yard.enqueue("code", callback=callback)
    assert rule in str(refused.value)


async def test_an_agent_cannot_have_the_yard_call_somebody(yard: Yard, receiver: Receiver):
    held = await given_a_running_task(yard)
    with pytest.raises(InvalidInput, match="callback"):
        await yard.tasks.spawn(held.id, held.lease, [{"type": "code", "callback": receiver.url}], name="out")
