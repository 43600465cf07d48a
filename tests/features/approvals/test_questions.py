"""Questions to people: what may be asked, who may answer, and what becomes of the wait."""

import json
from typing import Any

import pytest

from taskyard.core.errors import AlreadyAnswered, Forbidden, IllegalTransition, InvalidAnswer, InvalidInput, NotFound
from taskyard.core.task import Status
from taskyard.features.approvals.rules import MOST_TOKENS, Person
from taskyard.features.approvals.views import AnsweredView
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import claim_that, data_of, elapse, events_of, given_a_running_task

ADDRESS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "minLength": 3},
        "floors": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["street"],
}
ADA, BOB = Person("human:ada", ("operator",)), Person("human:bob", ("orchestrator",), groups=("release",))


async def asked(yard: Yard, question: str = "Deploy?", **more: Any) -> Held:
    held = await given_a_running_task(yard, title="Release 2")
    assert not (await yard.attempts.ask(held.id, held.lease, "deploy", question, **more)).over
    return held


async def test_a_question_is_listed_with_what_it_asks_until_it_is_answered(yard: Yard):
    held = await asked(yard, choices=["yes", "no"], who=["ada"], context={"version": 2}, timeout_sec=60, default="no")

    (wanted,) = await yard.approvals.list()

    assert wanted.question is not None
    assert (wanted.task.id, wanted.signal, wanted.question.text) == (held.id, "deploy", "Deploy?")
    assert wanted.question.answer_schema == {"enum": ["yes", "no"]}
    assert (wanted.question.who, wanted.question.context) == (("ada",), {"version": 2})
    assert (wanted.question.has_default, wanted.question.default) == (True, "no")
    assert wanted.question.asked_by == "worker"

    await yard.approvals.answer(held.id, "deploy", "yes", by=ADA)

    assert await yard.approvals.list() == []
    assert (await yard.get(held.id)).status is Status.READY


async def test_the_answer_is_what_the_next_attempt_gets_with_who_gave_it(yard: Yard):
    held = await asked(yard)
    await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=ADA)

    again = await claim_that(yard, held.id, start=True)
    waited = await yard.attempts.ask(held.id, again.lease, "deploy", "Deploy?")

    assert (waited.over, waited.data, waited.timed_out, waited.by) == (True, {"approved": True}, False, "human:ada")


async def test_of_two_answers_the_first_counts_and_the_second_hears_by_whom_and_when(yard: Yard, clock: ManualClock):
    held = await asked(yard)
    await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=ADA)
    clock.advance(seconds=5)

    with pytest.raises(AlreadyAnswered, match=r"deploy of .* was answered by human:ada at ") as refused:
        await yard.approvals.answer(held.id, "deploy", {"approved": False}, by=BOB)

    assert refused.value.facts["by"] == "human:ada"
    again = await claim_that(yard, held.id, start=True)
    assert (await yard.attempts.ask(held.id, again.lease, "deploy", "Deploy?")).data == {"approved": True}


async def test_an_answer_whose_receipt_was_lost_is_given_again_without_harm(yard: Yard):
    held = await asked(yard)
    for _ in range(2):
        await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=ADA)

    assert len(await data_of(yard, "task.answered")) == 1


async def test_a_link_is_used_once(yard: Yard):
    held = await asked(yard)
    await yard.approvals.answer(held.id, "deploy", {"approved": True}, by="link:ops")

    with pytest.raises(AlreadyAnswered, match="link:ops"):
        await yard.approvals.answer(held.id, "deploy", {"approved": True}, by="link:ops")


async def test_an_answer_that_does_not_fit_is_refused_field_by_field_and_the_question_stays_open(yard: Yard):
    held = await asked(yard, answer_schema=ADDRESS)

    with pytest.raises(InvalidAnswer) as refused:
        await yard.approvals.answer(held.id, "deploy", {"street": "ab", "floors": [1, "two"]})

    assert {each["field"] for each in refused.value.problems} == {"street", "floors/1"}
    assert (await yard.get(held.id)).status is Status.PENDING
    await yard.approvals.answer(held.id, "deploy", {"street": "Abbey Road", "floors": [1]})


async def test_a_signal_of_the_questions_name_is_an_answer_and_must_be_one(yard: Yard):
    held = await asked(yard, choices=["yes", "no"], who=["ada"])

    with pytest.raises(InvalidAnswer):
        await yard.signal(held.id, "deploy", "perhaps", sent_by=ADA)
    with pytest.raises(Forbidden):
        await yard.signal(held.id, "deploy", "yes", sent_by=BOB)
    await yard.signal(held.id, "deploy", "yes", sent_by=ADA)

    with pytest.raises(AlreadyAnswered):
        await yard.signal(held.id, "deploy", "no", sent_by=ADA)


