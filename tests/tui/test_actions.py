"""What a person does in the terminal is done in the yard, and what the yard refuses can be put right."""

from typing import Any

import pytest
from textual.widgets import Input, Select, TextArea

from taskyard.core.errors import AlreadyAnswered
from taskyard.tui.form_dialog import fields_of
from taskyard.yard import Yard
from tests.tui.conftest import Opened, Seen, given_a_question
from tests.yards import given_a_dead_letter, given_an_agent

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "note": {"type": "string", "description": "for the log"},
        "copies": {"type": "integer", "minimum": 1},
        "share": {"type": "number"},
        "where": {"enum": ["staging", "production"]},
        "urgent": {"type": "boolean"},
        "labels": {"type": "array"},
        "left": {"type": "string"},
    },
    "required": ["note", "copies", "where", "urgent"],
}


def fill(seen: Seen, **values: Any) -> None:
    """Fill the form in, field by field in its order."""
    for number, value in values.items():
        match seen.app.screen.query_one(f"#field-{number.removeprefix('n')}"):
            case TextArea() as area:
                area.text = value
            case Input() as line:
                line.value = value
            case Select() as choice:
                choice.value = value
            case other:
                raise AssertionError(other)


async def answer_of(yard: Yard, task_id: str) -> Any:
    given = await yard.approvals.get(task_id, "approve")
    assert given.question is not None
    assert given.question.answered is not None
    return given.question.answered.by, given.question.answered.data


async def test_a_question_is_answered_by_keys_alone(yard: Yard, opened: Opened):
    asked = await given_a_question(yard)
    async with opened() as seen:
        assert "Ship it?" in await seen.press("4", "w")
        await seen.press("enter")  # opens the choices
        await seen.press("home", "down", "enter")  # behind the empty one: yes
        after = await seen.press("ctrl+s")

    assert await answer_of(yard, asked) == ("human:ada", True)
    assert "nobody waits for you" in after


async def test_a_form_has_a_field_of_its_kind_for_each_member(yard: Yard, opened: Opened):
    asked = await given_a_question(yard, SCHEMA)
    async with opened() as seen:
        shown = await seen.press("4", "w")
        fill(seen, n0="fine", n1="2", n2="0.5", n3=1, n4=1, n5='["a"]')
        await seen.press("ctrl+s")

    assert "note *: for the log" in shown
    answer = {"note": "fine", "copies": 2, "share": 0.5, "where": "production", "urgent": False, "labels": ["a"]}
    assert await answer_of(yard, asked) == ("human:ada", answer)


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"n0": "fine", "n1": "2", "n3": 0}, "urgent: is required"),
        ({"n0": "fine", "n1": "two", "n3": 0, "n4": 0}, "copies: type a whole number"),
        ({"n0": "fine", "n1": "2", "n3": 0, "n4": 0, "n5": "[1"}, "labels: type JSON"),
        ({"n0": "fine", "n1": "0", "n3": 0, "n4": 0}, "must be at least 1"),  # the yard's own check
    ],
)
async def test_what_does_not_fit_is_named_and_can_be_put_right(
    yard: Yard, opened: Opened, fields: dict[str, Any], refusal: str
):
    asked = await given_a_question(yard, SCHEMA)
    async with opened() as seen:
        await seen.press("4", "w")
        fill(seen, **fields)
        assert refusal in await seen.press("ctrl+s")
        fill(seen, n1="2", n4=0, n5="")
        await seen.press("ctrl+s")

    assert (await answer_of(yard, asked))[1] == {"note": "fine", "copies": 2, "where": "staging", "urgent": True}


async def test_a_question_that_somebody_else_answered_is_not_answered_twice(yard: Yard, opened: Opened):
    asked = await given_a_question(yard)
    async with opened() as seen:
        await seen.press("4", "w")
        await yard.approvals.answer(asked, "approve", False, by="human:bob")
        fill(seen, n0=0)
        shown = await seen.press("ctrl+s")

    assert AlreadyAnswered.code in shown
    assert await answer_of(yard, asked) == ("human:bob", False)


async def test_a_signal_that_nobody_asked_for_is_sent_as_json(yard: Yard, opened: Opened):
    await given_an_agent(yard)
    task = await yard.enqueue("code")
    (held,) = await yard.claim("worker", start=True)
    await yard.attempts.wait_for(held.id, held.lease, "go", "go")
    async with opened() as seen:
        assert "It waits for the signal go." in await seen.press("4", "w")
        await seen.press("ctrl+s")

    assert (await yard.get(task.id)).status.value == "ready"


