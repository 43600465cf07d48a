"""What a task is given to work with: outputs of what it depends on, and what its context refers to."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from taskyard.core.lease import Lease
from taskyard.core.task import Hot, Status, TaskId
from taskyard.definition import document
from taskyard.features.artifacts.rules import referred
from taskyard.features.artifacts.visibility import Visibility
from taskyard.features.attempts.views import Input
from taskyard.features.memory.recollection import Recollection
from taskyard.ledger.ledger import Ledger

INLINED = 1 << 20  # bytes of inputs handed over in all; what is bigger is fetched by reference


class Inputs:
    def __init__(self, ledger: Ledger, visibility: Visibility, recollection: Recollection) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._visibility = visibility
        self._recollection = recollection

    async def of(self, task_id: str, lease: str | None = None) -> list[Input]:
        """The outputs of what a task depends on, and what its context refers to.

        Under a validator's lease, also the artifacts of the output that it judges. `memory:auto` is looked up under the
        first lease that asks, and is the same from then on.
        """
        if lease is None:
            hot = await self._ledger.load(TaskId(task_id))
            return [*await self.given_to(hot), *await self._recollection.of(hot, None)]
        hot = await self._ledger.held(TaskId(task_id), Lease(lease))
        found = await self.given_to(hot, await self._visibility.shown_to(hot))
        return [*found, *await self._recollection.of(hot, lease)]

    async def given_to(self, reader: Hot, shown: Collection[str] = ()) -> list[Input]:
        definition = await self._ledger.definition(reader.id)
        wanted: dict[str, TaskId] = {f"task:{each}:output": each for each in definition.depends_on}
        for ref in definition.context_refs:
            kind, _, rest = ref.partition(":")
            if kind == "task" and rest.endswith(":output"):
                wanted[ref] = TaskId(rest.removesuffix(":output"))
        outputs = await self._store.outputs(list(wanted.values()))
        refs = [*definition.context_refs, *shown]
        mine = await self._store.load(list(wanted.values()))
        found: list[Input] = []
        room = INLINED
        for ref, source in wanted.items():
            output, hot = outputs.get(source), mine.get(source)
            if output is None or hot is None or hot.workspace != self._workspace:
                continue
            if hot.status is not Status.COMPLETED:
                continue  # it was handed in, and nobody has accepted it
            room -= len(output.data)
            found.append(Input(ref, json.loads(output.data) if room >= 0 else None, room >= 0))
            refs.extend(output.artifacts)
        return [*found, *await self._files_among(refs, shown)]

    async def _files_among(self, refs: Sequence[str], shown: Collection[str]) -> list[Input]:
        """The artifacts among what is referred to, by reference: what each is, to be read by its id."""
        ids = dict.fromkeys(artifact_id for ref in refs if (artifact_id := referred(ref)) is not None)
        found = await self._visibility.visible_among(await self._visibility.records_of(ids), shown) if ids else []
        return [Input(each.reference, document.write(each), False) for each in found]
