"""What the server says of itself: which it is, and what of the acknowledged a crash of it may cost."""

from __future__ import annotations

from typing import NamedTuple

from taskyard.core.errors import StoreUnavailable
from taskyard.stores.redis.connection.protocol import Refusal
from taskyard.stores.redis.connection.server import Server

_MEANING = {
    "always": "what was acknowledged survives a crash",
    "everysec": "a crash costs up to 2 seconds of what was acknowledged",
    "no": "a crash of the machine may cost half a minute and more of what was acknowledged",
    "unknown": "when the file is flushed, this server does not tell",
}


class Durability(NamedTuple):
    appendonly: str  # yes or no
    appendfsync: str  # always, everysec, no; unknown where the server does not let us look
    aof_load_truncated: str  # yes: what a crash tore is repaired when the server starts (see `healing`)
    durability: str  # what a crash costs


async def info(server: Server) -> dict[str, str]:
    text: str = await server.ask("INFO")
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


async def durability(server: Server, info: dict[str, str]) -> Durability:
    if info["aof_enabled"] != "1":
        return Durability("no", "none", "no", "a crash costs everything since the last snapshot, if there is one")
    fsync = await _setting(server, "appendfsync")
    return Durability("yes", fsync, await _setting(server, "aof-load-truncated"), _MEANING[fsync])


async def _setting(server: Server, name: str) -> str:
    try:
        found: list[str] = await server.ask("CONFIG", "GET", name)
    except (StoreUnavailable, Refusal):
        return "unknown"  # one that others run for us
    return found[1] if found else "unknown"
