"""A task out of attempts waits for a person, with its whole story; and what the person decides is kept."""

import asyncio
from typing import cast

import pytest

from taskyard.core.changes import Record
from taskyard.core.errors import DuplicateKey, IllegalTransition, InvalidInput
from taskyard.core.task import Status
from taskyard.core.units import SECOND, Micros, to_iso
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import (
    OpenYard,
    claim_of,
    claim_that,
    definition_of,
    elapse,
    events_of,
    given_a_dead_letter,
    given_a_running_task,
    given_an_agent,
)


async def decision_on(yard: Yard, task_id: str) -> Record:
    """Of the task's last death, whatever became of it since."""
    dead = [record for record in await yard.store.records("dead", yard.workspace) if record.body["task_id"] == task_id]
    return max(dead, key=lambda record: cast(int, record.body["at"]))


async def test_a_dead_letter_has_the_whole_history_and_what_it_cost(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    task = await yard.enqueue("code")
    for number, cost in enumerate(("0.12", "0.31", "0.08"), start=1):
        held = await claim_that(yard, task.id, start=True)
        await yard.fail(held.id, held.lease, "crash", f"failure {number}", cost_usd=cost)
        await elapse(yard, clock, 41)

    (letter,) = await yard.dead_letters.list()
    assert [attempt.error for attempt in letter.task.attempts] == ["failure 1", "failure 2", "failure 3"]
    assert letter.task.to_dict()["cost_usd"] == "0.51"
    assert letter.dead.reviewed is False
    assert letter.dead.poison_pill is False


async def test_a_dead_letter_notifies_once(yard: Yard):
    held = await given_a_dead_letter(yard)
    await yard.fail(held.id, held.lease, "crash", "it fell over")

    ((_, notice),) = await yard.store.outbox("notify", 10)
    assert notice.task_id == held.id


async def test_a_retry_gives_all_attempts_again(yard: Yard, clock: ManualClock):
    held = await given_a_dead_letter(yard)
    receipt = await yard.dead_letters.resolve(held.id, "retry", by="human:ada", note="the disk was full")
    assert (receipt.status, receipt.failures) == (Status.READY, 0)

    again = await claim_that(yard, held.id, start=True)
    assert again.attempt == 2  # attempts are numbered by claims, for good
    assert (await yard.complete(again.id, again.lease)).status is Status.COMPLETED


async def test_who_decided_when_and_why_is_on_record(yard: Yard, clock: ManualClock):
    held = await given_a_dead_letter(yard)
    clock.advance(seconds=3600)
    await yard.dead_letters.resolve(held.id, "retry", by="human:ada", note="the disk was full")

    body = (await decision_on(yard, held.id)).body
    assert (body["resolution"], body["reviewed_by"], body["note"]) == ("retry", "human:ada", "the disk was full")
    assert body["reviewed_at"] == yard.now()
    assert "task.revived" in await events_of(yard, held.id)


async def test_a_changed_task_is_tried_as_it_was_changed(yard: Yard, clock: ManualClock):
    held = await given_a_dead_letter(yard, prompt="do it")
    await yard.dead_letters.resolve(
        held.id,
        "modify_and_retry",
        by="human:ada",
        spec={
            "prompt": "do it gently",
            "max_attempts": 2,
            "max_duration_sec": 30,
            "required_capabilities": ["patience"],
            "timeouts": {"lease_sec": 20},
            "concurrency_key": "china",
            "output": {"validation": "regex", "validation_schema": "^gently$"},
        },
    )

    assert await yard.claim("worker") == []  # it has no patience
    await given_an_agent(yard, "ada", capabilities=["patience"])
    again = await claim_that(yard, held.id, by="ada", start=True)
    assert again.prompt == "do it gently"
    assert claim_of(again).lease_expires_at == yard.now() + 20_000_000
    assert claim_of(again).limit_at == yard.now() + 30_000_000
    beside = await yard.enqueue("code", concurrency_key="china")
    assert await yard.claim("ada") == []
    assert (await yard.get(beside.id)).status is Status.PENDING

    receipt = await yard.complete(again.id, again.lease, "roughly")
    assert (receipt.status, receipt.failures) == (Status.RETRYING, 1)


async def test_to_cancel_a_dead_letter_is_to_decide_it(yard: Yard):
    held = await given_a_dead_letter(yard)

    await yard.cancel(held.id, "nobody wants it")
    await yard.cancel(held.id, "again")

    (review,) = await yard.dead_letters.reviews()
    assert (review.task_id, review.resolution, review.note) == (held.id, "cancel", "nobody wants it")
    assert str(review.reviewed_by).startswith("human:")
    shown = (await yard.get(held.id)).to_dict()["dead"]
    assert isinstance(shown, dict)
    assert shown["resolution"] == "cancel"
    assert await yard.dead_letters.list() == []


async def test_a_revived_task_shows_no_decision_as_current(yard: Yard):
    held = await given_a_dead_letter(yard)
    await yard.dead_letters.resolve(held.id, "retry", by="human:ada")
    assert (await yard.get(held.id)).to_dict()["dead"] is None

    await yard.cancel(held.id)
    assert (await yard.get(held.id)).to_dict()["dead"] is None
    assert [review.resolution for review in await yard.dead_letters.reviews()] == ["retry"]


async def test_a_letter_is_changed_by_the_spec_that_it_shows(yard: Yard):
    held = await given_a_dead_letter(yard, prompt="do it", payload={"n": 1}, context_refs=["artifact:abc"])
    shown = (await yard.get(held.id)).to_dict()["spec"]
    assert isinstance(shown, dict)

    spec = {**shown, "prompt": "do it well", "constraints": {"max_cost_usd": "0.50", "model_preferences": ["small"]}}
    await yard.dead_letters.resolve(held.id, "modify_and_retry", by="human:ada", spec=spec)

    again = await definition_of(yard, held.id)
    assert (again.prompt, again.payload, again.context_refs) == ("do it well", '{"n":1}', ("artifact:abc",))
    assert (again.max_cost, again.model_preferences) == (500_000, ("small",))


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"prompt": "a\0b"}, "prompt"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"colour": "red"}, "colour"),
        ({"type": "other"}, "type"),
        ({"output": {"validation": "regex", "validation_schema": "("}}, "output.validation_schema"),
    ],
)
async def test_a_change_that_makes_no_sense_is_refused_and_the_letter_stays(
    yard: Yard, spec: dict[str, object], field: str
):
    held = await given_a_dead_letter(yard, prompt="do it")

    with pytest.raises(InvalidInput) as refused:
        await yard.dead_letters.resolve(held.id, "modify_and_retry", by="human:ada", spec=spec)
    assert refused.value.facts["field"] == field
    task = await yard.get(held.id)
    assert (task.status, task.prompt) == (Status.DEAD_LETTERED, "do it")
    assert (await decision_on(yard, held.id)).body["reviewed"] is False


