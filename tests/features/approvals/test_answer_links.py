"""Links in notifications: one wait, one recipient, one use; reminders and escalation while nobody answers."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from taskyard.core.errors import AlreadyAnswered, InvalidInput, NotFound
from taskyard.core.json_value import Json
from taskyard.features.approvals.answer_links import PATH, public_url
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.memory import MemoryStore
from taskyard.yard import Yard, local_yard
from tests.receivers import Receiver, receiving
from tests.yards import claim_that, elapse, given_a_running_task

ADDRESS = "https://yard.example.org"
DAY = 24 * 3600
YES: Json = {"approved": True}


@pytest.fixture
async def yard(clock: ManualClock, tmp_path: Path) -> AsyncGenerator[Yard]:
    options = Options(sweeps=False, transcripts=tmp_path, public_url=ADDRESS, allowed_targets=("127.0.0.1",))
    async with local_yard(MemoryStore(clock=clock), options) as yard:
        yield yard


@pytest.fixture
async def receiver() -> AsyncGenerator[Receiver]:
    async with receiving() as receiver:
        yield receiver


async def asked(yard: Yard, **more: Any) -> Held:
    held = await given_a_running_task(yard)
    await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?", **more)
    return held


async def sent(yard: Yard, receiver: Receiver) -> list[dict[str, Any]]:
    """What arrived since the last time."""
    await yard.host.run_outbox()
    messages = [each.json for each in receiver.received]
    receiver.received.clear()
    return messages


async def link_to(yard: Yard, receiver: Receiver, **more: Any) -> tuple[Held, str]:
    await yard.notifications.set("ops", receiver.url, events=["approval_wanted"])
    held = await asked(yard, **more)
    (message,) = await sent(yard, receiver)
    assert message["data"]["link"] in message["text"]
    return held, message["data"]["link"].removeprefix(ADDRESS + PATH)


async def opened(yard: Yard, text: str) -> Any:
    return await yard.local.answer_links.opened(text)


async def test_a_link_shows_the_question_and_takes_one_answer_in_the_recipients_name(yard: Yard, receiver: Receiver):
    held, text = await link_to(yard, receiver, who=["ops"])
    link = await opened(yard, text)
    for _ in range(3):
        shown = await yard.local.answer_links.show(link)
        assert (shown.question.text, shown.is_open, shown.recipient) == ("Deploy?", True, "ops")

    await yard.local.answer_links.answer(link, YES)

    with pytest.raises(AlreadyAnswered, match="link:ops"):
        await yard.local.answer_links.answer(link, YES)
    shown = await yard.local.answer_links.show(link)
    assert shown.question.answered is not None
    assert (shown.is_open, shown.question.answered.by) == (False, "link:ops")
    again = await claim_that(yard, held.id, start=True)
    assert (await yard.attempts.ask(held.id, again.lease, "deploy", "Deploy?")).by == "link:ops"


@pytest.mark.parametrize("asking", [{"login": True}, {"who": ["ada"]}, {"who": ["operator"]}])
async def test_no_link_goes_to_whoever_may_not_answer_by_one(yard: Yard, receiver: Receiver, asking: dict[str, Any]):
    await yard.notifications.set("ops", receiver.url, events=["approval_wanted"])
    await asked(yard, **asking)

    (message,) = await sent(yard, receiver)

    assert "link" not in message["data"]
    assert ADDRESS not in message["text"]


async def test_without_a_public_address_there_is_no_link(clock: ManualClock, tmp_path: Path, receiver: Receiver):
    options = Options(sweeps=False, transcripts=tmp_path, allowed_targets=("127.0.0.1",))
    async with local_yard(MemoryStore(clock=clock), options) as yard:
        await yard.notifications.set("ops", receiver.url, events=["approval_wanted"])
        await asked(yard)
        (message,) = await sent(yard, receiver)

    assert message["data"] == {
        "signal": "deploy", "wait": 1, "question": "Deploy?", "login": False, "who": [], "until": None,
    }  # fmt: skip


async def test_a_link_ends_with_its_wait(yard: Yard, receiver: Receiver, clock: ManualClock):
    _, text = await link_to(yard, receiver, timeout_sec=60)
    clock.advance(seconds=60)

    with pytest.raises(NotFound):
        await opened(yard, text)


@pytest.mark.parametrize("more", [{}, {"timeout_sec": 30 * DAY}])
async def test_a_link_ends_after_seven_days_though_the_wait_goes_on(
    yard: Yard, receiver: Receiver, clock: ManualClock, more: dict[str, Any]
):
    _, text = await link_to(yard, receiver, **more)
    clock.advance(seconds=7 * DAY - 1)
    await opened(yard, text)

    clock.advance(seconds=1)

    with pytest.raises(NotFound):
        await opened(yard, text)


async def test_a_link_is_for_no_later_question_of_the_task(yard: Yard, receiver: Receiver):
    held, text = await link_to(yard, receiver)
    link = await opened(yard, text)
    await yard.approvals.answer(held.id, "deploy", YES)
    again = await claim_that(yard, held.id, start=True)
    await yard.attempts.ask(held.id, again.lease, "second", "And now?")

    with pytest.raises(NotFound):
        await yard.local.answer_links.answer(link, YES)
    with pytest.raises(NotFound):
        await yard.local.answer_links.show(link)


@pytest.mark.parametrize("change", ["", "x", ".", "x.y", "e30.e30", "W10.W10"])
async def test_what_the_yard_has_not_signed_is_no_link(yard: Yard, receiver: Receiver, change: str):
    _, text = await link_to(yard, receiver)
    body, signature = text.split(".")

    for forged in (change, f"{body}{change or 'A'}.{signature}", f"{body}.{signature[:-2]}AA", f"{body}."):
        with pytest.raises(NotFound):
            await opened(yard, forged)


async def test_a_notifier_that_is_replaced_or_removed_takes_its_links_with_it(yard: Yard, receiver: Receiver):
    _, text = await link_to(yard, receiver)
    await yard.notifications.set("ops", receiver.url, events=["approval_wanted"])
    with pytest.raises(NotFound):
        await opened(yard, text)

    await yard.notifications.remove("ops")
    with pytest.raises(NotFound):
        await opened(yard, text)


async def test_a_link_is_stored_nowhere(yard: Yard, receiver: Receiver):
    receiver.answers = ["500 No"] * 9
    await yard.notifications.set("ops", receiver.url, events=["approval_wanted"])
    await asked(yard)
    await sent(yard, receiver)

    (waiting,) = await yard.store.records("notification")

    assert PATH not in str(waiting.body)


async def test_people_are_reminded_until_somebody_answers(yard: Yard, receiver: Receiver, clock: ManualClock):
    await yard.notifications.set("ops", receiver.url, events=["approval_wanted"], every_sec=600)
    held = await asked(yard)

    heard = [len(await sent(yard, receiver))]
    for _ in range(2):
        clock.advance(seconds=599)
        heard.append(len(await sent(yard, receiver)))
        clock.advance(seconds=1)
        heard.append(len(await sent(yard, receiver)))
    await yard.approvals.answer(held.id, "deploy", YES)
    clock.advance(seconds=600)
    heard.append(len(await sent(yard, receiver)))

    assert heard == [1, 0, 1, 0, 1, 0]
    assert await yard.store.records("notification") == []


async def test_a_reminder_is_not_taken_for_the_one_before_it(yard: Yard, receiver: Receiver, clock: ManualClock):
    """Receivers take what has the same id once."""
    await yard.notifications.set("ops", receiver.url, events=["approval_wanted"], every_sec=600)
    await asked(yard)

    for _ in range(3):
        await yard.host.run_outbox()
        clock.advance(seconds=600)

    first, *_ = heard = [each.headers["webhook-id"] for each in receiver.received]
    assert heard == [first, f"{first}~1", f"{first}~2"]
    assert [each.json["id"] for each in receiver.received] == heard


async def test_somebody_else_hears_of_it_when_nobody_answers_for_long(
    yard: Yard, receiver: Receiver, clock: ManualClock
):
    await yard.notifications.set("boss", receiver.url, events=["approval_wanted"], after_sec=600)
    answered, open_ = await asked(yard), await asked(yard)
    assert await sent(yard, receiver) == []
    await yard.approvals.answer(answered.id, "deploy", YES)

    await elapse(yard, clock, 600)

    assert [each["task_id"] for each in await sent(yard, receiver)] == [open_.id]


@pytest.mark.parametrize("more", [{"after_sec": -1}, {"every_sec": 59}])
async def test_reminders_come_at_sound_times(yard: Yard, receiver: Receiver, more: dict[str, Any]):
    with pytest.raises(InvalidInput):
        await yard.notifications.set("ops", receiver.url, events=["approval_wanted"], **more)


@pytest.mark.parametrize(
    "address", ["yard.example.org", "ftp://yard", "https://a:b@yard", "https://yard/?a", "https://"]
)
def test_a_public_address_is_one(address: str):
    with pytest.raises(InvalidInput, match="public_url"):
        public_url(address)
    assert public_url("https://yard.example.org/tasks/") == "https://yard.example.org/tasks"
