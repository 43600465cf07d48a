"""Bringing a yard of an older release to the format of this one.

Every step is small, looks at one moment and may be done twice, so that several processes may do it at once, and one may
go on where another was killed. Only when all is done, the yard is said to have the format. Processes of a release that
the format is too new for must have ended by then: what they write, nobody understands.
"""

from __future__ import annotations

from collections.abc import Sequence

from taskyard.core.identifiers import is_signal
from taskyard.stores.redis.queries import Reader
from taskyard.stores.redis.scripts import MIGRATE

_PAGE = 500


async def to_format_2(reader: Reader) -> None:
    """Tasks are packed, and lists are kept of the ids of records and of the signals that are waited for."""
    cursor = "0"
    while True:
        cursor, keys = await reader.scan(cursor)
        await _step(reader, "pack", [key.removeprefix("task:") for key in keys if key.startswith("task:")])
        for key in keys:
            kind, _, name = key.partition(":")
            if kind == "records" and name:
                await _list(reader, "list_records", name, key, "HSCAN")
            elif kind == "blocking" and is_signal(name):
                await _list(reader, "list_awaited", name, key, "ZSCAN")
        if cursor == "0":
            return


async def _list(reader: Reader, step: str, name: str, key: str, scan: str) -> None:
    """What a hash or a sorted set has, a page at a time."""
    cursor = "0"
    while True:
        cursor, flat = await reader.ask(scan, key, cursor, "COUNT", _PAGE)
        await _step(reader, step, flat[::2], about=name)
        if cursor == "0":
            return


async def _step(reader: Reader, step: str, what: Sequence[str], *, about: str | None = None) -> None:
    if what:
        first = () if about is None else (about,)
        await reader.server.run(MIGRATE, step, *first, len(what), *what, twice=True)
