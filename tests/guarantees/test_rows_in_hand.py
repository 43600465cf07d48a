"""What a process remembers of the attempts that it handed out ends with them, however they end."""

from collections.abc import Awaitable, Callable

import pytest

from taskyard.core.errors import LeaseLost
from taskyard.core.task import Status
from taskyard.features.attempts import handed_out
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, given_an_agent, row_of

End = Callable[[Yard, Held], Awaitable[object]]
ENDS: dict[str, End] = {
    "complete": lambda yard, held: yard.complete(held.id, held.lease),
    "fail": lambda yard, held: yard.fail(held.id, held.lease, "crash"),
    "release": lambda yard, held: yard.release(held.id, held.lease),
    "sleep": lambda yard, held: yard.attempts.sleep(held.id, held.lease, "nap", 60),
    "cancel": lambda yard, held: yard.cancel(held.id),
}


async def given_an_attempt(yard: Yard, by: str = "worker") -> Held:
    """One that runs from its claim on: as workers claim."""
    await given_an_agent(yard, by)
    await yard.enqueue("code")
    (held,) = await yard.claim(by, start=True)
    return held


def rows_in_hand(yard: Yard) -> int:
    return len(yard.local.handed_out)


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
async def test_every_end_of_an_attempt_lets_its_row_go(yard: Yard, end: End):
    held = await given_an_attempt(yard)
    assert rows_in_hand(yard) == 1

    await end(yard, held)

    assert rows_in_hand(yard) == 0


async def test_a_row_is_let_go_when_another_process_has_ended_its_attempt(
    yard: Yard, open_yard: OpenYard, clock: ManualClock
):
    elsewhere = await open_yard()
    lost, expired = await given_an_attempt(yard), await given_an_attempt(yard, by="other")
    assert rows_in_hand(yard) == 2
    await elsewhere.cancel(lost.id)
    await yard.heartbeat(lost.id, lost.lease)
    assert rows_in_hand(yard) == 1

    clock.advance(seconds=3600)
    await elsewhere.sweep()
    await given_an_attempt(yard, by="third")

    assert rows_in_hand(yard) == 1
    with pytest.raises(LeaseLost):
        await yard.complete(expired.id, expired.lease)


async def test_the_rows_in_hand_have_an_end_and_those_beyond_it_are_read_again(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(handed_out, "MOST", 2)
    attempts = [await given_an_attempt(yard) for _ in range(3)]

    assert rows_in_hand(yard) == 2
    for held in attempts:
        assert (await yard.complete(held.id, held.lease)).status is Status.COMPLETED


async def test_of_the_rows_in_hand_those_without_a_heartbeat_go_first(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(handed_out, "MOST", 2)
    extended, silent = await given_an_attempt(yard), await given_an_attempt(yard)
    await yard.heartbeat(extended.id, extended.lease)
    newest = await given_an_attempt(yard)

    in_hand = [(await row_of(yard, held.id)).lease in yard.local.handed_out for held in (extended, silent, newest)]
    assert in_hand == [True, False, True]


async def test_a_heartbeat_of_the_same_moment_is_not_forgotten(yard: Yard, open_yard: OpenYard):
    """The row in hand is from before it, and no time has passed that would tell the two apart."""
    elsewhere = await open_yard()
    held = await given_an_attempt(yard)
    for cost in (1, 2):  # the second must not set the end of the lease back to that of the row in hand
        await elsewhere.heartbeat(held.id, held.lease, cost_usd=cost)

    await yard.complete(held.id, held.lease)

    (attempt,) = (await yard.get(held.id)).attempts
    assert attempt.cost == 2_000_000
