"""Schedules and triggers, over HTTP."""

from __future__ import annotations

from collections.abc import Mapping

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.body import body
from taskyard.client.long_poll import Calling
from taskyard.features.schedules.rules import Busy, Misfire
from taskyard.features.schedules.views import ScheduleView
from taskyard.features.sources.fires import Fire
from taskyard.features.triggers.views import AddedTrigger, TriggerView

DAY_SEC = 86_400
LOCAL = "human:local"


class Sources(Calling):
    # Schedules

    async def add_schedule(
        self,
        schedule_id: str,
        when: str,
        *,
        task: object = None,
        dag: object = None,
        misfire: str = Misfire.ONCE.value,
        misfire_window_sec: float = DAY_SEC,
        busy: str = Busy.ALLOW.value,
        gap: str | None = None,
        overlap: str | None = None,
        starts_at: object = None,
        ends_at: object = None,
        paused: bool = False,
        replace: bool = False,
        by: str = LOCAL,
    ) -> ScheduleView:
        """Make a task or a DAG from a template at certain times: "every Monday at 09:00 Europe/Berlin".

        `replace` puts it in the place of one of the same id, which goes on from now.
        """
        request = body(
            id=schedule_id,
            when=when,
            task=task,
            dag=dag,
            misfire=misfire,
            misfire_window_sec=misfire_window_sec,
            busy=busy,
            gap=gap,
            overlap=overlap,
            starts_at=starts_at,
            ends_at=ends_at,
            paused=paused,
            replace=replace,
        )
        return read(ScheduleView, await self._ask(calls.ADD_SCHEDULE, request))

    async def schedules(self) -> list[ScheduleView]:
        """The schedules of this workspace, by their ids."""
        return read(list[ScheduleView], (await self._ask(calls.SCHEDULES))["schedules"])

    async def schedule(self, schedule_id: str) -> ScheduleView:
        """One schedule, with its next times and its last fires."""
        return read(ScheduleView, await self._ask(calls.SCHEDULE, schedule_id=schedule_id))

    async def schedule_fires(self, schedule_id: str, *, limit: int = 50, below: str | None = None) -> list[Fire]:
        """When it fired, or why it did not, latest first; `below` is the key of the last one seen."""
        query = {"limit": limit, "below": below}
        answer = await self._ask(calls.SCHEDULE_FIRES, query=query, schedule_id=schedule_id)
        return read(list[Fire], answer["fires"])

    async def pause_schedule(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """Let no time fire until it is resumed."""
        await self._ask(calls.PAUSE_SCHEDULE, schedule_id=schedule_id)

    async def resume_schedule(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """Go on from now: times that passed meanwhile are not made up for."""
        await self._ask(calls.RESUME_SCHEDULE, schedule_id=schedule_id)

    async def remove_schedule(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """End it. What it has made stays, and its fires for as long as fires are kept."""
        await self._ask(calls.REMOVE_SCHEDULE, schedule_id=schedule_id)

    async def run_schedule(self, schedule_id: str, *, by: str = LOCAL) -> Fire:
        """Make its work now, beside its times and whatever its policies say."""
        return read(Fire, await self._ask(calls.RUN_SCHEDULE, schedule_id=schedule_id))

    # Triggers

    async def add_trigger(
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
        answer = await self._ask(calls.ADD_TRIGGER, request)
        return read(AddedTrigger, answer)

    async def triggers(self) -> list[TriggerView]:
        """The triggers of this workspace, by their ids."""
        return read(list[TriggerView], (await self._ask(calls.TRIGGERS))["triggers"])

    async def trigger(self, trigger_id: str) -> TriggerView:
        """One trigger, with its last fires, and what it has seen and passed over."""
        return read(TriggerView, await self._ask(calls.TRIGGER, trigger_id=trigger_id))

    async def trigger_fires(self, trigger_id: str, *, limit: int = 50, below: str | None = None) -> list[Fire]:
        """When it fired, or why it did not, latest first; `below` is the key of the last one seen."""
        query = {"limit": limit, "below": below}
        answer = await self._ask(calls.TRIGGER_FIRES, query=query, trigger_id=trigger_id)
        return read(list[Fire], answer["fires"])

    async def pause_trigger(self, trigger_id: str, *, by: str = LOCAL) -> None:
        """Let nothing fire it until it is resumed."""
        await self._ask(calls.PAUSE_TRIGGER, trigger_id=trigger_id)

    async def resume_trigger(self, trigger_id: str, *, by: str = LOCAL) -> None:
        await self._ask(calls.RESUME_TRIGGER, trigger_id=trigger_id)

    async def remove_trigger(self, trigger_id: str, *, by: str = LOCAL) -> None:
        """End it. What it has made stays, and its fires for as long as fires are kept."""
        await self._ask(calls.REMOVE_TRIGGER, trigger_id=trigger_id)

    async def rotate_hook(self, trigger_id: str, *, grace_sec: float = 0, by: str = LOCAL) -> str:
        """Give a hook another secret, shown this once. The one before is good for as long as the grace says."""
        return (await self._ask(calls.ROTATE_HOOK, body(grace_sec=grace_sec), trigger_id=trigger_id))["secret"]

    async def fire_trigger(
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
        return read(Fire, await self._ask(calls.FIRE_TRIGGER, request, trigger_id=trigger_id))
