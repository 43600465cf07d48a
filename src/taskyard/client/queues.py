"""Queues of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body
from taskyard.core.errors import InvalidInput
from taskyard.features.queues.presets import Presets
from taskyard.features.queues.service import Queues
from taskyard.features.queues.views import QueueView, ThrottleView
from taskyard.host import NEEDS_THE_STORE
from taskyard.ledger.options import LOCAL


class RemoteQueues(Remote, Queues):
    async def list(self) -> list[QueueView]:
        """The queues that work was ever put into, or that have settings of their own."""
        return read(list[QueueView], (await self._connection.ask(calls.QUEUES))["queues"])

    async def throttles(self) -> list[ThrottleView]:
        """What is slowed down now."""
        return read(list[ThrottleView], (await self._connection.ask(calls.THROTTLES))["throttles"])

    async def pause(self, queue: str, *, by: str = LOCAL) -> None:
        await self._connection.ask(calls.PAUSE_QUEUE, queue=queue)

    async def resume(self, queue: str, *, by: str = LOCAL) -> None:
        await self._connection.ask(calls.RESUME_QUEUE, queue=queue)

    async def set_preset(self, queue: str, name: str | None, *, by: str = LOCAL) -> None:
        """Tasks put into this queue from now on follow that preset."""
        await self._connection.ask(calls.QUEUE_PRESET, body(preset=name), queue=queue)

    async def set_report_policy(self, required: bool, *, queue: str | None = None, by: str = LOCAL) -> None:
        """Whether tasks put in from now on are completed only with a decision report: in one queue, or in all."""
        await self._connection.ask(calls.REPORT_POLICY, body(required=required, queue=queue))


class RemotePresets(Remote, Presets):
    async def adopt(self, name: str) -> int:
        """Not from here: it goes with a migration of the store."""
        raise InvalidInput("url", NEEDS_THE_STORE)

    async def current(self) -> str:
        """The one that tasks follow whose queue has none of its own."""
        return (await self._connection.ask(calls.WHO))["preset"]

    async def set(self, name: str, *, by: str = LOCAL) -> None:
        """Let tasks that are put in from now on follow that preset. Those that are there keep theirs."""
        await self._connection.ask(calls.SET_PRESET, body(preset=name))
