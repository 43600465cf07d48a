"""The server's settings of durability: which acknowledged writes a crash may lose."""

from __future__ import annotations

from typing import NamedTuple

from taskyard.core.errors import StoreUnavailable
from taskyard.stores.redis.connection.protocol import ErrorReply
from taskyard.stores.redis.connection.server import RedisServer

_MEANING = {
    "always": "what was acknowledged survives a crash",
    "everysec": "a crash costs up to 2 seconds of what was acknowledged",
    "no": "a crash of the machine may cost half a minute and more of what was acknowledged",
    "unknown": "when the file is flushed, this server does not tell",
}


class Durability(NamedTuple):
    appendonly: str  # yes or no
    appendfsync: str  # always, everysec, no; unknown if the server does not permit CONFIG GET
    aof_load_truncated: str  # yes: the server truncates a torn file when it starts (see `aof_repair`)
    durability: str  # what a crash loses, as a sentence


async def read_info(server: RedisServer) -> dict[str, str]:
    text: str = await server.execute("INFO")
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


async def read_durability(server: RedisServer, info: dict[str, str]) -> Durability:
    if info["aof_enabled"] != "1":
        return Durability("no", "none", "no", "a crash costs everything since the last snapshot, if there is one")
    fsync = await _setting(server, "appendfsync")
    return Durability("yes", fsync, await _setting(server, "aof-load-truncated"), _MEANING[fsync])


async def _setting(server: RedisServer, name: str) -> str:
    try:
        found: list[str] = await server.execute("CONFIG", "GET", name)
    except (StoreUnavailable, ErrorReply):
        return "unknown"  # a managed server
    return found[1] if found else "unknown"
