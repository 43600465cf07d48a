"""Removes what a crash may leave in a server's append-only file.

Redis writes the effects of a script between MULTI and EXEC. A server that was killed in between truncates the file when
it restarts, but only to the last complete command: a MULTI without EXEC stays, and later writes are appended to it. The
next load of the file then executes the incomplete transaction together with the later writes (seen on Redis 6.2 and
7.0), and tasks that were refused or never acknowledged would appear. A process that finds a yard on a restarted server
therefore lets the server rewrite its file from memory.
"""

from __future__ import annotations

from contextlib import suppress

from taskyard.stores.redis.connection.protocol import ErrorReply, RedisConnection


async def repair_aof(connection: RedisConnection, prefix: str) -> None:
    """Rewrite the file if the server was restarted since the yard was last opened. Without permission, do nothing."""
    with suppress(ErrorReply):
        for key in (f"{prefix}state", f"{prefix}meta"):  # `meta` is a hash in a yard of release 0.1.0 alone
            secret, last = await connection.execute("HMGET", key, "secret", "run_id")
            if secret is not None:
                await _rewrite_if_restarted(connection, key, last)
                return


async def _rewrite_if_restarted(connection: RedisConnection, key: str, last: str | None) -> None:
    facts: str = await connection.execute("INFO", "server")
    run_id = facts.partition("run_id:")[2].partition("\r")[0]
    if last != run_id:
        await _rewrite(connection)
        await connection.execute("HSET", key, "run_id", run_id)


async def _rewrite(connection: RedisConnection) -> None:
    persistence: str = await connection.execute("INFO", "persistence")
    if "aof_enabled:1" in persistence and "aof_rewrite_in_progress:1" not in persistence:
        await connection.execute("BGREWRITEAOF")
