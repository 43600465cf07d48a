"""What holds for every command: JSON for programs and help for people."""

from collections.abc import Iterator
from typing import Any

import typer

from taskyard.cli.main import app
from tests.cli.conftest import Command

WITHOUT_JSON = {
    "schema": "prints JSON as it is",
    "watch": "draws on a terminal until it is ended",
    "triggers watch": "stays until it is ended, and logs; see --log-format",
    "work": "stays until it is ended, and logs; see --log-format",
    "serve": "stays until it is ended, and logs; see --log-format",
    "demo": "draws on a terminal",
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


def test_what_has_no_answer_says_so_to_programs(taskyard: Command):
    assert taskyard("queues", "pause", "slow", "--json").json == {"ok": True}
    assert taskyard("queues", "resume", "slow").out == ""


def test_a_batch_is_consumed_with_the_options_it_was_taken_with(taskyard: Command):
    taskyard("inbox", "enqueue", "planner", "hello", "-c", "c1")
    batch = taskyard("inbox", "dequeue", "planner", "-c", "c1", "--json").json["batch"]["batch_id"]

    assert taskyard("inbox", "consume", "planner", batch, "-c", "c1", "--json").json == {"ok": True}


def test_a_server_that_cannot_be_reached_is_named(taskyard: Command):
    said = taskyard("--url", "http://127.0.0.1:1", "ls")

    assert said.status == 6
    assert "http://127.0.0.1:1" in said.out
