"""Checks every key of a yard: indexes that lack a task, and what belongs to no task; the log against its owners.

Other processes may write during the check. A script therefore checks each suspect again, atomically, before it is
reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TypeVar

from taskyard.stores.redis.encoding import NONE
from taskyard.stores.redis.queries import RedisReader

Value = TypeVar("Value")
_PAGE = 500
_SINGLE = frozenset(
    {
        *("meta", "state", "numbers", "changed", "workspaces", "records", "epochs", "pulses", "duties", "pruned"),
        *("outbox", "lane-ids", "awaited", "due", "drifting", "held-agents", "held-runtimes", "held-counts", "final"),
        *("dead", "streams", "streamed"),
    }
)
_INDEXES = frozenset({"due", "drifting", "held-agents", "held-runtimes", "final", "dead", "ready", "index", "dag"})
_OWNED = frozenset(
    {
        *("held", "definition", "papers", "blockers", "blocking", "records", "record-ids"),
        *("log", "dag-log", "loose", "gone", "long-log", "outbox", "wake", "ready"),
    }
)
_KINDS = (
    _INDEXES | _OWNED | {"task", "types", "names", "limits", "counts", "lanes", "embeddings", "embedders", "stream"}
)


async def find_problems(reader: RedisReader) -> list[str]:
    keys = [key async for key in _keys(reader)]
    counts, missing = await _tasks(reader, [key.partition(":")[2] for key in keys if _kind(key) == "task"])
    problems = [f"{_printable(key)} is no key of a yard" for key in keys if not _is_known(key)]
    problems += missing
    for key in keys:
        if key in _INDEXES or _kind(key) in _INDEXES:
            problems += await _strays(reader, key, counts[key])
        elif _kind(key) == "names":
            problems += await _stray_names(reader, key, counts[key])
    for page in _pages([key for key in keys if _kind(key) in _OWNED]):
        problems += [f"{_printable(key)} belongs to nothing" for key in await reader.check("lone", *page)]
    for workspace in await reader.execute("SMEMBERS", "workspaces"):
        problems += [problem async for problem in _entries(reader, workspace)]
    wrong = await reader.check("held_counts")
    return [*problems, *(f"{_printable(name)} is not as many as held-counts says" for name in wrong)]


async def _keys(reader: RedisReader) -> AsyncIterator[str]:
    """All keys with the yard's prefix, without the prefix. SCAN may return a key twice."""
    cursor, seen = "0", set[str]()
    while True:
        cursor, found = await reader.scan(cursor)
        for key in found:
            if key not in seen:
                seen.add(key)
                yield key
        if cursor == "0":
            return


async def _tasks(reader: RedisReader, task_ids: Sequence[str]) -> tuple[Counter[str], list[str]]:
    """How many tasks each index should have, and messages about the tasks that an index lacks."""
    counts, missing = Counter[str](), list[str]()
    for page in _pages(task_ids):
        for task_id, (where, nowhere) in zip(page, await reader.check("tasks", *page), strict=True):
            counts.update(where)
            missing += [f"{task_id} is not in {_printable(name)}" for name in nowhere]
    return counts, missing


async def _strays(reader: RedisReader, key: str, expected: int) -> list[str]:
    if await reader.execute("ZCARD", key) == expected:
        return []
    members = await reader.execute("ZRANGE", key, 0, -1)
    found = [await reader.check("strays", *page, about=key) for page in _pages(members)]
    return [f"{_printable(member)} is in {_printable(key)} for no task" for page in found for member in page]


async def _entries(reader: RedisReader, workspace: str) -> AsyncIterator[str]:
    """Messages about entries of the log that do not agree with the tasks and DAGs whose events they have."""
    after = "0"
    while after:
        after, *found = await reader.check("entries", after, about=workspace)
        for number, problem in zip(found[::2], found[1::2], strict=True):
            yield f"entry {number} of log:{workspace} {problem}"


async def _stray_names(reader: RedisReader, key: str, expected: int) -> list[str]:
    if await reader.execute("HLEN", key) == expected:
        return []
    flat = await reader.execute("HGETALL", key)
    workspace = key.removeprefix("names:")
    found = [await reader.check("stray_names", *page, about=workspace) for page in _pages(flat)]
    return [f"the name {_printable(name)} is kept for no task" for page in found for name in page]


def _kind(key: str) -> str:
    kind, colon, _ = key.partition(":")
    return kind if colon else ""


def _is_known(key: str) -> bool:
    return key in _SINGLE or _kind(key) in _KINDS


def _printable(name: str) -> str:
    return name.replace(NONE, "/")


def _pages(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    return (values[first : first + _PAGE] for first in range(0, len(values), _PAGE))
