"""Triggers of a yard that a server has."""

from __future__ import annotations

from collections.abc import Mapping

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body
from taskyard.features.sources.fires import Fire
from taskyard.features.triggers.service import Triggers
from taskyard.features.triggers.views import AddedTrigger, TriggerView
from taskyard.ledger.options import LOCAL


class RemoteTriggers(Remote, Triggers):
    async def add(
        self,
        trigger_id: str,
        source: str,
        *,
        settings: Mapping[str, object] | None = None,
        only: Mapping[str, object] | None = None,
        task: object = None,
        dag: object = None,
        ready_made: str | None = None,
        paused: bool = False,
        replace: bool = False,
        by: str = LOCAL,
    ) -> AddedTrigger:
        """Make a task or a DAG from a template when something happens: webhook, files, dag, rule or an
        installed source.

        `ready_made` gives conditions and a template where none are given: pull-request-opened, json.
        """
        request = body(
            id=trigger_id,
            source=source,
            settings=settings or {},
            only=only,
            task=task,
            dag=dag,
            ready_made=ready_made,
            paused=paused,
            replace=replace,
        )
        answer = await self._connection.ask(calls.ADD_TRIGGER, request)
        return read(AddedTrigger, answer)

    async def list(self) -> list[TriggerView]:
        """The triggers of this workspace, by their ids."""
        return read(list[TriggerView], (await self._connection.ask(calls.TRIGGERS))["triggers"])

    async def get(self, trigger_id: str) -> TriggerView:
        """One trigger, with its last fires, and what it has seen and passed over."""
        return read(TriggerView, await self._connection.ask(calls.TRIGGER, trigger_id=trigger_id))

    async def fires(self, trigger_id: str, *, limit: int = 50, below: str | None = None) -> list[Fire]:
        """When it fired, or why it did not, latest first; `below` is the key of the last one seen."""
        query = {"limit": limit, "below": below}
        answer = await self._connection.ask(calls.TRIGGER_FIRES, query=query, trigger_id=trigger_id)
        return read(list[Fire], answer["fires"])

    async def pause(self, trigger_id: str, *, by: str = LOCAL) -> None:
        """Let nothing fire it until it is resumed."""
        await self._connection.ask(calls.PAUSE_TRIGGER, trigger_id=trigger_id)

    async def resume(self, trigger_id: str, *, by: str = LOCAL) -> None:
        await self._connection.ask(calls.RESUME_TRIGGER, trigger_id=trigger_id)

    async def remove(self, trigger_id: str, *, by: str = LOCAL) -> None:
        """End it. What it has made stays, and its fires for as long as fires are kept."""
        await self._connection.ask(calls.REMOVE_TRIGGER, trigger_id=trigger_id)

    async def rotate(self, trigger_id: str, *, grace_sec: float = 0, by: str = LOCAL) -> str:
        """Give a hook another secret, shown this once. The one before is good for as long as the grace says."""
        return (await self._connection.ask(calls.ROTATE_HOOK, body(grace_sec=grace_sec), trigger_id=trigger_id))[
            "secret"
        ]

    async def fire(
        self,
        trigger_id: str,
        data: Mapping[str, object],
        *,
        key: str | None = None,
        dry_run: bool = False,
        by: str = LOCAL,
    ) -> Fire:
        """Let something happen to a trigger by hand: `data` is what its template names.

        The same `key` fires once. With `dry_run`, what it would make is only checked.
        """
        request = body(data=data, key=key, dry_run=dry_run)
        return read(Fire, await self._connection.ask(calls.FIRE_TRIGGER, request, trigger_id=trigger_id))
