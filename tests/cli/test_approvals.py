"""Questions from a shell: listed, shown, and answered with data or from the keyboard."""

import asyncio
from typing import Any

import pytest

import taskyard as package
from taskyard.cli.answer_prompts import Prompts
from tests.cli.conftest import Command
from tests.yards import given_a_running_task

ADDRESS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "title": "Street"},
        "floor": {"type": "integer"},
        "lift": {"type": "boolean"},
        "size": {"enum": ["small", "large"]},
        "tags": {"type": "array"},
        "more": {"type": "object", "properties": {"rent": {"type": "number"}}},
        "note": {"type": "string"},
    },
    "required": ["street", "floor", "lift", "size"],
}


def given_a_question(url: str, **more: Any) -> str:
    async def ask() -> str:
        async with package.connect(url) as yard:
            held = await given_a_running_task(yard)
            await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?", **more)
            return held.id

    return asyncio.run(ask())


def test_a_question_is_listed_shown_and_answered(taskyard: Command, url: str) -> None:
    task = given_a_question(url, choices=["yes", "no"], who=["ada"], context={"version": 2})

    listed, shown = taskyard("approvals", "ls").out, taskyard("approvals", "show", task).out
    wrong = taskyard("approvals", "answer", task, "--data", '"perhaps"', "--by", "human:ada")
    stranger = taskyard("approvals", "answer", task, "--data", '"yes"')
    done = taskyard("approvals", "answer", task, "--data", '"yes"', "--by", "human:ada", "--json")
    late = taskyard("approvals", "answer", task, "--name", "deploy", "--data", '"no"', "--by", "human:bob")

    assert "Deploy?" in listed
    assert '"version": 2' in shown
    assert "for ada" in shown
    assert (wrong.status, stranger.status, late.status) == (2, 5, 4)
    assert done.json == {"id": task, "name": "deploy", "data": "yes"}
    assert "answered by human:ada" in late.out
    assert "answered by human:ada" in taskyard("approvals", "show", task, "--name", "deploy").out
    assert taskyard("approvals", "ls").out == "nobody waits for you\n"


def test_without_a_terminal_the_answer_is_data(taskyard: Command, url: str) -> None:
    task = given_a_question(url)

    assert taskyard("approvals", "answer", task).status == 2
    assert taskyard("approvals", "answer", task, "--json").status == 2
    assert taskyard("approvals", "answer", "task_01ARZ3NDEKTSV4RRFFQ69G5FAV").status == 3


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (
            ["Abbey Road", "3", "yes", "2", '["a"]', "yes", "9.5", "quiet"],
            {
                "street": "Abbey Road",
                "floor": 3,
                "lift": True,
                "size": "large",
                "tags": ["a"],
                "more": {"rent": 9.5},
                "note": "quiet",
            },
        ),
        (
            ["", "Abbey Road", "third", "3", "perhaps", "n", "3", "0", "1", "[", "", "", ""],
            {"street": "Abbey Road", "floor": 3, "lift": False, "size": "small"},
        ),
    ],
)
def test_a_terminal_is_asked_field_by_field_until_each_is_right(typed: list[str], answer: dict[str, Any]) -> None:
    left, complaints = iter(typed), list[str]()

    assert Prompts(lambda _: next(left), complaints.append).value(ADDRESS, "answer") == answer
    assert list(left) == []
    assert bool(complaints) == (len(typed) > 8)


def test_a_terminal_shows_titles_of_choices_and_leaves_out_what_may_be_left_out() -> None:
    window: Any = {
        "type": "object",
        "title": "Window",
        "properties": {"start": {"type": "string"}},
        "required": ["start"],
    }
    region: Any = {"oneOf": [{"const": "eu", "title": "Europe"}, {"const": 2}]}
    schema: Any = {"type": "object", "properties": {"region": region, "window": window}, "required": ["region"]}
    labels, complaints = list[str](), list[str]()

    def answered_with(*typed: str) -> Any:
        left = iter(typed)
        return Prompts(lambda label: (labels.append(label), next(left))[1], complaints.append).value(schema, "answer")

    assert answered_with("1", "") == {"region": "eu"}
    assert answered_with("2", "perhaps", "y", "09:30") == {"region": 2, "window": {"start": "09:30"}}
    assert "1. Europe\n  2. 2" in labels[0]
    assert labels[1] == "Fill in Window? (yes/no)"
    assert complaints == ["  type yes or no"]


@pytest.mark.parametrize("typed", ["nan", "inf", "-Infinity"])
def test_a_number_that_json_does_not_have_is_asked_for_again(typed: str):
    left, complaints = iter([typed, "2.5"]), list[str]()
    assert Prompts(lambda _: next(left), complaints.append).value({"type": "number"}, "price") == 2.5
    assert complaints == ["  type a number"]


@pytest.mark.parametrize("typed", ["NaN", '{"a": Infinity}', "[" * 100_000, '"\\u0000"'])
def test_json_that_would_be_refused_is_asked_for_again(typed: str):
    left, asked = iter([typed, "[1]"]), list[str]()
    prompts = Prompts(lambda label: (asked.append(label), next(left))[1], lambda _: None)

    assert prompts.value({"anyOf": [{"type": "array"}, {"type": "null"}]}, "hosts") == [1]
    assert asked == ["hosts (JSON)"] * 2
