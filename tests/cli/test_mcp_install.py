"""`taskyard mcp install`: shown first, written when asked for, never over what is there."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from taskyard.cli.client_files import CLIENTS
from tests.cli.conftest import Command


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return tmp_path / "home"


def entry_in(path: Path) -> dict[str, Any]:
    read: Any = tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())
    (servers,) = (read[name] for name in ("mcpServers", "servers", "mcp_servers") if name in read)
    return servers["taskyard"]


@pytest.mark.parametrize("client", CLIENTS)
def test_an_entry_is_shown_first_and_written_when_asked_for(taskyard: Command, client: str, url: str):
    path = CLIENTS[client].path()
    shown = taskyard("mcp", "install", client, "--role", "worker")
    existed = path.exists()
    written = taskyard("mcp", "install", client, "--role", "worker", "--agent", "coder-1", "--write")

    assert (shown.status, written.status, existed) == (0, 0, False)
    assert str(path) in shown.out
    assert "mcp" in shown.out
    entry = entry_in(path)
    assert entry["args"][-5:] == ["mcp", "--role", "worker", "--agent", "coder-1"]
    assert entry["env"] == {"TASKYARD_URL": url}
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_in_the_file_stays_as_it_is(taskyard: Command, client: str):
    path = CLIENTS[client].path()
    path.parent.mkdir(parents=True, exist_ok=True)
    before = 'model = "x"\n[mcp_servers.other]\ncommand = "o"' if path.suffix == ".toml" else '{"a": {"b": [1, "ü"]}}'
    path.write_text(before)
    first = taskyard("mcp", "install", client, "--write")
    after = path.read_text()
    again = taskyard("mcp", "install", client, "--role", "worker", "--write")

    read: Any = tomllib.loads(after) if path.suffix == ".toml" else json.loads(after)
    assert first.status == 0
    assert read["model" if path.suffix == ".toml" else "a"] == ("x" if path.suffix == ".toml" else {"b": [1, "ü"]})
    assert again.status == 2
    assert "left as it is" in again.out
    assert path.read_text() == after


@pytest.mark.parametrize("text", ["{", '{"mcpServers": []}', "[]", '{"mcpServers": {"taskyard": {}}}'])
def test_a_file_that_is_not_understood_is_not_touched(taskyard: Command, text: str):
    path = CLIENTS["cursor"].path()
    path.parent.mkdir(parents=True)
    path.write_text(text)

    assert taskyard("mcp", "install", "cursor", "--write").status == 2
    assert path.read_text() == text


def test_a_password_goes_into_no_file(taskyard: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    held = tmp_path / "url"
    held.write_text("postgresql://me:secret@db/yard")
    monkeypatch.setenv("TASKYARD_URL", "postgresql://me:secret@db/yard")
    refused = taskyard("mcp", "install", "cursor", "--write")
    monkeypatch.delenv("TASKYARD_URL")
    monkeypatch.setenv("TASKYARD_URL_FILE", str(held))
    written = taskyard("mcp", "install", "cursor", "--write")

    assert (refused.status, written.status) == (2, 0)
    assert "secret" not in refused.out + written.out + CLIENTS["cursor"].path().read_text()
    assert entry_in(CLIENTS["cursor"].path())["env"] == {"TASKYARD_URL_FILE": str(held)}


def test_a_client_that_is_not_known_is_refused(taskyard: Command):
    assert taskyard("mcp", "install", "emacs").status == 2
    assert taskyard("mcp", "install", "cursor", "--role", "king").status == 2
