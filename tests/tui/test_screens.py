"""Each screen shows what the yard has, and is read again when the yard has changed."""

import asyncio
from typing import Any

import pytest

from taskyard.features.tokens.rules import Role
from taskyard.tui.task_list_screen import PAGE, filter_of
from taskyard.tui.task_screen import TaskScreen
from taskyard.yard import Yard
from tests.remote import beyond_a_server
from tests.tui.conftest import Opened, given_a_question
from tests.yards import given_a_dead_letter, given_a_running_task, given_an_agent


async def test_the_overview_names_problems_first(yard: Yard, opened: Opened):
    await given_a_dead_letter(yard)
    await yard.queues.pause("slow", by="human:ada")
    async with opened() as seen:
        shown = await seen.look()

    assert "! 1 dead letter to decide: press 5\n! 1 queue paused\n✗ dead_lettered 1" in shown
    assert "default, as admin" in shown


async def test_an_overview_without_problems_says_so(opened: Opened):
    async with opened() as seen:
        assert "✓ nothing asks for you\nthe yard is empty" in await seen.look()


async def test_the_overview_has_money_to_the_cent(yard: Yard, opened: Opened):
    held = await given_a_running_task(yard)
    await yard.complete(held.id, held.lease, {}, cost_usd="0.6")
    await yard.budgets.set(daily_budget_usd="5", by="human:ada")
    async with opened() as seen:
        assert "$0.60 spent today of $5.00" in await seen.look()


async def test_the_overview_has_progress(yard: Yard, opened: Opened):
    held = await given_a_running_task(yard, title="Build the page")
    await yard.progress(held.id, held.lease, {"fraction": 0.5, "note": "half of it"})
    async with opened() as seen:
        assert "◐ running | code | Build the page | worker | 50% half of it" in await seen.look()


async def test_what_is_written_elsewhere_appears_by_itself(yard: Yard, opened: Opened):
    async with opened() as seen:
        await yard.enqueue("code", title="From another process")

        await seen.until(lambda shown: "From another process" in shown)


async def test_tasks_are_found_by_words_and_by_state(yard: Yard, opened: Opened):
    await given_a_dead_letter(yard, "design", title="Draw the logo")
    await yard.enqueue("code", title="Build the page")
    async with opened() as seen:
        assert "all: 2 tasks" in await seen.press("2")
        logo = await seen.press("slash", *"logo", "enter")
        everything = await seen.press("slash", "backspace", "backspace", "backspace", "backspace", "enter")
        waiting = await seen.press("s")

    assert ("Draw the logo" in logo, "Build the page" in logo) == (True, False)
    assert "all: 2 tasks" in everything
    assert ("Draw the logo" in waiting, "Build the page" in waiting) == (False, True)
    assert "waiting: 1 task" in waiting


def test_a_search_names_fields_and_words():
    found = filter_of("type:code landing page tag:x subject:issue:42 note:y dag:", "dead")

    assert found == {
        "status": ("dead_lettered",),
        "type": "code",
        "tag": "x",
        "subject": "issue:42",
        "text": "landing page note:y dag:",
    }


async def test_older_tasks_are_on_the_next_page(yard: Yard, opened: Opened):
    await yard.enqueue_many([{"type": "code", "title": f"number {number}"} for number in range(PAGE + 1)])
    async with opened() as seen:
        first = await seen.press("2")
        second = await seen.press("n")
        again = await seen.press("p")

    assert "| number 0 |" not in first
    assert ("| number 0 |" in second, "all: 1 task, page 2" in second) == (True, True)
    assert "| number 0 |" not in again


async def test_the_cursor_stays_on_its_task(yard: Yard, opened: Opened):
    await yard.enqueue("code", title="the first")
    await yard.enqueue("code", title="the second")
    async with opened() as seen:
        await seen.press("2", "down")
        await yard.enqueue("code", title="the third")
        await seen.press("r")

        shown = await seen.press("enter")

    assert "the first" in shown.partition("Facts")[0]


async def test_a_task_has_facts_why_attempts_and_events(yard: Yard, opened: Opened):
    await given_a_dead_letter(yard, title="Draw the logo", prompt="In green")
    async with opened() as seen:
        await seen.press("5")
        shown = await seen.press("enter")

    assert "why       is dead after one failed attempt, and waits for a person" in shown
    assert "prompt    In green" in shown
    assert "1 | worker | failed" in shown
    assert "task.dead_lettered | dead_lettered" in shown


async def test_what_an_attempt_writes_appears_as_it_comes(yard: Yard, opened: Opened):
    held = await given_a_running_task(yard)
    async with opened() as seen:
        await seen.press("enter", "o")
        await yard.streams.append(held.id, held.lease, [{"kind": "text", "text": "Thinking about "}])
        await seen.until(lambda shown: "Thinking about" in shown)
        await yard.streams.append(
            held.id, held.lease, [{"kind": "text", "text": "green"}, {"kind": "json", "data": {"tool": "pen"}}]
        )

        await seen.until(lambda shown: 'Thinking about green\njson: {"tool": "pen"}' in shown)


