"""How long a call waits is one setting: of the file, the environment and the program, for a SQLite file too."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import apsw
import pytest

from taskyard.app import DEFAULT_URL
from tests.cli.conftest import Command

SHORT = "0.5"
MUCH_LONGER = 8.0  # than that, and still shorter than the default


@pytest.fixture
def locked(taskyard: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A yard whose file another program keeps locked."""
    monkeypatch.delenv("TASKYARD_URL", raising=False)
    taskyard("enqueue", "first")
    with closing(apsw.Connection(DEFAULT_URL.removeprefix("sqlite:///"))) as other:
        other.execute("begin immediate")
        yield


@pytest.mark.usefixtures("locked")
def test_the_file_says_how_long_a_lock_is_waited_for(taskyard: Command) -> None:
    Path("taskyard.toml").write_text(f"call_timeout_sec = {SHORT}\n")
    since = monotonic()

    refused = taskyard("enqueue", "second")

    assert "locked" in refused.out
    assert monotonic() - since < MUCH_LONGER


@pytest.mark.usefixtures("locked")
def test_the_environment_says_it_too(taskyard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKYARD_CALL_TIMEOUT_SEC", SHORT)
    since = monotonic()

    assert "locked" in taskyard("enqueue", "second").out
    assert monotonic() - since < MUCH_LONGER


@pytest.mark.parametrize("given", ['"soon"', "true", "[1]", "0", "-1", "601"])
def test_what_is_no_time_is_refused(taskyard: Command, given: str) -> None:
    Path("taskyard.toml").write_text(f"call_timeout_sec = {given}\n")

    refused = taskyard("ls")

    assert refused.status != 0
    assert "call_timeout_sec" in refused.out
