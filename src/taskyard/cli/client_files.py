"""The configuration files of common MCP clients, and the entry that each needs to start `taskyard mcp`.

An entry that is there is never changed, and nothing else in a file is touched: JSON files are written again with their
other members as they were, TOML files get the entry at their end.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import is_object
from taskyard.visible_text import visible

NAME = "taskyard"


class ClientFile(NamedTuple):
    """Where a client looks for its servers."""

    title: str
    path: Callable[[], Path]
    members: tuple[str, ...]  # the path in the file to the object of all servers
    more: Mapping[str, str] = {}  # what an entry says beside the command

    @property
    def is_toml(self) -> bool:
        return self.path().suffix == ".toml"


class ServerEntry(NamedTuple):
    """How the client is to start the server."""

    command: str
    args: list[str]
    env: dict[str, str]

    def members(self, more: Mapping[str, str]) -> dict[str, Any]:
        return {**more, "command": self.command, "args": self.args, **({"env": self.env} if self.env else {})}


def _home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _here(*parts: str) -> Callable[[], Path]:
    return lambda: Path.cwd().joinpath(*parts)


def _claude_desktop() -> Path:
    file = "claude_desktop_config.json"
    match sys.platform:
        case "darwin":
            return Path.home() / "Library" / "Application Support" / "Claude" / file
        case "win32":
            return Path(os.environ.get("APPDATA", str(Path.home()))) / "Claude" / file
        case _:
            return Path(os.environ.get("XDG_CONFIG_HOME", str(Path.home() / ".config"))) / "Claude" / file


CLIENTS: dict[str, ClientFile] = {
    "claude-code": ClientFile("Claude Code, in this folder", _here(".mcp.json"), ("mcpServers",), {"type": "stdio"}),
    "claude-desktop": ClientFile("Claude Desktop", _claude_desktop, ("mcpServers",)),
    "cursor": ClientFile("Cursor", _home(".cursor", "mcp.json"), ("mcpServers",)),
    "vscode": ClientFile("VS Code, in this folder", _here(".vscode", "mcp.json"), ("servers",), {"type": "stdio"}),
    "windsurf": ClientFile("Windsurf", _home(".codeium", "windsurf", "mcp_config.json"), ("mcpServers",)),
    "gemini": ClientFile("Gemini CLI", _home(".gemini", "settings.json"), ("mcpServers",)),
    "codex": ClientFile("Codex", _home(".codex", "config.toml"), ("mcp_servers",)),
}


def client_file(name: str) -> ClientFile:
    if name not in CLIENTS:
        raise InvalidInput("CLIENT", f"must be one of {', '.join(CLIENTS)}")
    return CLIENTS[name]


def addition(client: ClientFile, entry: ServerEntry) -> str:
    """What the file gets: the entry alone, as the client reads it."""
    if client.is_toml:
        return _toml(entry)
    shown: Any = {NAME: entry.members(client.more)}
    for member in reversed(client.members):
        shown = {member: shown}
    return json.dumps(shown, indent=2, ensure_ascii=False)


def write(client: ClientFile, entry: ServerEntry) -> None:
    """Put the entry into the file, which is made where there is none. The old file is replaced in one step."""
    path = client.path()
    before = _text(path)
    after = _with_toml(before, client, entry) if client.is_toml else _with_json(before, client, entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}.taskyard")
    made.write_text(after, encoding="utf-8")
    made.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o600)  # it may hold a token
    made.replace(path)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("CLIENT", f"has a file that cannot be read: {visible(str(error))}") from None


def _with_json(text: str, client: ClientFile, entry: ServerEntry) -> str:
    try:
        whole: Any = json.loads(text or "{}")
    except ValueError as error:
        raise _unread(client, error) from None
    servers: Any = whole
    for member in client.members:
        servers = _object(servers, client).setdefault(member, {})
    servers = _object(servers, client)
    _refuse_taken(servers, client)
    servers[NAME] = entry.members(client.more)
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _with_toml(text: str, client: ClientFile, entry: ServerEntry) -> str:
    try:
        whole: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unread(client, error) from None
    for member in client.members:
        whole = _object(whole, client).get(member, {})
    _refuse_taken(_object(whole, client), client)
    before = text if not text or text.endswith("\n") else text + "\n"
    return f"{before}\n{_toml(entry)}\n" if before else f"{_toml(entry)}\n"


def _toml(entry: ServerEntry) -> str:
    lines = [f"[mcp_servers.{NAME}]", f"command = {json.dumps(entry.command)}", f"args = {json.dumps(entry.args)}"]
    if entry.env:
        lines += [
            "",
            f"[mcp_servers.{NAME}.env]",
            *(f"{name} = {json.dumps(text)}" for name, text in entry.env.items()),
        ]
    return "\n".join(lines)


def _object(value: object, client: ClientFile) -> dict[str, Any]:
    if not is_object(value):
        raise InvalidInput("CLIENT", f"has a file of another shape: {client.path()}")
    return value


def _refuse_taken(servers: Mapping[str, Any], client: ClientFile) -> None:
    if NAME in servers:
        raise InvalidInput("CLIENT", f"has an entry {NAME!r} already, which is left as it is: {client.path()}")


def _unread(client: ClientFile, error: Exception) -> InvalidInput:
    return InvalidInput("CLIENT", f"has a file that cannot be read: {client.path()}: {visible(str(error))}")
