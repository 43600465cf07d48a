"""The preset of a workspace: stored with it, so that every process puts tasks in under the same one.

A task keeps the preset that it was put in under (`core.policy.policy_of`); nothing here changes a task's preset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from taskyard.core import transitions
from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.planning import Planning
from taskyard.core.policy import DEFAULT, other_preset, policy_of, preset
from taskyard.core.task import FINAL, Definition, Hot, Status, TaskId
from taskyard.definition.definition import lane_of
from taskyard.ledger.options import LOCAL, Options
from taskyard.ledger.sharing import Shared
from taskyard.service.engine import Engine
from taskyard.stores.contract import Filter, OutcomeUnknown, Store

PAGE = 200
_LIVE = frozenset(Status) - FINAL


class Presets(Engine):
    def __init__(self, store: Store, options: Options) -> None:
        super().__init__(store, options)
        self._first_preset = Shared(lambda: self._settle_preset(DEFAULT))

    async def agree_on_preset(self) -> None:
        """Refuse a process that expects another preset than the stored one; an unused workspace takes what is asked."""
        asked = self.options.preset
        if asked is None:
            return
        stored = (await self._configuration.fresh()).settings.preset
        if stored is None and asked != DEFAULT and await self._was_used():
            raise InvalidInput("preset", f"must be stored first: run `taskyard migrate apply --preset {asked}`")
        if stored is None:
            stored = (await self._settle_preset(asked)).preset
        if stored != asked:
            raise other_preset(stored, self.workspace)

    async def _was_used(self) -> bool:
        """Whether something was put in while no preset was stored: by a release before this one."""
        return bool(await self.store.find(Filter(workspace=self.workspace), after=0, limit=1))

    async def set_preset(self, name: str, *, by: str = LOCAL) -> None:
        """Let tasks that are put in from now on follow that preset. Those that are there keep theirs."""
        await self._settle_preset(preset(name).name, by=by)

    async def _settle_preset(self, name: str, *, by: str | None = None) -> Planning:
        """Store the workspace's preset: where none is stored yet, or in place of that one where somebody decides so."""

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self.store.record("workspace", self.workspace, self.workspace)
            body, version = ({}, 0) if record is None else (record.body, record.version)
            stored = body.get("preset")
            if stored == name or (stored is not None and by is None):
                return None, None
            change = RecordChange("workspace", self.workspace, self.workspace, version, {**body, "preset": name})
            facts: dict[str, Json] = {"workspace": self.workspace, "preset": name}
            events = () if by is None else (self._told_by("workspace.preset", by, facts),)
            return ChangeSet(records=(change,), events=events, at=self.now()), None

        try:
            await self._land(decide)
        except OutcomeUnknown:
            await self._land(decide)  # stored or not, to do it again is harmless
        return await self._configuration.fresh()

    async def adopt_preset(self, name: str) -> int:
        """Store the preset of a workspace that a release without stored presets has used.

        That release handed out tasks by the preset of the claiming process; this one by the lane. So tasks that wait
        or run are moved into the lane of their own preset. The answer is how many were.
        """
        stored = (await self._configuration.fresh()).settings.preset
        if stored is not None and stored != preset(name).name:
            raise other_preset(stored, self.workspace)
        await self._settle_preset(preset(name).name)
        after = moved = 0
        while page := await self.store.find(Filter(workspace=self.workspace, statuses=_LIVE), after=after, limit=PAGE):
            after = page[-1].seq
            moved += await self._move_to_own_lanes([hot.id for hot in page])
        return moved

    async def _move_to_own_lanes(self, task_ids: Sequence[TaskId]) -> int:
        definitions = await self.store.definitions(task_ids)
        wanted = {each: task for each, task in definitions.items() if policy_of(task).types_are_capabilities}
        return sum([await self._move_to_own_lane(each, wanted) for each in wanted])

    async def _move_to_own_lane(self, task_id: TaskId, definitions: Mapping[TaskId, Definition]) -> bool:
        async def decide() -> tuple[ChangeSet | None, bool]:
            hot: Hot = await self._load(task_id)
            (lane,) = await self._lanes([lane_of(definitions[task_id], failures=hot.failures)])
            if lane == hot.lane or hot.status.is_final:
                return None, False
            change = transitions.relane(hot, lane=lane, now=self.now())
            return ChangeSet(changes=(change,), at=change.after.updated_at), True

        return await self._land(decide)