async def test_a_dag_is_a_tree_that_follows_its_tasks(yard: Yard, opened: Opened):
    await given_an_agent(yard)
    await yard.submit(
        {
            "title": "Landing page",
            "tasks": [
                {"type": "research", "name": "a", "title": "Research"},
                {"type": "code", "name": "b", "title": "Code", "depends_on": ["a"]},
            ],
        }
    )
    async with opened() as seen:
        assert "Landing page" in await seen.press("3")
        drawn = await seen.press("enter")
        (held,) = await yard.claim("worker", start=True)
        await yard.complete(held.id, held.lease, output={})
        followed = await seen.until(lambda shown: "✓ completed  Research" in shown)
        below = await seen.press("down", "down", "enter")

    assert "0/2 ended" in drawn
    assert "○ ready  Research" in drawn
    assert "· pending  Code" in drawn
    assert "○ ready  Code" in followed
    assert below.startswith(" 1 Overview")
    assert "title     Code" in below


async def test_a_long_chain_is_drawn_without_a_deep_tree(yard: Yard, opened: Opened):
    chain = [
        {"type": "a", "name": f"t{n}", "title": f"T{n}", "depends_on": [f"t{n - 1}"] if n else []} for n in range(300)
    ]
    await yard.submit({"title": "Chain", "tasks": chain})
    async with opened() as seen:
        shown = await seen.press("3", "enter")

    assert "↳ · pending  T299" in shown
    assert "(after T298)" in shown


async def test_agents_are_listed(yard: Yard, opened: Opened):
    await given_an_agent(yard, "coder", capabilities=["git"])
    async with opened() as seen:
        assert "coder | coder | active | 0/1000 |  | 0s ago | git" in await seen.press("6")


async def test_an_approval_shows_its_question(yard: Yard, opened: Opened):
    await given_a_question(yard, context={"diff": "+1"})
    async with opened() as seen:
        shown = await seen.press("4")

    assert "release | approve | Ship it?" in shown
    assert '"diff": "+1"' in shown
    assert "asked by worker" in shown


async def test_every_place_fits_eighty_columns_and_shows_its_keys(yard: Yard, opened: Opened):
    await given_a_question(yard)
    async with opened() as seen:
        for key in "123456":
            await seen.press(key)
            footer = seen.app.screen.query_one("Footer")
            assert footer.region.bottom == 24
            assert max(each.region.right for each in footer.children) <= 80


async def test_the_help_names_the_keys_of_the_screen(opened: Opened):
    async with opened() as seen:
        await seen.press("5")
        shown = await seen.press("question_mark")
        closed = await seen.press("escape")

    assert "x             Decide" in shown
    assert "2             Tasks" in shown
    assert "no dead letters" in closed


async def test_light_and_dark(opened: Opened):
    async with opened(is_light=True) as seen:
        assert not seen.app.current_theme.dark
        await seen.press("l")
        assert seen.app.current_theme.dark


async def test_a_viewer_is_offered_no_action(yard: Yard, opened: Opened):
    await given_a_dead_letter(yard)
    await given_a_question(yard)
    offered: dict[Role, set[str]] = {}
    for role in (Role.VIEWER, Role.OPERATOR):
        async with opened(role) as seen:
            keys: set[str] = set()
            for place in "3456":
                await seen.press(place)
                keys |= seen.keys()
            await seen.press("5", "enter")
            offered[role] = keys | seen.keys()
            if role is Role.VIEWER:
                await seen.press("c", "u", "i")
                assert "task_id" in vars(seen.app.screen)  # still the task, and no form

    actions = {"Cancel", "Do again", "Priority", "Answer", "Decide", "Drain", "Resume"}
    assert offered[Role.OPERATOR] - offered[Role.VIEWER] == actions


async def test_a_yard_beyond_a_server_is_shown_alike(yard: Yard, opened: Opened):
    await given_a_dead_letter(yard, title="Draw the logo")
    async with beyond_a_server(yard) as remote, opened(on=remote) as seen:
        assert "1 dead letter" in await seen.press("5")
        assert "task.dead_lettered" in await seen.press("enter")
        await yard.enqueue("code", title="Behind the server")
        await seen.press("2")
        await seen.until(lambda shown: "Behind the server" in shown)


async def test_a_screen_that_is_left_while_it_is_read_ends_nothing(
    yard: Yard, opened: Opened, monkeypatch: pytest.MonkeyPatch
):
    await yard.enqueue("code", title="Write it")
    asked, go_on, why = asyncio.Event(), asyncio.Event(), yard.why

    async def slow_why(task_id: str) -> Any:
        asked.set()
        await go_on.wait()
        return await why(task_id)

    async with opened() as seen:
        await seen.press("2", "enter")
        left = seen.app.screen
        assert isinstance(left, TaskScreen)
        monkeypatch.setattr(left.yard, "why", slow_why)
        reading = asyncio.create_task(left.renew())
        await asked.wait()
        shown = await seen.press("escape")
        go_on.set()
        await reading

    assert "Write it" in shown
