"""The command line on a yard in a folder of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from taskyard.cli.main import app
from taskyard.core.errors import TaskyardError


class Said(NamedTuple):
    status: int
    out: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Said]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'yard.db'}"


@pytest.fixture
def taskyard(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command as the program would, without the cost of a process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TASKYARD_URL", url)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*words: str, stdin: str | None = None) -> Said:
        result = CliRunner().invoke(app, list(words), input=stdin)
        if isinstance(result.exception, TaskyardError):
            return Said(result.exception.exit_status, str(result.exception))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Said(result.exit_code, result.stdout)

    return run
