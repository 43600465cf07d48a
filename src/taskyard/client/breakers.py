"""Breakers of a yard that a server has."""

from __future__ import annotations

from collections.abc import Mapping

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body, draft
from taskyard.features.breakers.service import Breakers
from taskyard.features.breakers.views import BreakerPolicyView, BreakerView
from taskyard.ledger.options import LOCAL


class RemoteBreakers(Remote, Breakers):
    async def list(self) -> list[BreakerView]:
        """Breakers that have ever moved, and how they stand now."""
        return read(list[BreakerView], (await self._connection.ask(calls.BREAKERS))["breakers"])

    async def open(self, type_: str, *, why: str = "opened by hand", by: str = LOCAL) -> None:
        await self._connection.ask(calls.OPEN_BREAKER, body(why=why), type=type_)

    async def close(self, type_: str, *, why: str = "closed by hand", by: str = LOCAL) -> None:
        await self._connection.ask(calls.CLOSE_BREAKER, body(why=why), type=type_)

    async def set_policy(
        self,
        *,
        failure_threshold: int | None = None,
        half_open_after_sec: float | None = None,
        overrides: Mapping[str, int | Mapping[str, int | float]] | None = None,
        cooldownSeconds: float | None = None,  # noqa: N803 - so the preset loki has it
        by: str = LOCAL,
    ) -> BreakerPolicyView:
        """When the workspace's breakers open and let a probe through; `overrides` say what differs for a type.

        It says the whole policy: what is not given is the preset's again.
        """
        request = body(
            failure_threshold=failure_threshold,
            half_open_after_sec=half_open_after_sec,
            overrides=draft(overrides),
            cooldownSeconds=cooldownSeconds,
        )
        return read(BreakerPolicyView, await self._connection.ask(calls.BREAKER_POLICY, request))
