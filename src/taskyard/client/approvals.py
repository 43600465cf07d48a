"""Approvals of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.events import MOST_LISTED
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body
from taskyard.core.json_value import Json
from taskyard.features.approvals.service import Approvals
from taskyard.features.approvals.views import Approval
from taskyard.features.attempts.views import Receipt
from taskyard.ledger.options import LOCAL


class RemoteApprovals(Remote, Approvals):
    async def list(self, *, limit: int = MOST_LISTED) -> list[Approval]:
        """Tasks that wait for a person's word, longest first."""
        answer = await self._connection.ask(calls.APPROVALS, query={"limit": limit})
        return read(list[Approval], answer["approvals"])

    async def signal(self, task_id: str, name: str, data: Json = None, *, sent_by: str = LOCAL) -> Receipt:
        """Tell a task something it waits for, or will wait for."""
        return read(Receipt, await self._connection.ask_about(calls.SIGNAL, task_id, body(name=name, data=data)))
