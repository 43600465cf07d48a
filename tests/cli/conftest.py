"""The command line on a yard in a folder of its own."""

import json
import logging
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from taskyard.cli.main import app
from taskyard.cli.terminal import Terminal
from taskyard.core.errors import TaskyardError


class Printed(NamedTuple):
    status: int
    out: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Printed]
built = cache(get_command)  # to build every command takes longer than most of them do


def given_an_empty_yard(taskyard: Command) -> None:
    """Commands that only look do not make one."""
    taskyard("migrate", "apply")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'yard.db'}"


@pytest.fixture(autouse=True)
def logs_as_before() -> Generator[None]:
    """A command that logs does so for its whole process, which is the tests' here."""
    root, own = logging.getLogger(), logging.getLogger("taskyard")
    handlers, levels = root.handlers[:], (root.level, own.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    own.setLevel(levels[1])


@pytest.fixture
def taskyard(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command as the program would, without the cost of a process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TASKYARD_URL", url)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("typer.testing._get_command", built)

    def run(*words: str, stdin: str | None = None) -> Printed:
        result = CliRunner().invoke(app, list(words), input=stdin)
        if isinstance(result.exception, TaskyardError):
            return Printed(result.exception.exit_status, str(result.exception))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Printed(result.exit_code, result.stdout)

    return run


@pytest.fixture
def screen(taskyard: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The same, as on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("taskyard.cli.invocation.console_for_people", lambda: Terminal(width=80, force_terminal=False))
    return taskyard
