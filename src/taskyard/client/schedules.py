"""Schedules of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body
from taskyard.features.schedules.rules import Busy, Misfire
from taskyard.features.schedules.service import Schedules
from taskyard.features.schedules.views import ScheduleView
from taskyard.features.sources.fires import Fire
from taskyard.ledger.options import LOCAL

DAY_SEC = 86_400


class RemoteSchedules(Remote, Schedules):
    async def add(
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
        return read(ScheduleView, await self._connection.ask(calls.ADD_SCHEDULE, request))

    async def list(self) -> list[ScheduleView]:
        """The schedules of this workspace, by their ids."""
        return read(list[ScheduleView], (await self._connection.ask(calls.SCHEDULES))["schedules"])

    async def get(self, schedule_id: str) -> ScheduleView:
        """One schedule, with its next times and its last fires."""
        return read(ScheduleView, await self._connection.ask(calls.SCHEDULE, schedule_id=schedule_id))

    async def fires(self, schedule_id: str, *, limit: int = 50, below: str | None = None) -> list[Fire]:
        """When it fired, or why it did not, latest first; `below` is the key of the last one seen."""
        query = {"limit": limit, "below": below}
        answer = await self._connection.ask(calls.SCHEDULE_FIRES, query=query, schedule_id=schedule_id)
        return read(list[Fire], answer["fires"])

    async def pause(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """Let no time fire until it is resumed."""
        await self._connection.ask(calls.PAUSE_SCHEDULE, schedule_id=schedule_id)

    async def resume(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """Go on from now: times that passed meanwhile are not made up for."""
        await self._connection.ask(calls.RESUME_SCHEDULE, schedule_id=schedule_id)

    async def remove(self, schedule_id: str, *, by: str = LOCAL) -> None:
        """End it. What it has made stays, and its fires for as long as fires are kept."""
        await self._connection.ask(calls.REMOVE_SCHEDULE, schedule_id=schedule_id)

    async def run(self, schedule_id: str, *, by: str = LOCAL) -> Fire:
        """Make its work now, beside its times and whatever its policies say."""
        return read(Fire, await self._connection.ask(calls.RUN_SCHEDULE, schedule_id=schedule_id))
