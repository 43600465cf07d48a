"""Calls for many attempts at once: each stands or falls alone, and its answer stands in its place."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.features.attempts.views import Receipt

MOST_AT_ONCE = 1000


def check_batch(results: Sequence[object]) -> None:
    if not 1 <= len(results) <= MOST_AT_ONCE:
        raise InvalidInput("results", f"must be from 1 to {MOST_AT_ONCE}")


async def answer_each(calls: Sequence[Coroutine[Any, Any, Receipt]]) -> list[Receipt | TaskyardError]:
    """Make the calls together, so that their changes are stored in one commit."""
    return list(await asyncio.gather(*map(_answer, calls)))


async def _answer(call: Coroutine[Any, Any, Receipt]) -> Receipt | TaskyardError:
    try:
        return await call
    except TaskyardError as error:
        return error
