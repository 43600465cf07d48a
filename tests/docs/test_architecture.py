"""The map of the code leads somewhere: every pointer is followed, every walk is run, every word is found."""

import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from taskyard.app import connect
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.architecture_page import PACKAGE, PAGE, POINTER, leads_nowhere, place, rows_of, section
from tests.yards import claim_that, elapse, given_an_agent


def test_every_pointer_leads_somewhere():
    assert len(POINTER.findall(PAGE)) > 200
    assert leads_nowhere(PAGE) == []


@pytest.mark.parametrize(
    "pointer", ["`core/alike.py`", "`core/task.py:Cold`", "`core/task.py:Hot.copied`", "`tests/features/moon/`"]
)
def test_a_pointer_that_leads_nowhere_is_found(pointer: str):
    assert leads_nowhere(f"see {pointer} and `core/task.py:Hot`") == [pointer]


def test_the_page_is_short_enough_to_be_read():
    assert len(PAGE.splitlines()) <= 440


# The glossary


def words_in(code: str) -> str:
    """The code as words: handed_out and HandedOut are both handed out."""
    return re.sub(r"[_\s-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", code)).lower()


def uses(word: str, code: str) -> bool:
    return re.search(rf"\b{re.escape(words_in(word))}", words_in(code)) is not None


GLOSSARY = rows_of("Glossary")


def test_the_glossary_is_in_order_and_names_each_word_once():
    words = [word.lower() for word, _, _ in GLOSSARY]

    assert len(words) > 90
    assert words == sorted(set(words))


@pytest.mark.parametrize(("word", "pointer"), [(word, pointer) for word, _, pointer in GLOSSARY])
def test_a_word_of_the_glossary_is_used_where_it_is_reported_as_defined(word: str, pointer: str):
    (found,) = POINTER.finditer(pointer)

    assert uses(word, place(found[1]).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("word", "code", "is_used"),
    [
        ("handed out", "class HandedOut:", True),
        ("follow-up", "class FollowUp(StrEnum):", True),
        ("hot", "hot = await load()", True),
        ("hot", "a shot in the dark", False),
        ("lane", "a plane", False),
    ],
)
def test_a_word_is_found_as_code_spells_it(word: str, code: str, is_used: bool):
    assert uses(word, code) is is_used


# The walks


Steps = list[tuple[str, str]]


@contextmanager
def traced() -> Generator[Steps]:
    """Every function of ours that is called meanwhile, in order, by file and name."""
    steps: Steps = []
    before = sys.getprofile()

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            steps.append((str(Path(code.co_filename).relative_to(PACKAGE)), code.co_qualname))

    sys.setprofile(look)
    try:
        yield steps
    finally:
        sys.setprofile(before)


def not_passed(pointers: Sequence[tuple[str, str]], steps: Steps) -> list[tuple[str, str]]:
    """The first pointer that is not passed after those before it, and all behind it."""
    left = iter(steps)
    for place_, pointer in enumerate(pointers):
        if pointer not in left:
            return list(pointers[place_:])
    return []


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def yard(clock: ManualClock) -> AsyncGenerator[Yard]:
    async with connect("memory://", clock=clock, sweeps=False) as yard:
        await given_an_agent(yard)
        yield yard


async def enqueue(yard: Yard, _: ManualClock) -> Steps:
    with traced() as steps:
        await yard.enqueue("report", prompt="Compare the vendors")
    return steps


async def claim(yard: Yard, _: ManualClock) -> Steps:
    await yard.enqueue("report")
    with traced() as steps:
        await yard.claim("worker", start=True)
    return steps


async def complete(yard: Yard, _: ManualClock) -> Steps:
    held = await claim_that(yard, (await yard.enqueue("report")).id, start=True)
    with traced() as steps:
        await yard.complete(held.id, held.lease, {"price": 29})
    return steps


async def fail_with_retry(yard: Yard, clock: ManualClock) -> Steps:
    held = await claim_that(yard, (await yard.enqueue("report")).id, start=True)
    with traced() as steps:
        await yard.fail(held.id, held.lease, "crash")
        await elapse(yard, clock, 100)
    assert await yard.claim("worker")
    return steps