async def test_a_task_that_waits_without_a_question_gets_a_signal_of_an_earlier_ones_name(yard: Yard):
    held = await asked(yard)
    await yard.approvals.answer(held.id, "deploy", {"approved": True})
    again = await claim_that(yard, held.id, start=True)
    with pytest.raises(AlreadyAnswered):  # nothing waits for it yet
        await yard.signal(held.id, "deploy", "by nobody's leave")
    assert not (await yard.attempts.wait_for(held.id, again.lease, "deployed", "deploy")).over

    await yard.signal(held.id, "deploy", "done")

    last = await claim_that(yard, held.id, start=True)
    assert (await yard.attempts.wait_for(held.id, last.lease, "deployed", "deploy")).data == "done"


async def test_an_answer_over_a2a_is_refused_when_the_time_is_over(yard: Yard, clock: ManualClock):
    held = await asked(yard, timeout_sec=60, default={"approved": False})
    await yard.a2a.publish(held.type)
    handle = (await yard.a2a.share(held.id)).handle
    clock.advance(seconds=60)

    with pytest.raises(AlreadyAnswered, match="by timeout"):
        await yard.a2a.send(handle, "m1", {"approved": True})


async def test_an_answer_over_a2a_to_what_nobody_asks_any_more_is_no_message_for_the_inbox(yard: Yard):
    held = await asked(yard)
    await yard.a2a.publish(held.type)
    handle = (await yard.a2a.share(held.id)).handle
    await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=ADA)
    await claim_that(yard, held.id, start=True)

    with pytest.raises(InvalidInput, match="waits for none"):
        await yard.a2a.send(handle, "m1", {"approved": False}, signal="deploy")

    await yard.a2a.send(handle, "m2", "hurry")  # names no question, and so it is for the agent to read


async def test_what_was_sent_before_the_question_was_asked_is_no_answer_to_it(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.signal(held.id, "deploy", "anything at all")

    assert not (await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?", choices=["yes"])).over

    await yard.approvals.answer(held.id, "deploy", "yes")
    again = await claim_that(yard, held.id, start=True)
    assert (await yard.attempts.ask(held.id, again.lease, "deploy", "Deploy?", choices=["yes"])).data == "yes"


@pytest.mark.parametrize(
    ("who", "may"),
    [
        ((), {"ada", "bob"}),
        (("ada",), {"ada"}),
        (("human:bob",), {"bob"}),
        (("release",), {"bob"}),
        (("group:release",), {"bob"}),
        (("operator",), {"ada"}),
        (("role:orchestrator",), {"bob"}),
        (("group:ada", "role:release", "human:operator"), set[str]()),
    ],
)
async def test_who_is_names_groups_or_roles(yard: Yard, who: tuple[str, ...], may: set[str]):
    for person in (ADA, BOB):
        held = await asked(yard, who=who)
        if person.name in may:
            await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=person)
        else:
            with pytest.raises(Forbidden, match="is none of them"):
                await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=person)
        await yard.cancel(held.id)


async def test_somebody_who_is_called_like_a_role_does_not_have_it(yard: Yard):
    held = await asked(yard, who=["admin"])

    with pytest.raises(Forbidden):
        await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=Person("human:admin", ("orchestrator",)))
    with pytest.raises(Forbidden):
        await yard.approvals.answer(held.id, "deploy", {"approved": True}, by="link:admin")


@pytest.mark.parametrize("by", ["agent:worker", Person("agent:worker", ("operator",))])
async def test_an_agent_does_not_answer_its_own_question(yard: Yard, by: Person | str):
    held = await asked(yard, who=["agent:worker"])

    with pytest.raises(Forbidden, match="own question"):
        await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=by)
    with pytest.raises(Forbidden, match="own question"):
        await yard.signal(held.id, "deploy", {"approved": True}, sent_by=by)


async def test_an_agent_of_the_same_type_does_not_answer_either(yard: Yard):
    await yard.agents.register("coder-1", type="coder")
    task = await yard.enqueue("code")
    held = await claim_that(yard, task.id, by="coder-1", start=True)
    await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?")

    with pytest.raises(Forbidden, match="own question"):
        await yard.approvals.answer(held.id, "deploy", {"approved": True}, by="agent:coder")


async def test_the_token_of_an_agent_does_not_answer_by_another_name(yard: Yard):
    await yard.agents.register("coder-1", type="coder", token="tok_1")
    task = await yard.enqueue("code")
    held = await claim_that(yard, task.id, by="coder-1", start=True)
    await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?")

    own = Person("human:ada", ("admin",), token="tok_1")
    with pytest.raises(Forbidden, match="own question"):
        await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=own)
    with pytest.raises(Forbidden, match="own question"):
        await yard.signal(held.id, "deploy", {"approved": True}, sent_by=own)
    await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=own._replace(token="tok_2"))


