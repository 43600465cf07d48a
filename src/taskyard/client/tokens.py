"""Tokens of a yard that a server has."""

from __future__ import annotations

from collections.abc import Iterable

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body, several
from taskyard.core.agent import Grant, Slots
from taskyard.features.tokens.rules import Token
from taskyard.features.tokens.service import Tokens
from taskyard.features.tokens.views import Issued
from taskyard.ledger.options import LOCAL


class RemoteTokens(Remote, Tokens):
    async def create(
        self,
        name: str,
        role: str,
        *,
        agent: str | None = None,
        agent_id: str | None = None,
        types: Iterable[str] | None = None,
        capabilities: Iterable[str] | None = None,
        queues: Iterable[str] | None = None,
        slots: Slots | None = None,
        budget_usd: str | float | int | None = None,
        budget_per: str | None = None,
        expires_in_sec: float | None = None,
        by: str = LOCAL,
    ) -> Issued:
        """A new token for this workspace. One for an agent works as that type, or as one id of it."""
        request = body(
            name=name,
            role=role,
            agent=agent,
            agent_id=agent_id,
            types=several(types),
            capabilities=several(capabilities),
            queues=several(queues),
            slots=slots,
            budget_usd=budget_usd,
            budget_per=budget_per,
            expires_in_sec=expires_in_sec,
        )
        answer = await self._connection.ask(calls.CREATE_TOKEN, request)
        return read(Issued, answer)

    async def grant(
        self,
        agent: str,
        *,
        agent_id: str | None = None,
        types: Iterable[str] | None = None,
        capabilities: Iterable[str] | None = None,
        queues: Iterable[str] | None = None,
        slots: Slots | None = None,
        by: str = LOCAL,
    ) -> Grant:
        """What a type of agents, or one id of it, may have from its next claim on; None: as much as it asks for.

        Slots are 10 over all ids of the type where none are named; `"unlimited"` lifts that bound.
        """
        request = body(
            agent_id=agent_id,
            types=several(types),
            capabilities=several(capabilities),
            queues=several(queues),
            slots=slots,
        )
        return read(Grant, await self._connection.ask(calls.GRANT, request, agent_id=agent))

    async def list(self) -> list[Token]:
        """The tokens of this workspace, oldest first."""
        return read(list[Token], (await self._connection.ask(calls.TOKENS))["tokens"])

    async def revoke(self, token_id: str, *, by: str = LOCAL) -> None:
        """End a token. The next call that shows it is refused."""
        await self._connection.ask(calls.REVOKE_TOKEN, token_id=token_id)