async def fan_in(yard: Yard, _: ManualClock) -> Steps:
    named = [{"name": "a", "type": "report"}, {"name": "b", "type": "report"}]
    await yard.submit({"tasks": [*named, {"name": "c", "type": "report", "depends_on": ["a", "b"]}]})
    first, last = await yard.claim("worker", count=2, start=True)
    await yard.complete(first.id, first.lease)
    with traced() as steps:
        await yard.complete(last.id, last.lease)
        (child,) = await yard.claim("worker", start=True)
        await yard.complete(child.id, child.lease)
    return steps


async def schedule(yard: Yard, clock: ManualClock) -> Steps:
    with traced() as steps:
        await yard.schedules.add("reports", "every 5 minutes", task={"type": "report"})
        await elapse(yard, clock, 301)
    assert await yard.claim("worker")
    return steps


WALKS: dict[str, Callable[[Yard, ManualClock], Awaitable[Steps]]] = {
    "enqueue": enqueue,
    "claim": claim,
    "complete": complete,
    "fail with retry": fail_with_retry,
    "fan-in": fan_in,
    "schedule": schedule,
}


def pointers_of(title: str) -> list[tuple[str, str]]:
    """Those of the numbered steps of a walk; what is written around them tells of other ways."""
    steps = re.findall(r"^\d\. (?:.+\n)(?:   .+\n)*", section(title), flags=re.MULTILINE)
    return [(path, name) for step in steps for path, name in POINTER.findall(step) if name]


@pytest.mark.parametrize("name", WALKS)
async def test_a_walk_passes_the_functions_that_the_page_names_in_their_order(
    name: str, yard: Yard, clock: ManualClock
):
    pointers = pointers_of(f"Walk: {name}")
    assert len(pointers) > 7

    assert not_passed(pointers, await WALKS[name](yard, clock)) == []


async def test_a_walk_in_another_order_is_found(yard: Yard, clock: ManualClock):
    pointers = pointers_of("Walk: enqueue")

    assert not_passed(pointers[::-1], await enqueue(yard, clock))


def test_every_walk_of_the_page_is_run():
    assert re.findall(r"^### Walk: (.+)$", PAGE, flags=re.MULTILINE) == list(WALKS)


# The questions


async def lose_a_lease(yard: Yard, clock: ManualClock) -> Steps:
    await yard.enqueue("report")
    await yard.claim("worker", start=True)
    with traced() as steps:
        await elapse(yard, clock, 100)
    return steps


async def ask_why(yard: Yard, _: ManualClock) -> Steps:
    task = await yard.enqueue("report")
    with traced() as steps:
        await yard.why(task.id)
    return steps


async def build(*_: object) -> Steps:
    with traced() as steps:
        connect("memory://", sweeps=False)
    return steps


# What happens when the answer to a question is run. None: the answer is a table.
ASKED: dict[str, Callable[[Yard, ManualClock], Awaitable[Steps]] | None] = {
    "Which verb may move a task from which state?": None,
    "How is a claim decided?": claim,
    "What follows a failure, and does it count?": fail_with_retry,
    "What happens when a lease expires?": lose_a_lease,
    "Who may call `FailurePath`?": fail_with_retry,
    "What reacts to a commit?": build,
    "What if a process dies between a commit and its followers?": lose_a_lease,
    "How are two writers of one row kept apart?": fail_with_retry,
    "Why is a task not running?": ask_why,
    "Who may make which call over HTTP?": None,
}


@pytest.mark.parametrize(("question", "answer"), rows_of("Ten questions"))
async def test_the_answer_to_a_question_runs_when_what_is_asked_about_happens(
    question: str, answer: str, yard: Yard, clock: ManualClock
):
    path, name = POINTER.findall(answer)[0]
    happens = ASKED[question]
    if happens is None:
        assert name.isupper()
    else:
        assert (path, name) in await happens(yard, clock)


def test_ten_questions_are_answered():
    assert [question for question, _ in rows_of("Ten questions")] == list(ASKED)
