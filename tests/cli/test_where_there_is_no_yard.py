"""A command that looks at a yard, or changes what is in one, makes none in a folder where there is no yard."""

from pathlib import Path
from typing import Any

import pytest

from taskyard.cli.invocation import FIRST
from tests.cli.conftest import Command
from tests.cli.test_every_command import COMMANDS

MAKES_NONE = {"mcp install", "skills install", "schema", "migrate plan", "migrate status"}  # and says so
NEEDED = {"dead resolve": ["x", "retry"], "inbox consume": ["x", "x"]}


def given(name: str, command: Any) -> list[str]:
    """Something for everything that the command cannot do without."""
    if name in NEEDED:
        return NEEDED[name]
    words: list[str] = []
    for each in command.params:
        if each.required:
            words += [*(each.opts[:1] if each.opts[0].startswith("-") else ()), "1"]
    return words


def test_every_command_that_may_be_the_first_is_a_command():
    assert FIRST - COMMANDS.keys() == set()


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - FIRST - MAKES_NONE))
def test_a_command_that_cannot_be_the_first_names_the_file_that_is_missing(
    name: str, taskyard: Command, tmp_path: Path
):
    said = taskyard(*name.split(), *given(name, COMMANDS[name]))

    assert said.status == 3
    assert f"there is no file {tmp_path / 'yard.db'}" in said.out
    assert "taskyard enqueue TYPE" in said.out
    assert list(tmp_path.iterdir()) == []


def test_a_relative_file_is_named_with_its_folder(taskyard: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TASKYARD_URL")

    assert f"there is no file {tmp_path / 'taskyard.db'}" in taskyard("ls").out


@pytest.mark.parametrize("words", [["enqueue", "code"], ["claim", "--agent", "me"], ["queues", "pause", "slow"]])
def test_a_command_that_may_be_the_first_makes_a_yard(words: list[str], taskyard: Command, tmp_path: Path):
    taskyard(*words)

    assert (tmp_path / "yard.db").exists()
    assert taskyard("ls").status == 0


def test_a_yard_that_is_no_file_is_not_looked_for(taskyard: Command):
    assert taskyard("--url", "memory://", "ls").status == 0
