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
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL
from taskyard.ledger.sharing import Shared
from taskyard.stores.contract import Filter, OutcomeUnknown

PAGE = 200
_LIVE = frozenset(Status) - FINAL


class Presets:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self.first = Shared(lambda: self._settle(DEFAULT))

    async def agree(self) -> None:
        """Refuse a process that expects another preset than the stored one; an unused workspace takes what is asked."""
        asked = self._ledger.options.preset
        if asked is None:
            return
        stored = (await self._ledger.configuration.fresh()).settings.preset
        if stored is None and asked != DEFAULT and await self._was_used():
            raise InvalidInput("preset", f"must be stored first: run `taskyard migrate apply --preset {asked}`")
        if stored is None:
            stored = (await self._settle(asked)).preset
        if stored != asked:
            raise other_preset(stored, self._workspace)

    async def _was_used(self) -> bool:
        """Whether something was put in while no preset was stored: by a release before this one."""
        return bool(await self._store.find(Filter(workspace=self._workspace), after=0, limit=1))

    async def current(self) -> str:
        """The one that tasks follow whose queue has none of its own."""
        return (await self._ledger.configuration.current()).preset

    async def set(self, name: str, *, by: str = LOCAL) -> None:
        """Let tasks that are put in from now on follow that preset. Those that are there keep theirs."""
        await self._settle(preset(name).name, by=by)

    async def _settle(self, name: str, *, by: str | None = None) -> Planning:
        """Store the workspace's preset: where none is stored yet, or in place of that one where somebody decides so."""

        async def decide() -> tuple[ChangeSet | None, None]:
            record = await self._store.record("workspace", self._workspace, self._workspace)
            body, version = ({}, 0) if record is None else (record.body, record.version)
            stored = body.get("preset")
            if stored == name or (stored is not None and by is None):
                return None, None
            change = RecordChange("workspace", self._workspace, self._workspace, version, {**body, "preset": name})
            facts: dict[str, Json] = {"workspace": self._workspace, "preset": name}
            events = () if by is None else (self._ledger.audit("workspace.preset", by, facts),)
            return ChangeSet(records=(change,), events=events, at=self._ledger.now()), None

        try:
            await self._ledger.commit(decide)
        except OutcomeUnknown:
            await self._ledger.commit(decide)  # stored or not, to do it again is harmless
        return await self._ledger.configuration.fresh()

    async def adopt(self, name: str) -> int:
        """Store the preset of a workspace that a release without stored presets has used.

        That release handed out tasks by the preset of the claiming process; this one by the lane. So tasks that wait
        or run are moved into the lane of their own preset. The answer is how many were.
        """
        stored = (await self._ledger.configuration.fresh()).settings.preset
        if stored is not None and stored != preset(name).name:
            raise other_preset(stored, self._workspace)
        await self._settle(preset(name).name)
        after = moved = 0
        while page := await self._store.find(
            Filter(workspace=self._workspace, statuses=_LIVE), after=after, limit=PAGE
        ):
            after = page[-1].seq
            moved += await self._move_to_own_lanes([hot.id for hot in page])
        return moved

    async def _move_to_own_lanes(self, task_ids: Sequence[TaskId]) -> int:
        definitions = await self._store.definitions(task_ids)
        wanted = {each: task for each, task in definitions.items() if policy_of(task).types_are_capabilities}
        return sum([await self._move_to_own_lane(each, wanted) for each in wanted])

    async def _move_to_own_lane(self, task_id: TaskId, definitions: Mapping[TaskId, Definition]) -> bool:
        async def decide() -> tuple[ChangeSet | None, bool]:
            hot: Hot = await self._ledger.load(task_id)
            (lane,) = await self._ledger.configuration.lane_ids([lane_of(definitions[task_id], failures=hot.failures)])
            if lane == hot.lane or hot.status.is_final:
                return None, False
            change = transitions.relane(hot, lane=lane, now=self._ledger.now())
            return ChangeSet(changes=(change,), at=change.after.updated_at), True

        return await self._ledger.commit(decide)
