"""Looking through every key of a yard for what it does not account for.

The yard may be at work meanwhile: whatever looks wrong is looked at again, in one moment, before it is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TypeVar

from taskyard.stores.redis.encoding import NONE
from taskyard.stores.redis.queries import Reader

Value = TypeVar("Value")
_PAGE = 500
_SINGLE = frozenset(
    {
        *("meta", "numbers", "changed", "workspaces", "records", "epochs", "pulses", "duties", "pruned", "outbox"),
        *("lane-ids", "awaited", "due", "drifting", "held-agents", "held-runtimes", "final", "dead"),
    }
)
_PLACES = frozenset({"due", "drifting", "held-agents", "held-runtimes", "final", "dead", "ready", "index", "dag"})
_LONE = frozenset(
    {"papers", "blockers", "blocking", "records", "record-ids", "events", "dag-events", "outbox", "wake", "ready"}
)
_KINDS = _PLACES | _LONE | {"task", "types", "keys", "limits", "counts", "lanes"}


async def checks(reader: Reader) -> list[str]:
    keys = [key async for key in _keys(reader)]
    stands, missing = await _tasks(reader, [key.partition(":")[2] for key in keys if _kind(key) == "task"])
    problems = [f"{_shown(key)} is no key of a yard" for key in keys if not _is_known(key)]
    problems += missing
    for key in keys:
        if key in _PLACES or _kind(key) in _PLACES:
            problems += await _strays(reader, key, stands[key])
        elif _kind(key) == "keys":
            problems += await _stray_keys(reader, key, stands[key])
    for page in _pages([key for key in keys if _kind(key) in _LONE]):
        problems += [f"{_shown(key)} belongs to nothing" for key in await reader.check("lone", *page)]
    return problems


async def _keys(reader: Reader) -> AsyncIterator[str]:
    """All that begin as the yard's do, without that. One may come twice."""
    cursor, seen = "0", set[str]()
    while True:
        cursor, found = await reader.scan(cursor)
        for key in found:
            if key not in seen:
                seen.add(key)
                yield key
        if cursor == "0":
            return


async def _tasks(reader: Reader, task_ids: Sequence[str]) -> tuple[Counter[str], list[str]]:
    """How many tasks stand in each sorted set; and which do not stand where they should."""
    stands, missing = Counter[str](), list[str]()
    for page in _pages(task_ids):
        for task_id, (where, nowhere) in zip(page, await reader.check("tasks", *page), strict=True):
            stands.update(where)
            missing += [f"{task_id} is not in {_shown(name)}" for name in nowhere]
    return stands, missing


async def _strays(reader: Reader, key: str, expected: int) -> list[str]:
    if await reader.ask("ZCARD", key) == expected:
        return []
    members = await reader.ask("ZRANGE", key, 0, -1)
    found = [await reader.check("strays", *page, about=key) for page in _pages(members)]
    return [f"{_shown(member)} is in {_shown(key)} for no task" for page in found for member in page]


async def _stray_keys(reader: Reader, key: str, expected: int) -> list[str]:
    if await reader.ask("HLEN", key) == expected:
        return []
    flat = await reader.ask("HGETALL", key)
    workspace = key.removeprefix("keys:")
    found = [await reader.check("stray_keys", *page, about=workspace) for page in _pages(flat)]
    return [f"the idempotency key {name} is kept for no task" for page in found for name in page]


def _kind(key: str) -> str:
    kind, colon, _ = key.partition(":")
    return kind if colon else ""


def _is_known(key: str) -> bool:
    return key in _SINGLE or _kind(key) in _KINDS


def _shown(name: str) -> str:
    return name.replace(NONE, "/")


def _pages(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    return (values[first : first + _PAGE] for first in range(0, len(values), _PAGE))