async def test_the_default_is_the_answer_when_the_time_is_over_and_is_recorded_as_such(yard: Yard, clock: ManualClock):
    held = await asked(yard, choices=["yes", "no"], timeout_sec=60, default="no")
    await elapse(yard, clock, 60)
    again = await claim_that(yard, held.id, start=True)

    for _ in range(2):  # a handler that is run again
        waited = await yard.attempts.ask(held.id, again.lease, "deploy", "Deploy?", choices=["yes", "no"], default="no")
        assert (waited.data, waited.timed_out, waited.by) == ("no", True, "timeout")

    assert await data_of(yard, "task.answered") == [{"name": "deploy", "by": "timeout", "default": True}]
    found = await yard.approvals.get(held.id, "deploy")
    assert found.question is not None
    assert found.until is not None
    assert found.question.answered == AnsweredView(by="timeout", at=found.until, is_default=True, data="no")


async def test_an_answer_after_the_time_is_refused_though_nobody_has_woken_the_task(yard: Yard, clock: ManualClock):
    held = await asked(yard, timeout_sec=60, default={"approved": False})
    clock.advance(seconds=60)

    with pytest.raises(AlreadyAnswered, match="by timeout"):
        await yard.approvals.answer(held.id, "deploy", {"approved": True})
    assert not (await yard.approvals.get(held.id, "deploy")).is_open


async def test_without_a_default_the_time_out_is_all_there_is(yard: Yard, clock: ManualClock):
    held = await asked(yard, timeout_sec=60)
    await elapse(yard, clock, 60)
    again = await claim_that(yard, held.id, start=True)

    waited = await yard.attempts.ask(held.id, again.lease, "deploy", "Deploy?", timeout_sec=60)

    assert (waited.over, waited.data, waited.timed_out) == (True, None, True)
    assert await data_of(yard, "task.answered") == [{"name": "deploy", "by": "timeout", "default": False}]


async def test_a_question_of_no_time_takes_its_default_at_once(yard: Yard):
    held = await given_a_running_task(yard)

    waited = await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?", choices=[1, 2], timeout_sec=0, default=2)

    assert (waited.over, waited.data, waited.timed_out) == (True, 2, True)
    assert (await yard.get(held.id)).status is Status.RUNNING


async def test_questions_follow_each_other_and_each_keeps_its_answer(yard: Yard):
    held = await given_a_running_task(yard)
    for number, answer in ((1, "one"), (2, "two")):
        name = f"ask:{number}"
        assert not (await yard.attempts.ask(held.id, held.lease, name, "Which?", choices=["one", "two"])).over
        await yard.approvals.answer(held.id, name, answer)
        held = await claim_that(yard, held.id, start=True)

    heard = [
        (await yard.attempts.ask(held.id, held.lease, name, "Which?", choices=["one", "two"])).data
        for name in ("ask:1", "ask:2")
    ]

    assert heard == ["one", "two"]
    with pytest.raises(NotFound):
        await yard.approvals.answer(held.id, "ask:1", "two")


async def test_an_answer_is_for_the_wait_that_it_names(yard: Yard):
    held = await asked(yard)
    (wanted,) = await yard.approvals.list()

    with pytest.raises(NotFound):
        await yard.approvals.answer(held.id, "deploy", {"approved": True}, wait=wanted.wait + 1)
    await yard.approvals.answer(held.id, "deploy", {"approved": True}, wait=wanted.wait)


async def test_a_task_that_is_cancelled_takes_no_answer(yard: Yard):
    held = await asked(yard)
    await yard.cancel(held.id)

    with pytest.raises(IllegalTransition, match="cancelled"):
        await yard.approvals.answer(held.id, "deploy", {"approved": True})
    assert not (await yard.approvals.get(held.id, "deploy")).is_open


async def test_nothing_was_asked_under_another_name(yard: Yard):
    held = await asked(yard)

    with pytest.raises(NotFound, match="question other"):
        await yard.approvals.answer(held.id, "other", {"approved": True})
    with pytest.raises(NotFound):
        await yard.approvals.get(held.id, "other")


async def test_why_says_what_is_asked_and_of_whom(yard: Yard):
    held = await asked(yard, "Deploy it\nto everybody?", who=["ada", "release"])

    why = await yard.why(held.id)

    assert why.words == "waits for an answer of ada, release to “Deploy it to everybody?” (deploy)"
    assert why.causes[0].facts["question"] == "Deploy it\nto everybody?"


