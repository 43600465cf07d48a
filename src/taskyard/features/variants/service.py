"""Variants of task types, stored with the configuration that new tasks are put in under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.variant import KIND
from taskyard.definition import arguments
from taskyard.features.variants import rules
from taskyard.features.variants.views import TypeVariants, variants_view
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL

MOST_TYPES = 200  # with variants


class Variants:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def set(self, type: str, variants: Sequence[Mapping[str, Any]], *, by: str = LOCAL) -> TypeVariants:
        """Say in which variants the tasks of a type are put in from now on: all of them; an empty list ends it.

        Each has a `name`, a `share` (1 where it is left out), and what its tasks have in place of their own:
        `model_preferences`, `fallback_models`, `prompt` (in which `{prompt}` stands for the task's own), and `payload`,
        whose members are added to the task's. Other processes follow within a second.
        """
        named, given = arguments.name("type", type), rules.variants_given(variants, self._ledger.options.sizes)
        setter = arguments.name("by", by)

        async def decide() -> tuple[ChangeSet, Record]:
            record, now = await self._store.record(KIND, self._workspace, named), self._ledger.now()
            if record is None and given:
                await self._refuse_too_many()
            version = 0 if record is None else record.version
            rows: list[Json] = [{"name": each.name, "share": each.share, "values": dict(each.values)} for each in given]
            body: dict[str, Json] = {"variants": rows, "by": setter, "at": now}
            after = Record(KIND, self._workspace, named, version + 1 if given else 0, body)
            if record is None and not given:
                return ChangeSet(at=now), after
            change = RecordChange(KIND, self._workspace, named, version, body if given else None)
            facts: dict[str, Json] = {"type": named, "variants": [each.name for each in given]}
            audited = self._ledger.audit("variants.set", setter, facts)
            return ChangeSet(records=(change,), events=(audited,), at=now), after

        stored = await self._ledger.commit(decide)
        self._ledger.configuration.outdated()
        return variants_view(stored)

    async def list(self) -> list[TypeVariants]:
        """The types that have variants, by name."""
        found = await self._store.page(KIND, self._workspace, limit=MOST_TYPES)
        return [variants_view(each) for each in reversed(found)]

    async def _refuse_too_many(self) -> None:
        if len(await self._store.page(KIND, self._workspace, limit=MOST_TYPES)) == MOST_TYPES:
            raise InvalidInput("type", f"must be one that has variants: {MOST_TYPES} types have them")
