"""Migrates a yard of an older release to the format of this release.

Every step is small, atomic and idempotent, so that several processes can migrate at once, and one can go on where
another was killed. The yard gets the new format's number only after the last step. Processes of a release that does not
know the new format must have ended by then: no release can read what they would write.
"""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.identifiers import is_signal
from taskyard.stores.redis.queries import RedisReader
from taskyard.stores.redis.scripts import MIGRATE

_PAGE = 500


async def fence(reader: RedisReader) -> None:
    """Keep processes of release 0.1.0 from writing: this migration cannot be done while they work."""
    await reader.server.run(MIGRATE, "fence", idempotent=True)


async def to_format_4(reader: RedisReader) -> None:
    """Write narrow rows, names by their kind, and the events of each block as one entry."""
    cursor = "0"
    while True:
        cursor, keys = await reader.scan(cursor)
        await _step(reader, "tasks", [key.removeprefix("task:") for key in keys if key.startswith("task:")])
        for key in keys:
            kind, _, name = key.partition(":")
            if kind == "dag-events":
                await reader.server.run(MIGRATE, "dag_events", name, idempotent=True)
            elif kind == "keys":
                await _move_names(reader, name)
            elif kind == "events":
                while await reader.server.run(MIGRATE, "events", name, idempotent=True):
                    pass
        if cursor == "0":
            return


async def _move_names(reader: RedisReader, workspace: str) -> None:
    cursor = "0"
    while True:
        cursor, flat = await reader.execute("HSCAN", f"keys:{workspace}", cursor, "COUNT", _PAGE)
        await _step(reader, "names", flat, about=workspace)
        if cursor == "0":
            return


async def to_format_2(reader: RedisReader) -> None:
    """Index the ids of records and the awaited signals."""
    cursor = "0"
    while True:
        cursor, keys = await reader.scan(cursor)
        for key in keys:
            kind, _, name = key.partition(":")
            if kind == "records" and name:
                await _list(reader, "list_records", name, key, "HSCAN")
            elif kind == "blocking" and is_signal(name):
                await _list(reader, "list_awaited", name, key, "ZSCAN")
        if cursor == "0":
            return


async def _list(reader: RedisReader, step: str, name: str, key: str, scan: str) -> None:
    """Index the members of a hash or a sorted set, page by page."""
    cursor = "0"
    while True:
        cursor, flat = await reader.execute(scan, key, cursor, "COUNT", _PAGE)
        await _step(reader, step, flat[::2], about=name)
        if cursor == "0":
            return


async def _step(reader: RedisReader, step: str, what: Sequence[str], *, about: str | None = None) -> None:
    if what:
        first = () if about is None else (about,)
        await reader.server.run(MIGRATE, step, *first, len(what), *what, idempotent=True)
