"""Notifications that are sent together, later, or to somebody else: grouped, in quiet hours, reminded, escalated."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.units import HOUR, Micros, from_iso
from taskyard.features.notifications import groups
from taskyard.features.notifications.quiet_hours import quiet_hours
from taskyard.features.notifications.rules import notifier_of
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.receivers import Receiver, receiving
from tests.yards import Died, OpenYard, given_a_dead_letter, given_a_running_task

HERE = ("127.0.0.0/8",)


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    return await open_yard(allowed_targets=HERE)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


@pytest.fixture
async def boss() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


async def deliver(yard: Yard, clock: ManualClock, seconds: float = 2) -> None:
    """Let time pass at once, since nobody works meanwhile, and the outbox be run."""
    clock.advance(seconds=seconds)
    await yard.sweep()
    await yard.host.run_outbox()


def titles(receiver: Receiver) -> list[str]:
    return [each.json["title"] for each in receiver.received]


async def deaths(yard: Yard, number: int, type_: str = "code", reason: str = "crash") -> list[str]:
    return [(await given_a_dead_letter(yard, type_, of=reason)).id for _ in range(number)]


# Groups


async def test_deaths_of_one_cause_are_sent_in_one_message_when_the_window_is_over(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.breakers.set_policy(failure_threshold=1000)
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"], group_sec=300)
    died = await deaths(yard, 3, reason="auth_failure")
    await deliver(yard, clock)  # the window opens
    await deliver(yard, clock, 98)
    died += await deaths(yard, 4, reason="auth_failure")
    await deliver(yard, clock, 100)
    await deaths(yard, 2)
    await deliver(yard, clock, 90)
    assert receiver.received == []

    await deliver(yard, clock, 20)
    assert titles(receiver) == ["7 tasks of code died: auth_failure"]
    worded = receiver.received[0].json
    assert (worded["data"]["count"], sorted(worded["data"]["tasks"])) == (7, sorted(died))
    assert (worded["task_id"], worded["text"].count("\n- code")) == (None, 7)

    await deliver(yard, clock, 300)
    assert titles(receiver)[1:] == ["2 tasks of code died: crash"]
    assert await yard.store.records(groups.KIND) == []
    assert await yard.notifications.deliveries() == []


async def test_one_notice_alone_is_sent_as_it_would_be_without_a_window(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter", "breaker_open"], group_sec=60)
    held = await given_a_dead_letter(yard, title="Fix it")
    await deliver(yard, clock)
    await deliver(yard, clock, 61)

    assert titles(receiver) == [f"Dead letter: code “Fix it” ({held.id})"]
    assert receiver.received[0].json["task_id"] == held.id


async def test_many_deaths_name_the_first_and_count_the_rest(yard: Yard, clock: ManualClock, receiver: Receiver):
    await yard.breakers.set_policy(failure_threshold=1000)
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"], group_sec=60)
    await deaths(yard, groups.MOST_LISTED + 5)
    await deliver(yard, clock)
    await deliver(yard, clock, 61)

    assert titles(receiver) == [f"{groups.MOST_LISTED + 5} tasks of code died: crash"]
    assert receiver.received[0].json["text"].endswith("\n- and 5 more")


async def test_of_several_processes_one_tells_of_a_group(
    open_yard: OpenYard, yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"], group_sec=60)
    await deaths(yard, 3)
    others = [yard, await open_yard(allowed_targets=HERE)]
    rows = await yard.store.outbox("notify", 10)
    # Each has seen the rows, and none that another was quicker.
    await asyncio.gather(*(each.local.notification_addressing.address(rows) for each in others for _ in range(2)))
    (record,) = await yard.store.records(groups.KIND)
    assert len(groups.group_of(record).rows) == 3
    clock.advance(seconds=61)

    closed = await asyncio.gather(
        *(each.local.notification_addressing.close(record) for each in others for _ in range(3))
    )
    assert sorted(closed) == [False] * 5 + [True]
    await deliver(yard, clock)
    await deliver(others[1], clock)
    assert titles(receiver) == ["3 tasks of code died: crash"]


async def test_a_process_that_dies_before_rows_are_settled_counts_none_twice(
    yard: Yard, clock: ManualClock, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    async def die(numbers: object) -> None:
        raise Died

    await yard.notifications.set("ops", receiver.url, events=["dead_letter"], group_sec=60)
    await deaths(yard, 2)
    with monkeypatch.context() as broken:
        broken.setattr(yard.store, "settle", die)
        with pytest.raises(Died):
            await deliver(yard, clock)
    await deliver(yard, clock)
    await deliver(yard, clock, 61)

    assert titles(receiver) == ["2 tasks of code died: crash"]


async def test_a_group_outlives_the_process_that_gathered_it(
    open_yard: OpenYard, yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"], group_sec=60)
    await deaths(yard, 2)
    await deliver(yard, clock)
    later = await open_yard(allowed_targets=HERE)
    await deliver(later, clock, 61)

    assert titles(receiver) == ["2 tasks of code died: crash"]


async def test_a_full_group_is_sent_at_once(
    yard: Yard, clock: ManualClock, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(groups, "MOST_ROWS", 2)
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"], group_sec=3600)
    await deaths(yard, 2)
    await deliver(yard, clock)

    assert titles(receiver) == ["2 tasks of code died: crash"]


async def test_what_was_gathered_for_a_notifier_that_is_gone_is_dropped(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"], group_sec=60)
    await deaths(yard, 2)
    await deliver(yard, clock)
    await yard.notifications.remove("ops")
    await deliver(yard, clock, 61)

    assert receiver.received == []
    assert await yard.store.records(groups.KIND) == []


async def test_approvals_are_never_sent_together(yard: Yard, clock: ManualClock, receiver: Receiver):
    await yard.notifications.set("ops", receiver.url, events=["approval_wanted"], group_sec=3600)
    for _ in range(2):
        held = await given_a_running_task(yard, "deploy")
        await yard.attempts.wait_for(held.id, held.lease, "go", "approve")
    await deliver(yard, clock)

    assert len(receiver.received) == 2


# Quiet hours


async def test_in_quiet_hours_only_what_is_critical_is_sent_and_the_rest_afterwards(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    night = quiet_now(yard, hours=3)
    events = ["dead_letter", "breaker_open"]
    await yard.notifications.set("ops", receiver.url, events=events, quiet_hours=night, critical=["breaker_open"])
    await given_a_dead_letter(yard)
    await yard.breakers.open("code", why="too dear")
    await deliver(yard, clock)
    assert titles(receiver) == ["Breaker open: code"]
    (waiting,) = await yard.notifications.deliveries()
    assert waiting.tries == 0

    await deliver(yard, clock, 2 * 3600)
    assert len(receiver.received) == 1
    await deliver(yard, clock, 3600)
    assert len(receiver.received) == 2


async def test_quiet_hours_hold_what_was_on_its_way_and_cost_no_try(yard: Yard, clock: ManualClock, receiver: Receiver):
    receiver.answers = ["503 Busy"]
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    await given_a_dead_letter(yard)
    await deliver(yard, clock)
    (record,) = await yard.store.records("notifier")
    night = quiet_hours(quiet_now(yard, hours=2), "UTC")
    assert night is not None
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"], quiet_hours=night.text)
    await deliver(yard, clock, 60)
    (waiting,) = await yard.notifications.deliveries()
    assert (waiting.tries, len(receiver.received)) == (1, 1)
    assert notifier_of(record).quiet is None

    await deliver(yard, clock, 7200)
    assert len(receiver.received) == 2


async def test_what_comes_in_a_night_is_sent_together_in_the_morning(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    await yard.breakers.set_policy(failure_threshold=1000)
    await yard.notifications.set(
        "ops", receiver.url, events=["dead_letter"], group_sec=60, quiet_hours=quiet_now(yard, hours=4)
    )
    for _ in range(3):
        await deaths(yard, 1)
        await deliver(yard, clock, 3600)
    assert receiver.received == []
    await deliver(yard, clock, 3660)

    assert titles(receiver) == ["3 tasks of code died: crash"]


def quiet_now(yard: Yard, *, hours: int) -> str:
    """Quiet hours that have begun this hour, and end so many hours after the next full one."""
    hour = yard.now() // HOUR % 24
    return f"{hour:02}:00-{(hour + hours) % 24:02}:00"


@pytest.mark.parametrize(
    ("hours", "zone", "at", "over"),
    [
        ("22:00-07:00", "UTC", "2026-01-10T21:59:59Z", None),
        ("22:00-07:00", "UTC", "2026-01-10T22:00:00Z", "2026-01-11T07:00:00Z"),
        ("22:00-07:00", "UTC", "2026-01-11T06:59:59Z", "2026-01-11T07:00:00Z"),
        ("22:00-07:00", "UTC", "2026-01-11T07:00:00Z", None),
        ("12:00-13:30", "UTC", "2026-01-11T13:00:00Z", "2026-01-11T13:30:00Z"),
        ("22:00-07:00", "Europe/Berlin", "2026-01-10T21:00:00Z", "2026-01-11T06:00:00Z"),
        # The clocks are put forward at 02:00 and back at 03:00.
        ("22:00-07:00", "Europe/Berlin", "2026-03-28T21:00:00Z", "2026-03-29T05:00:00Z"),
        ("22:00-07:00", "Europe/Berlin", "2026-10-24T20:00:00Z", "2026-10-25T06:00:00Z"),
        ("01:00-02:30", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"),
    ],
)
def test_quiet_hours_are_on_the_clocks_of_their_zone(hours: str, zone: str, at: str, over: str | None):
    quiet = quiet_hours(hours, zone)
    assert quiet is not None
    assert quiet.over_at(from_iso(at)) == from_iso(over or at)
    assert quiet.text == hours


# Reminders and escalation


async def test_a_dead_letter_that_nobody_decides_about_goes_to_the_next_in_the_chain(
    yard: Yard, clock: ManualClock, receiver: Receiver, boss: Receiver
):
    await yard.notifications.set("chief", boss.url, events=["budget_gone"])
    await yard.notifications.set("boss", boss.url, events=["budget_gone"], escalate_to="chief", escalate_after_sec=3600)
    await yard.notifications.set(
        "ops", receiver.url, events=["dead_letter"], escalate_to="boss", escalate_after_sec=1800
    )
    held = await given_a_dead_letter(yard)
    await deliver(yard, clock)
    await deliver(yard, clock, 1700)
    assert (len(receiver.received), len(boss.received)) == (1, 0)

    await deliver(yard, clock, 200)
    assert titles(boss) == [f"Nobody has answered: Dead letter: code ({held.id})"]
    assert boss.received[0].json["data"]["escalated_from"] == "ops"
    await yard.dead_letters.resolve(held.id, "cancel", by="human:anna")
    await deliver(yard, clock, 7200)

    assert (len(receiver.received), len(boss.received)) == (1, 1)  # somebody has decided
    assert await yard.notifications.deliveries() == []


async def test_a_chain_goes_on_to_its_end_while_nobody_answers(
    open_yard: OpenYard, yard: Yard, clock: ManualClock, receiver: Receiver, boss: Receiver
):
    await yard.notifications.set("chief", boss.url, events=["budget_gone"])
    await yard.notifications.set("boss", boss.url, events=["budget_gone"], escalate_to="chief", escalate_after_sec=600)
    await yard.notifications.set(
        "ops", receiver.url, events=["approval_wanted"], escalate_to="boss", escalate_after_sec=600
    )
    held = await given_a_running_task(yard, "deploy")
    await yard.attempts.wait_for(held.id, held.lease, "go", "approve")
    await deliver(yard, clock)
    later = await open_yard(allowed_targets=HERE)  # what is to come is stored, and survives a restart
    for _ in range(3):
        await deliver(later, clock, 601)

    assert len(receiver.received) == 1
    assert len(boss.received) == 2


async def test_a_group_of_dead_letters_escalates_until_each_is_decided_about(
    yard: Yard, clock: ManualClock, receiver: Receiver, boss: Receiver
):
    await yard.notifications.set("boss", boss.url, events=["budget_gone"])
    await yard.notifications.set(
        "ops", receiver.url, events=["dead_letter"], group_sec=60, escalate_to="boss", escalate_after_sec=600
    )
    for number in (1, 2):
        died = await deaths(yard, 2)
        await deliver(yard, clock)
        await deliver(yard, clock, 61)
        for task_id in died[:number]:
            await yard.dead_letters.resolve(task_id, "cancel", by="human:anna")
        await deliver(yard, clock, 700)

    assert titles(receiver) == ["2 tasks of code died: crash"] * 2
    assert titles(boss) == ["Nobody has answered: 2 tasks of code died: crash"]


async def test_who_is_sent_anyway_is_not_sent_twice(yard: Yard, clock: ManualClock, receiver: Receiver, boss: Receiver):
    await yard.notifications.set("boss", boss.url, events=["dead_letter"])
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"], escalate_to="boss", escalate_after_sec=60)
    await given_a_dead_letter(yard)
    await deliver(yard, clock)
    await deliver(yard, clock, 120)

    assert (len(receiver.received), len(boss.received)) == (1, 1)


async def test_a_dead_letter_is_reminded_of_until_somebody_decides(yard: Yard, clock: ManualClock, receiver: Receiver):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"], after_sec=600, every_sec=3600)
    held = await given_a_dead_letter(yard)
    for seconds in (2, 500, 200, 3601, 3601):
        await deliver(yard, clock, seconds)
    assert len(receiver.received) == 3

    await yard.dead_letters.resolve(held.id, "escalate", by="human:anna")
    await deliver(yard, clock, 3601)
    assert len(receiver.received) == 3
    assert await yard.notifications.deliveries() == []


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"group_sec": 0.5}, "group_sec"),
        ({"group_sec": 90_000}, "group_sec"),
        ({"quiet_hours": "22-7"}, "quiet_hours"),
        ({"quiet_hours": "24:00-07:00"}, "quiet_hours"),
        ({"quiet_hours": "07:00-07:00"}, "quiet_hours"),
        ({"quiet_hours": "22:00-07:00", "time_zone": "Mars/Base"}, "time_zone"),
        ({"quiet_hours": "22:00-07:00", "time_zone": "../etc/passwd"}, "time_zone"),
        ({"time_zone": "UTC"}, "time_zone"),
        ({"critical": ["dead_letter"]}, "critical"),
        ({"quiet_hours": "22:00-07:00", "critical": ["everything"]}, "critical"),
        ({"escalate_to": "boss"}, "escalate_after_sec"),
        ({"escalate_after_sec": 600}, "escalate_after_sec"),
        ({"escalate_to": "boss", "escalate_after_sec": 5}, "escalate_after_sec"),
        ({"escalate_to": "nobody", "escalate_after_sec": 600}, "escalate_to"),
        ({"escalate_to": "ops", "escalate_after_sec": 600}, "escalate_to"),
        ({"escalate_to": "boss", "escalate_after_sec": 600}, "escalate_to"),
    ],
)
async def test_a_rule_that_cannot_hold_is_refused_by_its_field(
    yard: Yard, receiver: Receiver, wrong: dict[str, object], field: str
):
    await yard.notifications.set("ops", receiver.url, events=["dead_letter"])
    await yard.notifications.set(
        "boss", receiver.url, events=["dead_letter"], escalate_to="ops", escalate_after_sec=600
    )
    with pytest.raises(InvalidInput) as refused:
        await yard.notifications.set("ops", receiver.url, events=["dead_letter"], **wrong)  # pyright: ignore[reportArgumentType]
    assert refused.value.facts["field"] == field


async def test_who_others_escalate_to_is_not_removed(yard: Yard, receiver: Receiver):
    await yard.notifications.set("boss", receiver.url, events=["dead_letter"])
    await yard.notifications.set(
        "ops", receiver.url, events=["dead_letter"], escalate_to="boss", escalate_after_sec=600
    )
    with pytest.raises(InvalidInput, match="ops"):
        await yard.notifications.remove("boss")
    await yard.notifications.remove("ops")
    await yard.notifications.remove("boss")


async def test_a_notifier_is_shown_as_it_was_set(yard: Yard, receiver: Receiver):
    await yard.notifications.set("boss", receiver.url, events=["dead_letter"])
    await yard.notifications.set(
        "ops",
        receiver.url,
        events=["dead_letter"],
        group_sec=300,
        quiet_hours="22:00-07:00",
        time_zone="Europe/Berlin",
        critical=["dead_letter"],
        escalate_to="boss",
        escalate_after_sec=1800,
    )
    shown = (await yard.notifications.list())[1]

    assert (shown.group, shown.quiet_hours, shown.time_zone) == (Micros(300_000_000), "22:00-07:00", "Europe/Berlin")
    assert (shown.critical, shown.escalate_to, shown.escalate_after) == (("dead_letter",), "boss", 1_800_000_000)
