"""The stored format of a yard: creating it, migrating it, and checking that the server can hold a yard."""

from __future__ import annotations

import re
import secrets
from typing import NamedTuple

from taskyard.core.errors import StoreUnavailable
from taskyard.core.units import Micros
from taskyard.stores.redis.connection.durability import Durability, read_durability, read_info
from taskyard.stores.redis.connection.server import RedisServer
from taskyard.stores.redis.format_migration import fence, to_format_2, to_format_4
from taskyard.stores.redis.queries import RedisReader
from taskyard.stores.redis.scripts import WRITE
from taskyard.stores.shared.migrations import EMPTY, Migration, Schema, State

# The stored formats. A release that changes the format adds an entry here, and a step to reach it.
_FORMATS = (
    Migration(Schema(1, 1, 1), "yard", ""),
    Migration(Schema(2, 2, 2), "packed", ""),
    Migration(Schema(3, 3, 3), "agent types", ""),
    Migration(Schema(4, 4, 4), "narrow rows", ""),
    Migration(Schema(5, 4, 4), "cached tokens", ""),  # a longer row in `held`: older releases leave its end alone
)
_STEPS = {2: to_format_2, 4: to_format_4}  # format 3 had longer rows
_OLDEST_SERVER = (6, 2)


class OpenedYard(NamedTuple):
    secret: bytes
    last_time: Micros
    durability: Durability


async def prepare(server: RedisServer, prefix: str, *, migrates: bool, all_stopped: bool = False) -> OpenedYard:
    """Refuse a server that would lose tasks, migrate the yard, and create it if it does not exist."""
    facts = await read_info(server)
    _refuse_old(facts)
    _refuse_evicting(facts)
    state = await read_state(server, prefix)
    state.require_permitted(migrates=migrates, all_stopped=all_stopped)
    if state.stored == EMPTY:
        await server.run(WRITE, "found", *_FORMATS[-1].schema, secrets.token_hex(32), facts["run_id"], idempotent=True)
    else:
        await _migrate(server, prefix, state)
    secret, last_time = await server.execute("HMGET", f"{prefix}state", "secret", "told")
    return OpenedYard(bytes.fromhex(secret), Micros(int(last_time or 0)), await read_durability(server, facts))


async def _migrate(server: RedisServer, prefix: str, state: State) -> None:
    if state.outstanding():
        await fence(RedisReader(server, prefix))
    for migration in state.outstanding():
        if (step := _STEPS.get(migration.schema.version)) is not None:
            await step(RedisReader(server, prefix))
        await server.run(WRITE, "reach", *migration.schema, idempotent=True)


async def read_state(server: RedisServer, prefix: str) -> State:
    stored = await server.execute("HMGET", f"{prefix}state", *Schema._fields)
    if stored[0] is None and await server.execute("TYPE", f"{prefix}meta") == "hash":
        stored = await server.execute("HMGET", f"{prefix}meta", *Schema._fields)  # of release 0.1.0
    return State(EMPTY if stored[0] is None else Schema(*map(int, stored)), _FORMATS)


def _refuse_old(facts: dict[str, str]) -> None:
    version = tuple(map(int, re.findall(r"\d+", facts["redis_version"])[:2]))
    if version < _OLDEST_SERVER:
        raise StoreUnavailable(
            f"Redis 6.2 or newer is needed, and this is {facts['redis_version']}: upgrade it, or use Valkey"
        )


def _refuse_evicting(facts: dict[str, str]) -> None:
    """Refuse eviction even without a memory limit: with a limit set later, Redis would silently drop live tasks."""
    policy = facts["maxmemory_policy"]
    if policy != "noeviction":
        raise StoreUnavailable(
            f"this server may throw live tasks away (maxmemory-policy {policy}); keep it from that with"
            " CONFIG SET maxmemory-policy noeviction, and in its configuration file"
        )
