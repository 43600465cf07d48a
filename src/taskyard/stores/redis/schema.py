"""Making a name a yard, and looking whether the server is one that a yard can be kept on."""

from __future__ import annotations

import re
import secrets
from typing import NamedTuple

from taskyard.core.errors import StoreUnavailable
from taskyard.core.units import Micros
from taskyard.stores.redis.connection.durability import Durability, durability, info
from taskyard.stores.redis.connection.server import Server
from taskyard.stores.redis.format_migration import to_format_2
from taskyard.stores.redis.queries import Reader
from taskyard.stores.redis.scripts import WRITE
from taskyard.stores.shared.migrations import EMPTY, Migration, Schema, State

# What is stored has a format. A later release names another here, and what to do to get there.
_FORMATS = (
    Migration(Schema(1, 1, 1), "yard", ""),
    Migration(Schema(2, 2, 2), "packed", ""),
    Migration(Schema(3, 3, 3), "agent types", ""),
)
_STEPS = {2: to_format_2}  # format 3 has longer rows, and reads the shorter ones as they are
_OLDEST_SERVER = (6, 2)


class Founded(NamedTuple):
    secret: bytes
    told: Micros
    durability: Durability


async def prepare(server: Server, prefix: str, *, migrates: bool) -> Founded:
    """Refuse a server that would lose work; make the name a yard if it is none yet."""
    facts = await info(server)
    _refuse_old(facts)
    _refuse_evicting(facts)
    state = await schema(server, prefix)
    if not migrates:
        state.require_current()
    if state.stored == EMPTY:
        await server.run(WRITE, "found", *_FORMATS[-1].schema, secrets.token_hex(32), facts["run_id"], twice=True)
    else:
        await _bring_up(server, prefix, state)
    secret, told = await server.ask("HMGET", f"{prefix}meta", "secret", "told")
    return Founded(bytes.fromhex(secret), Micros(int(told or 0)), await durability(server, facts))


async def _bring_up(server: Server, prefix: str, state: State) -> None:
    for migration in state.outstanding():
        if (step := _STEPS.get(migration.schema.version)) is not None:
            await step(Reader(server, prefix))
        await server.run(WRITE, "reach", *migration.schema, twice=True)


async def schema(server: Server, prefix: str) -> State:
    stored = await server.ask("HMGET", f"{prefix}meta", *Schema._fields)
    return State(EMPTY if stored[0] is None else Schema(*map(int, stored)), _FORMATS)


def _refuse_old(facts: dict[str, str]) -> None:
    version = tuple(map(int, re.findall(r"\d+", facts["redis_version"])[:2]))
    if version < _OLDEST_SERVER:
        raise StoreUnavailable(
            f"Redis 6.2 or newer is needed, and this is {facts['redis_version']}: upgrade it, or use Valkey"
        )


def _refuse_evicting(facts: dict[str, str]) -> None:
    """Whatever the limit is now: it may be set at any time, and then live tasks would vanish without an error."""
    policy = facts["maxmemory_policy"]
    if policy != "noeviction":
        raise StoreUnavailable(
            f"this server may throw live tasks away (maxmemory-policy {policy}); keep it from that with"
            " CONFIG SET maxmemory-policy noeviction, and in its configuration file"
        )
