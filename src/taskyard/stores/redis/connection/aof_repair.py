"""What a crash may leave in a server's append-only file, and how it is got rid of.

What a script writes stands in the file between MULTI and EXEC. A server that was killed in the middle of that drops the
torn end when it starts again, but only back to the last whole command: a MULTI without its EXEC stays, and what comes
later is appended to it. So it is not carried out now, but when the file is loaded the next time, together with whatever
was written since (seen on Redis 6.2 and 7.0). Work that was refused, or never acknowledged, would come to life then.
Therefore, when a yard is met on a server that was started anew, its file is written anew, from what is in memory.
"""

from __future__ import annotations

from contextlib import suppress

from taskyard.stores.redis.connection.protocol import Connection, Refusal


async def heal(connection: Connection, prefix: str) -> None:
    """Where the server is not the one that the yard was last met on. Whoever may not do this leaves it to others."""
    with suppress(Refusal):
        secret, last = await connection.ask("HMGET", f"{prefix}meta", "secret", "run_id")
        if secret is None:
            return  # there is no yard yet
        facts: str = await connection.ask("INFO", "server")
        run_id = facts.partition("run_id:")[2].partition("\r")[0]
        if last != run_id:
            await _rewrite(connection)
            await connection.ask("HSET", f"{prefix}meta", "run_id", run_id)


async def _rewrite(connection: Connection) -> None:
    persistence: str = await connection.ask("INFO", "persistence")
    if "aof_enabled:1" in persistence and "aof_rewrite_in_progress:1" not in persistence:
        await connection.ask("BGREWRITEAOF")
