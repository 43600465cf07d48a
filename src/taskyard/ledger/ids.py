"""Ids: ULIDs, as any library reads them, each greater than the one that this process made before.

What comes in together keeps its order by that, in claims, lists and trees. The library takes seven microseconds for
one, a sixth of what a task costs that comes in with many, and 25 ms to load.
"""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import sha256
from os import urandom
from time import time_ns

from taskyard.core.task import TaskId

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]  # ten bits at a time
_UPPER, _LOWER = range(70, -1, -10), range(40, -1, -10)  # what neighbours mostly share, and what tells them apart
_DRAWN = 128  # random steps at a time: drawing one takes as long as all else here
_latest = 0
_steps: list[int] = []
os.register_at_fork(after_in_child=_steps.clear)  # or both processes would take the same steps from the same id


def mint() -> str:
    """48 bits of time in milliseconds, then 80 random ones; within a millisecond, a random step from the last one.

    A step is of 48 bits: people know a task by its last ten digits, and neighbours are not to look alike.
    """
    global _latest  # noqa: PLW0603 - two threads that read the same one still make different steps
    moment = time_ns() // 1_000_000
    is_first = moment > _latest >> 80  # of its millisecond
    _latest = number = moment << 80 | int.from_bytes(urandom(10)) if is_first else _latest + 1 + _step()
    return _spelled(number)


def _step() -> int:
    if not _steps:
        drawn = urandom(6 * _DRAWN)
        _steps.extend(int.from_bytes(drawn[place : place + 6]) for place in range(0, len(drawn), 6))
    return _steps.pop()


def mint_task() -> TaskId:
    return TaskId(f"task_{mint()}")


def mint_at(milliseconds: int) -> str:
    """One that says another time than now."""
    return _spelled(milliseconds << 80 | int.from_bytes(urandom(10)))


def derived(ulid: str, digest: bytes) -> str:
    """One that says the same time as another, and is otherwise made of ten bytes."""
    return ulid[:10] + _spelled(int.from_bytes(digest))[10:]


def _spelled(number: int) -> str:
    return _upper(number >> 50) + "".join([_PAIRS[number >> shift & 1023] for shift in _LOWER])


@lru_cache(maxsize=4)
def _upper(number: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in _UPPER])


def dag_made_by(task_id: str, name: str) -> str:
    """The id of the DAG that a task makes under a name: the same in every attempt, and as old as the task."""
    digest = sha256(f"{task_id}:{name}".encode()).digest()[:10]
    return f"dag_{derived(task_id.removeprefix('task_'), digest)}"
