"""Exact search of vectors, for stores that have no search of their own: every vector is compared.

A vector is stored as 32-bit floats, lowest byte first. With NumPy (extra `memory`) all vectors are compared at once;
without it one by one, about thirty times slower.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from heapq import nsmallest
from operator import mul
from struct import pack
from types import ModuleType
from typing import Any

from taskyard.core.task import TaskId
from taskyard.stores.contract import Near, VectorQuery


def pack_vector(vector: Sequence[float]) -> bytes:
    return pack(f"<{len(vector)}f", *vector)


def rank(stored: Iterable[tuple[TaskId, bytes]], query: VectorQuery) -> list[Near]:
    """The nearest of the stored vectors, nearest first; equally near ones by id."""
    pairs = list(stored)
    numpy = _numpy()
    scores = _products(pairs, query.vector) if numpy is None else _products_at_once(numpy, pairs, query.vector)
    found = (Near(task_id, score) for (task_id, _), score in zip(pairs, scores, strict=True))
    return nsmallest(query.limit, found, key=lambda near: (-near.score, near.task_id))


def search_kind() -> str:
    return "exact, in Python" if _numpy() is None else "exact, with NumPy"


def _products(pairs: Sequence[tuple[TaskId, bytes]], vector: Sequence[float]) -> list[float]:
    return [sum(map(mul, _unpacked(packed), vector)) for _, packed in pairs]


def _unpacked(packed: bytes) -> array[float]:
    values = array("f", packed)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _products_at_once(numpy: Any, pairs: Sequence[tuple[TaskId, bytes]], vector: Sequence[float]) -> list[float]:
    every = numpy.frombuffer(b"".join(packed for _, packed in pairs), "<f4").reshape(len(pairs), len(vector))
    return (every @ numpy.array(vector, "<f4")).tolist()


@cache
def _numpy() -> ModuleType | None:
    try:
        import numpy  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        return None
    return numpy