async def test_a_dead_letter_may_be_tried_again_at_a_later_time(yard: Yard, clock: ManualClock):
    held = await given_a_dead_letter(yard)
    later = to_iso(Micros(yard.now() + 60 * SECOND))

    await yard.dead_letters.resolve(held.id, "modify_and_retry", by="human:ada", spec={"run_after": later})

    shown = (await yard.get(held.id)).to_dict()
    assert (shown["status"], shown["retry_at"]) == ("retrying", later)
    assert await yard.claim("worker") == []
    await elapse(yard, clock, 60)
    await claim_that(yard, held.id)


async def test_a_dead_letter_may_be_cancelled(yard: Yard):
    held = await given_a_dead_letter(yard)
    await yard.dead_letters.resolve(held.id, "cancel", by="human:ada", note="no longer wanted")

    shown = (await yard.get(held.id)).to_dict()
    assert shown["status"] == "cancelled"
    assert shown["cancelled"] == {"at": shown["updated_at"], "reason": "no longer wanted"}
    assert await yard.dead_letters.list() == []


async def test_a_dead_letter_that_is_escalated_waits_for_another_person(yard: Yard):
    held = await given_a_dead_letter(yard)
    await yard.dead_letters.resolve(held.id, "escalate", by="human:ada", note="ask the provider")
    assert (await yard.get(held.id)).status is Status.DEAD_LETTERED
    assert (await decision_on(yard, held.id)).body["resolution"] == "escalate"

    await yard.dead_letters.resolve(held.id, "retry", by="human:bob")
    assert (await yard.get(held.id)).status is Status.READY
    assert (await decision_on(yard, held.id)).body["reviewed_by"] == "human:bob"


