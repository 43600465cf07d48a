"""Saved views of a workspace: what one person saves, everybody sees."""

from __future__ import annotations

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.json_value import Json
from taskyard.definition import arguments
from taskyard.features.saved_views import rules
from taskyard.features.saved_views.views import SavedView, saved_view
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL


class SavedViews:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def save(self, name: str, page: str, query: str, *, description: str = "", by: str = LOCAL) -> SavedView:
        """Save a list under a name, in place of the one that has it: a page, and what its address asks for."""
        named = rules.name_of(name)
        saver = arguments.name("by", by)
        asked: dict[str, Json] = {
            "page": rules.page_of(page),
            "query": rules.query_of(arguments.words("query", query, most=rules.LONGEST_QUERY)),
            "description": arguments.words("description", description, most=rules.LONGEST_DESCRIPTION),
            "by": saver,
        }

        async def decide() -> tuple[ChangeSet, Record]:
            record, now = await self._store.record(rules.KIND, self._workspace, named), self._ledger.now()
            if record is None and len(await self._all()) == rules.MOST_VIEWS:
                raise InvalidInput("name", f"must be one that is there: {rules.MOST_VIEWS} views are saved")
            version = 0 if record is None else record.version
            body: dict[str, Json] = {**asked, "at": now}
            change = RecordChange(rules.KIND, self._workspace, named, version, body)
            audited = self._ledger.audit("view.saved", saver, {"name": named, "page": asked["page"]})
            stored = Record(rules.KIND, self._workspace, named, version + 1, body)
            return ChangeSet(records=(change,), events=(audited,), at=now), stored

        return saved_view(await self._ledger.commit(decide))

    async def list(self) -> list[SavedView]:
        """All saved views, by their names."""
        return [saved_view(each) for each in reversed(await self._all())]

    async def remove(self, name: str, *, by: str = LOCAL) -> None:
        """Forget a saved view."""
        remover = arguments.name("by", by)

        async def decide() -> tuple[ChangeSet, None]:
            record = await self._store.record(rules.KIND, self._workspace, name)
            if record is None:
                raise NotFound("saved view", name)
            change = RecordChange(rules.KIND, self._workspace, name, record.version, None)
            audited = self._ledger.audit("view.removed", remover, {"name": name})
            return ChangeSet(records=(change,), events=(audited,), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    async def _all(self) -> list[Record]:
        return await self._store.page(rules.KIND, self._workspace, limit=rules.MOST_VIEWS)
