"""Circuit breakers as operators see and move them."""

from __future__ import annotations

from collections.abc import Mapping

from taskyard.core import breaker as breakers
from taskyard.core.breaker import BreakerState
from taskyard.core.changes import (
    ChangeSet,
)
from taskyard.core.identifiers import breaker_counter
from taskyard.core.units import to_iso
from taskyard.definition import arguments
from taskyard.features.breakers.rules import breaker_settings
from taskyard.features.breakers.trips import moved
from taskyard.features.breakers.views import BreakerPolicyView, BreakerView, policy_view
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL


class Breakers:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def list(self) -> list[BreakerView]:
        """Breakers that have ever moved, and how they stand now."""
        planning, now = await self._ledger.configuration.fresh(), self._ledger.now()
        policy = planning.breaker_policy
        records = await self._store.records("breaker", self._workspace)
        moved = [(record, planning.breaker(record.id)) for record in records]
        names = [breaker_counter(breaker.type, breaker.generation) for _, breaker in moved]
        failures = await self._store.counts(self._workspace, names) if names else {}
        views: list[BreakerView] = []
        for (record, breaker), name in zip(moved, names, strict=True):
            state = breaker.state(policy, now)
            views.append(
                BreakerView(
                    record.id,
                    state,
                    to_iso(breaker.half_open_at(policy)) if state is BreakerState.OPEN else None,
                    str(record.body["why"]),
                    None if breaker.opened_at is None else to_iso(breaker.opened_at),
                    failures.get(name, 0),
                    policy.threshold(record.id),
                )
            )
        return views

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

        It says the whole policy: what is not given is the preset's again. An override is a threshold, or an object with
        `failure_threshold` and `half_open_after_sec` (or `failureThreshold`, `halfOpenAfter`, as loki's files have
        them). `cooldownSeconds`, which those have besides, is read where the time to the probe is absent.
        """
        wait = cooldownSeconds if half_open_after_sec is None else half_open_after_sec
        settings = breaker_settings(failure_threshold, wait, overrides)
        fields = {"breakers": settings.to_body()}
        await self._ledger.configure("workspace", self._workspace, fields, "workspace.breakers", by)
        return policy_view(settings)

    async def open(self, type_: str, *, why: str = "opened by hand", by: str = LOCAL) -> None:
        await self._move(type_, why, by, opening=True)

    async def close(self, type_: str, *, why: str = "closed by hand", by: str = LOCAL) -> None:
        await self._move(type_, why, by, opening=False)

    async def _move(self, type_: str, why: str, by: str, *, opening: bool) -> None:
        type_ = arguments.name("type", type_)
        arguments.words("why", why)

        async def decide() -> tuple[ChangeSet | None, None]:
            breaker, now = (await self._ledger.configuration.fresh()).breaker(type_), self._ledger.now()
            if opening == bool(breaker.generation % 2):
                return None, None
            act = breakers.opened if opening else breakers.closed
            return moved(act(breaker, why=why, by=by, now=now), now), None

        await self._ledger.commit(decide)
