"""People are told: by rule, at least once, signed, and what cannot be delivered is kept for them to see."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.notice import Notice
from taskyard.core.units import Micros
from taskyard.features.notifications.delivery import Delivery
from taskyard.features.notifications.rules import TRIES, UNASKED
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.signing import HEADERS, Scheme, delivered
from taskyard.outbox import OutboxRunner
from taskyard.yard import Yard
from tests.receivers import Receiver, receiving
from tests.yards import (
    Died,
    OpenYard,
    claim_that,
    data_of,
    elapse,
    given_a_dead_letter,
    given_a_running_task,
    given_an_agent,
)

EVERYTHING = [notice.value for notice in Notice if notice not in UNASKED]
HERE = ("127.0.0.0/8",)


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    return await open_yard(allowed_targets=HERE)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


async def deliver(yard: Yard, clock: ManualClock, seconds: float = 2) -> None:
    """Let time pass, and errands be run."""
    await elapse(yard, clock, seconds)
    await yard.host.run_outbox()


def received_notices(receiver: Receiver) -> list[tuple[str, str]]:
    return [(each.json["type"], each.json["title"]) for each in receiver.received]


# What is told


async def test_a_dead_letter_is_reported_once_to_who_wants_it(yard: Yard, clock: ManualClock, receiver: Receiver):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    held = await given_a_dead_letter(yard, title="Fix the build")

    await deliver(yard, clock)
    await deliver(yard, clock)

    (received,) = receiver.received
    assert received.json["title"] == f"Dead letter: code “Fix the build” ({held.id})"
    assert "it fell over" in received.json["text"]
    assert (received.json["task_id"], received.json["workspace"]) == (held.id, "default")
    assert received.json["data"]["reason"] == "crash"
    assert await yard.store.outbox("notify", 10) == []
    assert await yard.notifications.deliveries() == []


async def test_an_open_breaker_is_reported_whether_failures_or_a_person_opened_it(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.notifications.set("ops", receiver.url, events=["breaker_open"])
    await yard.breakers.set_policy(failure_threshold=1, half_open_after_sec=10)
    await given_a_dead_letter(yard, "code")
    await deliver(yard, clock)
    await yard.breakers.open("research", why="too dear")
    await deliver(yard, clock)

    assert received_notices(receiver) == [
        ("breaker_open", "Breaker open: code"),
        ("breaker_open", "Breaker open: research"),
    ]
    assert "too dear" in receiver.received[1].json["text"]


async def test_a_probe_that_fails_is_reported_again(yard: Yard, clock: ManualClock, receiver: Receiver):
    await yard.notifications.set("ops", receiver.url, events=["breaker_open"])
    await yard.breakers.set_policy(failure_threshold=1, half_open_after_sec=10)
    await given_a_dead_letter(yard, "code")
    await elapse(yard, clock, 20)
    await given_a_dead_letter(yard, "code")

    await deliver(yard, clock)

    assert len(receiver.received) == 2


async def test_a_task_that_waits_for_a_word_is_reported_once_for_each_wait(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.notifications.set("ops", receiver.url, events=["approval_wanted"])
    held = await given_a_running_task(yard, "deploy")
    await yard.attempts.wait_for(held.id, held.lease, "first", "approve", timeout_sec=3600)
    await deliver(yard, clock)
    await yard.signal(held.id, "approve")
    again = await claim_that(yard, held.id, start=True)
    await yard.attempts.wait_for(again.id, again.lease, "first", "approve")
    await yard.attempts.sleep(again.id, again.lease, "nap", 5)

    await deliver(yard, clock)

    (received,) = receiver.received
    assert received.json["title"] == f"Approval wanted: deploy ({held.id})"
    assert "the signal approve until 20" in received.json["text"]


async def test_a_failed_graph_is_reported_and_so_is_a_completed_one_to_who_wants_that(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.notifications.set("ops", receiver.url, events=["dag_failed", "dag_completed"], tags=["site"])
    await given_an_agent(yard, "worker")
    dags = [
        await yard.submit({"title": title, "tags": tags, "tasks": [{"type": "code", "max_attempts": 1}]})
        for title, tags in (("Bad", ["site"]), ("Good", ["site"]), ("Other", []))
    ]
    for dag in dags:
        held = await claim_that(yard, dag.tasks["#0"].id, start=True)
        if dag is dags[0]:
            await yard.fail(held.id, held.lease, "crash")
        else:
            await yard.complete(held.id, held.lease)

    await deliver(yard, clock, 10)

    assert sorted(received_notices(receiver)) == [
        ("dag_completed", f"DAG completed: “Good” {dags[1].id}"),
        ("dag_failed", f"DAG failed: “Bad” {dags[0].id}"),
    ]


async def test_money_that_is_gone_is_reported_once_for_a_graph_and_once_a_day(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.notifications.set("ops", receiver.url, events=["budget_gone"])
    await given_an_agent(yard, "worker")
    dag = await yard.submit(
        {
            "title": "Dear",
            "budget_ceiling_usd": 1,
            "tasks": [{"type": "code", "max_cost_usd": 5}, {"type": "code", "max_cost_usd": 5}],
        }
    )
    assert await yard.claim("worker") == []
    await deliver(yard, clock, 10)
    await yard.budgets.set(daily_budget_usd=1)
    for _ in range(2):
        await yard.enqueue("code", max_cost_usd=3)
        assert await yard.claim("worker") == []
        await deliver(yard, clock, 10)

    titles = [title for _, title in received_notices(receiver)]
    assert titles[0] == f"Budget gone: “Dear” {dag.id}"
    assert titles[1].startswith("Budget gone: the day 20")
    assert len(titles) == 2
    assert len(await data_of(yard, "budget.gone")) == 2


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ({}, ["code", "test"]),
        ({"types": ["code"]}, ["code"]),
        ({"queues": ["night"]}, ["test"]),
        ({"tags": ["urgent", "x"]}, ["test"]),
        ({"types": ["code"], "tags": ["urgent"]}, []),
        ({"events": ["breaker_open"]}, []),
    ],
)
async def test_a_notifier_may_choose_by_type_queue_and_tag(
    yard: Yard, clock: ManualClock, receiver: Receiver, only: dict[str, Any], expected: list[str]
):
    asked: dict[str, Any] = {"events": ["dead_letter"], **only}
    await yard.notifications.set("ops", receiver.url, **asked)
    await given_a_dead_letter(yard, "code", tags=["x1"])
    await given_a_dead_letter(yard, "test", tags=["urgent"], queue="night")

    await deliver(yard, clock)

    assert sorted(each.json["title"].split(" ")[2] for each in receiver.received) == expected


async def test_nothing_is_kept_where_nobody_wants_to_be_notified(yard: Yard, clock: ManualClock):
    await given_a_dead_letter(yard)
    assert len(await yard.store.outbox("notify", 10)) == 1

    await deliver(yard, clock)

    assert await yard.store.outbox("notify", 10) == []
    assert await yard.notifications.deliveries() == []


async def test_a_workspace_tells_its_own_people_of_its_own_work(
    open_yard: OpenYard, clock: ManualClock, receiver: Receiver
):
    here = await open_yard(allowed_targets=HERE)
    there = await open_yard(allowed_targets=HERE, workspace="there")
    await there.notifications.set("ops", receiver.url, events=EVERYTHING)
    await given_a_dead_letter(here)
    held = await given_a_dead_letter(there)

    await deliver(here, clock)

    assert [(each.json["workspace"], each.json["task_id"]) for each in receiver.received] == [("there", held.id)]


# How it gets there


async def test_a_webhook_is_signed_with_a_secret_that_is_shown_once(yard: Yard, clock: ManualClock, receiver: Receiver):
    made = await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    await given_a_dead_letter(yard)
    await deliver(yard, clock)

    (received,) = receiver.received
    shown = {name: received.headers.get(name, "") for name in HEADERS}
    assert made.secret is not None
    assert delivered(Scheme.STANDARD, shown, received.body, [made.secret], Micros(yard.now())).id == received.json["id"]
    assert received.path == "/hook?key=s3cr3t"
    assert received.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert received.headers["content-type"] == "application/json"
    renewed = await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    assert renewed.secret != made.secret


async def test_what_did_not_arrive_is_tried_again_later_under_the_same_id(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    receiver.answers = ["500 Oops", "503 Later"]
    await given_a_dead_letter(yard)
    await deliver(yard, clock)
    (waiting,) = await yard.notifications.deliveries()
    assert (waiting.tries, waiting.error) == (1, "it answered with status 500")

    await deliver(yard, clock, 5)
    assert len(receiver.received) == 1
    await deliver(yard, clock, 6)
    await deliver(yard, clock, 41)

    assert len({each.headers["webhook-id"] for each in receiver.received}) == 1
    assert len(receiver.received) == 3
    assert await yard.notifications.deliveries() == []


async def test_after_the_last_try_it_is_parked_until_a_person_decides(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    receiver.answers = ["404 Nowhere"] * 2 * TRIES
    await given_a_dead_letter(yard, "code")
    await given_a_dead_letter(yard, "test")
    for _ in range(TRIES + 1):
        clock.advance(seconds=7201)
        await yard.host.run_outbox()

    first, second = await yard.notifications.deliveries(parked=True)
    assert (await yard.notifications.deliveries(), first.tries) == ([], TRIES)
    assert len(receiver.received) == 2 * TRIES
    assert len(await data_of(yard, "notification.parked")) == 2
    await yard.notifications.dismiss(second.id)
    await yard.notifications.resend(first.id)
    await deliver(yard, clock)
    assert await yard.notifications.deliveries(parked=True) == []
    assert receiver.received[-1].headers["webhook-id"] == first.id
    with pytest.raises(NotFound):
        await yard.notifications.resend(first.id)


async def test_a_redirect_is_not_followed(yard: Yard, clock: ManualClock, receiver: Receiver):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    receiver.answers = [f"{code} Elsewhere\r\nLocation: {receiver.url}" for code in (301, 302, 303, 307, 308)]
    await given_a_dead_letter(yard)

    await deliver(yard, clock)

    (waiting,) = await yard.notifications.deliveries()
    assert (len(receiver.received), waiting.error) == (1, "it answered with status 301, and is not followed elsewhere")


async def test_who_dies_between_addressing_and_settling_makes_none_twice(
    yard: Yard, clock: ManualClock, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    await given_a_dead_letter(yard)

    async def died(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(yard.store, "settle", died)
        with pytest.raises(Died):
            await yard.host.run_outbox()
    await deliver(yard, clock)

    assert len(receiver.received) == 1
    assert await yard.store.outbox("notify", 10) == []


async def test_who_dies_while_sending_leaves_it_to_be_sent_again(
    yard: Yard, clock: ManualClock, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    await given_a_dead_letter(yard)

    async def died(*_: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(Delivery, "post", died)
        with pytest.raises(Died):
            await yard.host.run_outbox()
    assert len(await yard.notifications.deliveries()) == 1
    await deliver(yard, clock, 11)

    assert len(receiver.received) == 1
    assert await yard.notifications.deliveries() == []


async def test_while_a_slow_target_is_waited_for_nobody_else_tries_it(
    open_yard: OpenYard, clock: ManualClock, receiver: Receiver
):
    yard, other = [await open_yard(allowed_targets=HERE) for _ in range(2)]
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    await given_a_dead_letter(yard)
    receiver.gate.clear()
    trying = asyncio.create_task(yard.host.run_outbox())
    async with asyncio.timeout(20):
        await receiver.came.wait()

    clock.advance(seconds=2)
    await other.host.run_outbox()
    receiver.gate.set()
    await trying

    assert len(receiver.received) == 1
    assert await yard.notifications.deliveries() == []


async def test_a_chat_service_is_sent_what_it_understands(yard: Yard, clock: ManualClock, receiver: Receiver):
    made = await yard.notifications.set("phone", f"ntfy://127.0.0.1:{receiver.port}/alerts", events=["dead_letter"])
    assert made.secret is None
    await given_a_dead_letter(yard, title="Fix the build")

    await deliver(yard, clock)

    (received,) = receiver.received
    assert b"It is out of attempts (crash)" in received.body
    assert await yard.notifications.deliveries() == []


async def test_a_notifier_can_be_tried_out(yard: Yard, receiver: Receiver):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    await yard.notifications.try_out("ops")
    receiver.answers = ["500 Oops"]
    with pytest.raises(InvalidInput) as refused:
        await yard.notifications.try_out("ops")

    assert receiver.received[0].json["type"] == "test"
    assert "status 500" in str(refused.value)
    with pytest.raises(NotFound):
        await yard.notifications.try_out("nobody")


async def test_a_notifier_that_is_removed_gets_no_more(yard: Yard, clock: ManualClock, receiver: Receiver):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    receiver.answers = ["500 Oops"]
    await given_a_dead_letter(yard, "code")
    await deliver(yard, clock)
    await yard.notifications.remove("ops")
    await given_a_dead_letter(yard, "test")
    await deliver(yard, clock, 60)

    assert (len(receiver.received), await yard.notifications.deliveries(), await yard.notifications.list()) == (
        1,
        [],
        [],
    )
    with pytest.raises(NotFound):
        await yard.notifications.remove("ops")


# Secrets


async def test_no_secret_is_shown_once_it_is_stored(yard: Yard, clock: ManualClock, receiver: Receiver):
    made = await yard.notifications.set("ops", receiver.url, events=EVERYTHING)
    await yard.notifications.set("chat", "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ", events=["dag_failed"])
    receiver.answers = ["500 Oops"]
    await given_a_dead_letter(yard)
    await deliver(yard, clock)

    shown = [
        *map(repr, await yard.notifications.list()),
        *map(repr, await yard.notifications.deliveries()),
        *(str(stored.event.data) for stored in await yard.events()),
        *(repr(record) for record in await yard.store.records("notification")),
    ]
    assert [each.target for each in await yard.notifications.list()] == [
        "slack://***",
        f"http://127.0.0.1:{receiver.port}/***",
    ]
    for secret in (made.secret or "", "s3cr3t", "TIiajkdnlazkcOXrIdevi7FQ"):
        assert [text for text in shown if secret in text] == []
    assert str(made.secret) not in json.dumps([record.body for record in await yard.store.records("notifier")])


# Checking


async def test_verify_finds_what_was_forgotten(
    yard: Yard, clock: ManualClock, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    await given_a_dead_letter(yard, "code")
    await yard.host.run_outbox()
    await given_a_dead_letter(yard, "test")

    async def careless(*_: Any) -> int:
        return 0

    with monkeypatch.context() as patched:
        patched.setattr(OutboxRunner, "_address_all", careless)
        patched.setattr(OutboxRunner, "_deliver", careless)
        clock.advance(seconds=7200)
        await yard.host.run_outbox()
        problems = (await yard.verify()).problems
    await yard.host.run_outbox()
    await deliver(yard, clock)

    assert len(problems) == 1
    assert "became no notification" in problems[0]
    assert (await yard.verify()).ok


# What is refused


@pytest.mark.parametrize(
    ("field", "asked"),
    [
        ("target", {"target": "not a url"}),
        ("target", {"target": ""}),
        ("target", {"target": "nothing://known"}),
        ("target", {"target": "https://user:pass@example.org/"}),
        ("target", {"target": "https://example.org/#part"}),
        ("target", {"target": "https://example.org:99999/"}),
        ("target", {"target": "https://exa mple.org/"}),
        ("target", {"target": "https://example.org/\r\nX: y"}),
        ("target", {"target": "https:///path"}),
        ("target", {"target": "json://example.org/"}),
        ("target", {"target": "forms://example.org/"}),
        ("target", {"target": "xml://127.0.0.1/"}),
        ("target", {"target": "ntfy://example.org/topic?redirect=yes"}),
        ("target", {"target": "slack://T1/B1/xyz/?template=http%3A%2F%2F127.0.0.1%2F"}),
        ("target", {"target": "syslog://localhost"}),
        ("events", {"events": []}),
        ("events", {"events": ["everything"]}),
        ("events", {"events": ["test"]}),
        ("name", {"name": "x" * 101}),
        ("tags", {"tags": [""]}),
    ],
)
async def test_a_notifier_that_makes_no_sense_is_refused(yard: Yard, field: str, asked: dict[str, Any]):
    sound: dict[str, Any] = {"name": "ops", "target": "https://example.org/hook", "events": ["dead_letter"]}

    with pytest.raises(InvalidInput) as refused:
        await yard.notifications.set(**{**sound, **asked})

    assert str(refused.value.facts["field"]).startswith(field)
    assert await yard.notifications.list() == []
