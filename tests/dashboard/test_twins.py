"""Every panel and every action shows a command that there is, and a call that there is."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect
from typer.main import get_command

from taskyard.api import calls
from taskyard.api.calls import Call
from taskyard.cli.main import app
from taskyard.sync import SyncYard
from tests.dashboard.browsing import HttpCall, Visit, call_in, call_of
from tests.dashboard.scenes import given_a_scene
from tests.dashboard.survey import Found

CALLS = [each for each in vars(calls).values() if isinstance(each, Call)]


def test_every_panel_of_every_page_has_a_twin_that_there_is(english_pages: dict[str, Found]):
    wrong: dict[str, object] = {}
    for path, page in english_pages.items():
        unreal = [text for shown in page.twins for text in _unreal(*shown)]
        if page.without_twin or unreal:
            wrong[path] = (page.without_twin, unreal)

    assert wrong == {}
    assert any(page.twins for page in english_pages.values())


def test_an_action_shows_the_call_that_it_makes_and_makes_none_before(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    sent: list[HttpCall] = []
    visit.open(f"/tasks/{scene.waiting}", "Waiting one")
    visit.listen("request", lambda request: sent.append(call_of(request)) if request.method != "GET" else None)

    visit.button("Priority").click()
    visit.dialog.get_by_label("Priority, lower goes first").fill("7")
    shown = visit.dialog.locator(".deed-call[aria-busy=false] code")
    path = f"/api/tasks/{scene.waiting}/priority"
    expect(shown).to_contain_text(json.dumps({"priority": 7}, separators=(",", ":")))

    assert call_in(shown.inner_text()) == HttpCall("POST", path, {"priority": 7})
    assert is_call(shown.inner_text())
    assert sent == []
    visit.confirm("Move it")
    assert sent == [HttpCall("POST", path, {"priority": 7})]


def _unreal(*shown: str) -> Iterator[str]:
    """What a twin shows and is no command or no call."""
    *commands, call = shown
    yield from (text for text in commands if not is_command(text))
    yield from ([] if is_call(call) else [call])


def is_command(text: str) -> bool:
    """Whether the command line takes it: each word a command, then only options that it has."""
    program, *words = shlex.split(text)
    command = get_command(app)
    while words and (found := getattr(command, "commands", {}).get(words[0])) is not None:
        command, words = found, words[1:]
    if program != "taskyard" or (
        hasattr(command, "commands") and not getattr(command, "invoke_without_command", False)
    ):
        return False
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    return all(word in known for word in words if word.startswith("--"))


def is_call(text: str) -> bool:
    """Whether the table of calls has it, by its method and path."""
    program, *words = shlex.split(text)
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    path = urlsplit(words[-1]).path
    return program == "curl" and any(
        each.method == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each.path), path) for each in CALLS
    )


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("taskyard ls --status ready", True),
        ("taskyard dead resolve task_1 retry --reason 'as it is'", True),
        ("taskyard agents", True),
        ("taskyard dead", False),
        ("taskyard ls --colour", False),
        ("taskyard fly", False),
        ("ls", False),
    ],
)
def test_a_command_is_one_that_the_command_line_takes(text: str, is_one: bool):
    assert is_command(text) is is_one


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("curl http://127.0.0.1/api/tasks?status=ready", True),
        ("curl -X POST http://127.0.0.1/api/tasks/task_1/cancel", True),
        ("curl -X DELETE http://127.0.0.1/api/tasks/task_1", False),
        ("curl http://127.0.0.1/api/nothing", False),
    ],
)
def test_a_call_is_one_that_the_table_of_calls_has(text: str, is_one: bool):
    assert is_call(text) is is_one
