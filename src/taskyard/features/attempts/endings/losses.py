"""Attempts that are lost with one worker: a breaker counts the last of them that goes back, and so each worker once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from taskyard.core.task import Hot
from taskyard.ledger.ledger import Ledger
from taskyard.stores.contract import Store

Kind = tuple[str, str, int]  # workspace, type and the generation of its breaker that an attempt was claimed under


class Losses:
    """What workers hold that are losing it, read once for each of them. Lives for one sweep, or one call."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._left: dict[str, Counter[Kind]] = {}

    async def are_more(self, hot: Hot, ledger: Ledger) -> bool:
        """Whether the worker of this attempt holds others of its kind."""
        worker = _worker(hot)
        if worker not in self._left:
            self._left[worker] = Counter([await _kind(each, ledger) for each in await self._held_with(hot)])
        return self._left[worker][await _kind(hot, ledger)] > 1

    async def gone(self, hot: Hot, ledger: Ledger) -> None:
        """This attempt has ended."""
        self._left[_worker(hot)][await _kind(hot, ledger)] -= 1

    async def _held_with(self, hot: Hot) -> Iterable[Hot]:
        held = (
            await self._store.held(agent=hot.agent)
            if hot.runtime is None
            else await self._store.held(runtime=hot.runtime)
        )
        return [each for each in held if each.workspace == hot.workspace]


async def _kind(hot: Hot, ledger: Ledger) -> Kind:
    """The breaker that counts this attempt, and the generation it was claimed under."""
    return hot.workspace, await ledger.type_of(hot), hot.circuit


def _worker(hot: Hot) -> str:
    """A process, where it named itself; else the agent."""
    return f"{hot.workspace}/{hot.runtime or ''}/{'' if hot.runtime else hot.agent}"
