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
        secret, last = await connection.execute("HMGET", f"{prefix}meta", "secret", "run_id")
        if secret is None:
            return  # the yard does not exist yet
        facts: str = await connection.execute("INFO", "server")
        run_id = facts.partition("run_id:")[2].partition("\r")[0]
        if last != run_id:
            await _rewrite(connection)
            await connection.execute("HSET", f"{prefix}meta", "run_id", run_id)


async def _rewrite(connection: RedisConnection) -> None:
    persistence: str = await connection.execute("INFO", "persistence")
    if "aof_enabled:1" in persistence and "aof_rewrite_in_progress:1" not in persistence:
        await connection.execute("BGREWRITEAOF")