async def test_an_orchestrator_may_revive_one_too(yard: Yard):
    held = await given_a_dead_letter(yard)
    await yard.dead_letters.resolve(held.id, "retry", by="agent:planner")

    assert (await decision_on(yard, held.id)).body["reviewed_by"] == "agent:planner"


async def test_a_dead_letter_is_not_revived_beside_a_newer_task_with_its_key(yard: Yard):
    held = await given_a_dead_letter(yard, idempotency_key="nightly")
    newer = await yard.enqueue("code", idempotency_key="nightly")
    assert newer.created

    with pytest.raises(DuplicateKey) as refused:
        await yard.dead_letters.resolve(held.id, "retry", by="human:ada")
    assert refused.value.facts == {"key": "nightly", "task_id": newer.id}
    assert (await yard.get(held.id)).status is Status.DEAD_LETTERED
    assert (await decision_on(yard, held.id)).body["reviewed"] is False

    await yard.cancel(newer.id)
    assert (await yard.dead_letters.resolve(held.id, "retry", by="human:ada")).status is Status.READY


async def test_only_a_dead_letter_can_be_resolved(yard: Yard):
    held = await given_a_running_task(yard)

    with pytest.raises(IllegalTransition) as refused:
        await yard.dead_letters.resolve(held.id, "retry", by="human:ada")
    assert refused.value.facts == {"task_id": held.id, "status": "running", "verb": "resolve"}


@pytest.mark.parametrize(
    ("resolution", "spec", "field"),
    [
        ("forgive", None, "resolution"),
        ("modify_and_retry", None, "spec"),
        ("retry", {"prompt": "other"}, "spec"),
    ],
)
async def test_a_resolution_is_one_of_four_and_a_changed_spec_goes_with_one_of_them(
    yard: Yard, resolution: str, spec: dict[str, object] | None, field: str
):
    held = await given_a_dead_letter(yard)

    with pytest.raises(InvalidInput) as refused:
        await yard.dead_letters.resolve(held.id, resolution, by="human:ada", spec=spec)
    assert refused.value.facts["field"] == field


async def test_of_two_people_who_decide_at_once_one_has_to_look_again(yard: Yard, open_yard: OpenYard):
    other = await open_yard()
    held = await given_a_dead_letter(yard)
    results = await asyncio.gather(
        yard.dead_letters.resolve(held.id, "retry", by="human:ada"),
        other.dead_letters.resolve(held.id, "cancel", by="human:bob"),
        return_exceptions=True,
    )

    (loser,) = [each for each in results if isinstance(each, BaseException)]
    assert isinstance(loser, IllegalTransition)
    won = "human:ada" if results[1] is loser else "human:bob"
    assert (await decision_on(yard, held.id)).body["reviewed_by"] == won


async def test_a_task_that_dies_twice_keeps_both_decisions(yard: Yard, clock: ManualClock):
    held = await given_a_dead_letter(yard)
    await yard.dead_letters.resolve(held.id, "retry", by="human:ada", note="once more")
    again = await claim_that(yard, held.id, start=True)
    await yard.fail(again.id, again.lease, "crash")
    clock.advance(seconds=60)
    await yard.dead_letters.resolve(held.id, "cancel", by="human:bob", note="enough")

    decisions = [(each.reviewed_by, each.note) for each in await yard.dead_letters.reviews()]
    assert decisions == [("human:ada", "once more"), ("human:bob", "enough")]


async def test_letters_that_nobody_has_looked_at_can_be_listed_alone(yard: Yard):
    seen = await given_a_dead_letter(yard)
    unseen = await given_a_dead_letter(yard)
    await yard.dead_letters.resolve(seen.id, "escalate", by="human:ada")

    assert [letter.task.id for letter in await yard.dead_letters.list(reviewed=False)] == [unseen.id]
    assert [letter.task.id for letter in await yard.dead_letters.list(reviewed=True)] == [seen.id]