async def test_a_task_that_asks_is_answered_where_it_is_looked_at(yard: Yard, opened: Opened):
    asked = await given_a_question(yard)
    async with opened() as seen:
        await seen.press("2", "enter")
        assert {"Answer", "Decide"} & seen.keys() == {"Answer"}
        assert "Ship it?" in await seen.press("w")
        fill(seen, n0=0)
        await seen.press("ctrl+s")
        assert {"Answer", "Decide"} & seen.keys() == set()

    assert await answer_of(yard, asked) == ("human:ada", True)


async def test_a_dead_letter_is_decided_where_it_is_looked_at(yard: Yard, opened: Opened):
    held = await given_a_dead_letter(yard)
    async with opened() as seen:
        await seen.press("2", "enter")
        assert {"Answer", "Decide"} & seen.keys() == {"Decide"}
        await seen.press("x")
        fill(seen, n0=0, n1="the network is back")
        await seen.press("ctrl+s")
        assert {"Answer", "Decide"} & seen.keys() == set()

    assert (await yard.get(held.id)).status.value == "ready"


async def test_a_dead_letter_is_decided_with_a_reason(yard: Yard, opened: Opened):
    held = await given_a_dead_letter(yard)
    async with opened() as seen:
        await seen.press("5", "x")
        fill(seen, n0=0)
        assert "reason: is required" in await seen.press("ctrl+s")
        fill(seen, n1="the network is back")
        after = await seen.press("ctrl+s")

    (review,) = await yard.dead_letters.reviews()
    assert (review.task_id, review.resolution, review.reviewed_by) == (held.id, "retry", "human:ada")
    assert review.note == "the network is back"
    assert "no dead letters" in after


async def test_a_dead_letter_is_changed_and_tried_again(yard: Yard, opened: Opened):
    held = await given_a_dead_letter(yard, prompt="in red")
    async with opened() as seen:
        await seen.press("5", "x")
        fill(seen, n0=1, n1="wrong colour")
        assert "spec: goes with modify_and_retry" in await seen.press("ctrl+s")
        fill(seen, n2='{"prompt": "in green"}')
        await seen.press("ctrl+s")

    assert (await yard.get(held.id)).prompt == "in green"


async def test_a_task_is_cancelled_with_a_reason(yard: Yard, opened: Opened):
    task = await yard.enqueue("code")
    async with opened() as seen:
        await seen.press("enter", "c", *"late")
        await seen.press("ctrl+s")

    ended = (await yard.get(task.id)).cancelled
    assert ended is not None
    assert ended.reason == "late"


async def test_a_form_that_is_left_does_nothing(yard: Yard, opened: Opened):
    task = await yard.enqueue("code")
    async with opened() as seen:
        await seen.press("enter", "c", *"late", "escape")

    assert (await yard.get(task.id)).status.value == "ready"


async def test_a_waiting_task_is_moved(yard: Yard, opened: Opened):
    task = await yard.enqueue("code")
    async with opened() as seen:
        await seen.press("enter", "i", *"10")
        await seen.press("ctrl+s")

    assert (await yard.get(task.id)).priority == 10


async def test_an_ended_task_is_done_again_once(yard: Yard, opened: Opened):
    task = await yard.enqueue("code")
    await yard.cancel(task.id, "no")
    async with opened() as seen:
        await seen.press("2", "enter", "u", "ctrl+s")

    assert [each.rerun_of for each in await yard.find()] == [task.id, None]


async def test_a_dag_is_cancelled(yard: Yard, opened: Opened):
    dag = await yard.submit({"tasks": [{"type": "a", "name": "a"}, {"type": "b", "name": "b"}]})
    async with opened() as seen:
        await seen.press("3", "enter", "c", *"no", "ctrl+s")

    assert {task.status.value for task in (await yard.dags.get(dag.id)).tasks} == {"cancelled"}


async def test_an_agent_is_drained_and_resumed(yard: Yard, opened: Opened):
    await given_an_agent(yard, "coder")
    async with opened() as seen:
        assert "| draining |" in await seen.press("6", "z")
        assert "| active |" in await seen.press("u")


def test_a_schema_without_members_is_one_field():
    assert [field.name for field in fields_of({"type": "object"})] == [None]
    assert [field.name for field in fields_of(True)] == [None]
    assert [(field.name, field.is_required) for field in fields_of(SCHEMA)][:3] == [
        ("note", True),
        ("copies", True),
        ("share", False),
    ]


def test_true_is_no_number():
    (field,) = fields_of({"enum": [1, True], "default": True})

    widget: Any = field.widget(0)
    chosen: int = widget._value

    assert field.choices[chosen].value is True  # before it is mounted, it has no other value
