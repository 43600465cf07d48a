"""What holds for every command: JSON for programs and help for people."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import typer

from taskyard.app import connect
from taskyard.cli.main import app
from tests.cli.conftest import Command
from tests.remote import served_beside

WITHOUT_JSON = {
    "schema": "prints JSON as it is",
    "watch": "draws on a terminal until it is ended",
    "triggers listen": "stays until it is ended, and logs; see --log-format",
    "triggers watch": "stays until it is ended, and logs; see --log-format",
    "work": "stays until it is ended, and logs; see --log-format",
    "serve": "stays until it is ended, and logs; see --log-format",
    "demo": "draws on a terminal",
    "tui": "draws on a terminal",
}


def commands(group: Any, *path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *path, name)
        else:
            yield " ".join([*path, name]), command


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_every_command_prints_json_for_programs_or_says_why_not():
    without = {name for name, command in COMMANDS.items() if all("--json" not in each.opts for each in command.params)}

    assert without == WITHOUT_JSON.keys()


def test_every_parameter_has_help():
    bare = [
        f"{name}: {each.name}"
        for name, command in COMMANDS.items()
        for each in command.params
        if not getattr(each, "help", None)
    ]

    assert bare == []


def test_agents_alone_lists_them(taskyard: Command):
    taskyard("claim", "--agent", "coder")

    assert "coder" in taskyard("agents").out
    assert [each["id"] for each in taskyard("agents", "--json").json] == ["coder"]


def test_agents_are_listed_to_programs_as_the_server_lists_them(
    taskyard: Command, url: str, monkeypatch: pytest.MonkeyPatch
):
    taskyard("token", "create", "t", "--role", "agent", "--agent", "coder", "--slots", "4", "--budget", "2")
    taskyard("claim", "--agent", "coder", "--capability", "git")
    taskyard("agents", "budget", "coder", "1.50", "--per", "day")
    admin = taskyard("token", "create", "a", "--role", "admin", "--json").json["token"]

    with served_beside(connect(url)) as address:
        answer = httpx.get(f"{address}/api/agents", headers={"authorization": f"Bearer {admin}"})
        (served,) = answer.json()["agents"]
        (shown,) = taskyard("agents", "ls", "--json").json
        monkeypatch.setenv("TASKYARD_TOKEN", admin)
        (beyond,) = taskyard("--url", address, "agents", "ls", "--json").json

    assert shown == served == beyond
    assert (shown["capabilities"], shown["budget_usd"], shown["budget_per"]) == (["git"], "1.5", "day")


@pytest.mark.parametrize(("said", "slots"), [((), 10), (("--slots", "3"), 3), (("--slots", "unlimited"), None)])
def test_slots_are_granted_by_number_or_without_limit(taskyard: Command, said: tuple[str, ...], slots: int | None):
    taskyard("token", "create", "t", "--role", "agent", "--agent", "coder", *said)

    assert taskyard("token", "grant", "coder", *said, "--json").json["slots"] == slots
    assert "slots" in taskyard("token", "grant", "coder", "--slots", "lots").out


def test_what_has_no_answer_says_so_to_programs(taskyard: Command):
    assert taskyard("queues", "pause", "slow", "--json").json == {"ok": True}
    assert taskyard("queues", "resume", "slow").out == ""


def test_a_batch_is_consumed_with_the_options_it_was_taken_with(taskyard: Command):
    taskyard("inbox", "enqueue", "planner", "hello", "-c", "c1")
    batch = taskyard("inbox", "dequeue", "planner", "-c", "c1", "--json").json["batch"]["batch_id"]

    assert taskyard("inbox", "consume", "planner", batch, "-c", "c1", "--json").json == {"ok": True}


def test_a_server_that_cannot_be_reached_is_named(taskyard: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TASKYARD_CALL_TIMEOUT_SEC", "1")
    said = taskyard("--url", "http://127.0.0.1:1", "ls")

    assert said.status == 6
    assert "http://127.0.0.1:1" in said.out