async def test_asking_and_answering_are_events(yard: Yard):
    held = await asked(yard, who=["ada"], timeout_sec=60)
    await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=ADA)

    assert {"task.asked", "task.answered"} <= set(await events_of(yard, held.id))
    (facts,) = await data_of(yard, "task.asked")
    assert (facts["question"], facts["who"], facts["agent"]) == ("Deploy?", ["ada"], "worker")
    assert await data_of(yard, "task.answered") == [{"name": "deploy", "by": "human:ada", "default": False}]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"answer_schema": {"type": "nonsense"}}, "answer_schema"),
        ({"answer_schema": {"$ref": "https://example.org/schema"}}, "answer_schema"),
        ({"answer_schema": {"title": "x" * 70_000}}, "answer_schema"),
        ({"answer_schema": {}, "choices": ["a"]}, "choices"),
        ({"choices": []}, "choices"),
        ({"choices": "yes"}, "choices"),
        ({"choices": ["a", "a"]}, "choices"),
        ({"choices": [{"a": 1}]}, "choices"),
        ({"choices": ["a"], "default": "b"}, "default"),
        ({"answer_schema": ADDRESS, "default": {"street": "x"}}, "default/street"),
        ({"context": "x" * 70_000}, "context"),
        ({"who": "ada"}, "who"),
        ({"who": ["x"] * 51}, "who"),
        ({"login": "yes"}, "login"),
        ({"timeout_sec": -1}, "timeout_sec"),
    ],
)
async def test_a_question_that_cannot_be_asked_says_what_is_wrong(yard: Yard, fields: dict[str, Any], field: str):
    held = await given_a_running_task(yard)

    with pytest.raises(InvalidInput) as refused:
        await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?", **fields)

    assert refused.value.facts["field"] == field
    assert (await yard.get(held.id)).status is Status.RUNNING


@pytest.mark.parametrize("question", ["", "   ", "x" * 4_001])
async def test_a_question_has_words(yard: Yard, question: str):
    held = await given_a_running_task(yard)

    with pytest.raises(InvalidInput, match="question"):
        await yard.attempts.ask(held.id, held.lease, "deploy", question)


async def test_a_name_that_stands_for_something_else_is_no_question(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.attempts.checkpoint(held.id, held.lease, "deploy", {"done": True})

    with pytest.raises(InvalidInput, match="something else"):
        await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?")


async def test_notifiers_hear_the_question_once(yard: Yard):
    held = await asked(yard, who=["ada"])

    ((_, row),) = await yard.store.outbox("notify", 10)

    told = json.loads(row.data)
    assert (row.task_id, told["kind"], told["question"], told["who"]) == (
        held.id,
        "approval_wanted",
        "Deploy?",
        ["ada"],
    )


async def test_a_question_that_comes_again_is_not_notified_again(yard: Yard, clock: ManualClock):
    """The clock that ended its wait was ahead of the clock of whoever works on the task now."""
    held = await asked(yard, timeout_sec=60)
    await elapse(yard, clock, 60)
    clock.advance(seconds=-30)
    again = await claim_that(yard, held.id, start=True)

    assert not (await yard.attempts.ask(held.id, again.lease, "deploy", "Deploy?", timeout_sec=60)).over

    assert len(await yard.store.outbox("notify", 10)) == 1
    assert len(await data_of(yard, "task.asked")) == 1
    (wanted,) = await yard.approvals.list()
    assert wanted.question is not None
    assert (wanted.question.text, wanted.is_open) == ("Deploy?", True)


async def test_a_question_that_is_asked_anew_is_answered_by_no_token_that_asked_it_before(
    yard: Yard, clock: ManualClock
):
    held = await asked(yard, timeout_sec=60, token="first")
    await elapse(yard, clock, seconds=60)
    again = await claim_that(yard, held.id, start=True)
    clock.advance(seconds=-30)  # the machine that asks again is behind the one that swept: the question is open still
    await yard.attempts.ask(held.id, again.lease, "deploy", "Deploy?", token="second")

    for token in ("first", "second"):
        with pytest.raises(Forbidden, match="does not answer its own question"):
            await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=ADA._replace(token=token))
    await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=ADA._replace(token="third"))


async def test_of_the_tokens_that_asked_a_question_the_latest_hundred_are_kept(yard: Yard):
    held = await asked(yard, token="0")
    for each in range(1, MOST_TOKENS + 1):
        await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?", token=str(each))

    with pytest.raises(Forbidden, match="does not answer its own question"):
        await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=ADA._replace(token="1"))
    await yard.approvals.answer(held.id, "deploy", {"approved": True}, by=ADA._replace(token="0"))
