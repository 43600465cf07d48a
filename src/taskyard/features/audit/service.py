"""The audit log: read in pages, and pruned by an age of its own."""

from __future__ import annotations

from datetime import datetime

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.definition import arguments, fields
from taskyard.features.audit import rules
from taskyard.features.audit.rules import AUDIT, AUDIT_POLICY, AuditFilter
from taskyard.features.audit.views import AuditEntry, AuditPage, AuditPolicy, audit_entry
from taskyard.features.retention.pruning import PruneStep
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL

AT_ONCE = 500
MOST_READ = 5_000  # entries that one call looks at
MOST_LISTED = 200
MOST_PAGES = 20  # that one step of pruning removes


class Audit:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._prefix = rules.prefix(ledger.workspace)
        self._workspace = ledger.workspace

    async def list(
        self,
        *,
        who: str | None = None,
        action: str | None = None,
        object: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> AuditPage:
        """Who did what, newest first.

        `who` is an author (`human:ada`), `action` a word such as `task.cancelled`, or `task.*` for all that begin so,
        `object` what it was done to (`agent:coder`, the id of a task or a DAG); `since` and `until` are times. One call
        looks at 5,000 entries: where few of them match, the page is short, and its cursor goes on.
        """
        wanted = AuditFilter(
            who=None if who is None else arguments.name("who", who),
            action=None if action is None else arguments.name("action", action),
            object=None if object is None else arguments.name("object", object),
            since=None if since is None else fields.moment(since, "since"),
        )
        most = fields.whole(limit, "limit", least=1, most=MOST_LISTED)
        at_once = AT_ONCE if wanted.is_selective else most
        place = self._first_place(until, cursor)
        found: list[AuditEntry] = []
        for _ in range(0, MOST_READ, at_once):
            page = await self._store.page(rules.KIND, EVERYWHERE, prefix=self._prefix, below=place, limit=at_once)
            for record in page:
                place, body = record.id, AUDIT.of(record)
                if wanted.since is not None and body["at"] < wanted.since:
                    return AuditPage(tuple(found), None)
                if wanted.matches(body):
                    found.append(audit_entry(record))
                if len(found) == most:
                    return AuditPage(tuple(found), rules.cursor_of(record))
            if len(page) < at_once:
                return AuditPage(tuple(found), None)
        return AuditPage(tuple(found), None if place is None else place[len(self._prefix) :])

    def _first_place(self, until: str | datetime | None, cursor: str | None) -> str | None:
        """Entries from below this place on are listed; None: from the newest."""
        if cursor is not None:
            return rules.place_of(self._workspace, cursor)
        return None if until is None else rules.place_at(self._workspace, fields.moment(until, "until"))

    async def policy(self) -> AuditPolicy:
        """How long this workspace keeps its entries."""
        return AuditPolicy(await self._days(self._workspace))

    async def set_policy(self, days: float, *, by: str = LOCAL) -> AuditPolicy:
        """Keep the entries of this workspace for so many days: 400 where nobody said otherwise."""
        kept = fields.number(days, "days", least=1, most=rules.MOST_DAYS)
        author = arguments.name("by", by)
        await self._ledger.configure(rules.POLICY_KIND, rules.POLICY, {"days": kept}, "workspace.audit", author)
        return AuditPolicy(kept)

    async def forget_old(self) -> PruneStep:
        """Forget entries that are older than their workspace keeps them, of all workspaces."""
        forgotten, below = 0, None
        while top := await self._store.page(rules.KIND, EVERYWHERE, below=below, limit=1):
            workspace = AUDIT.of(top[0])["workspace"]
            step = await self._forget_of(workspace)
            forgotten += step.done
            if step.more:
                return PruneStep(forgotten, more=True)
            below = rules.prefix(workspace)
        return PruneStep(forgotten)

    async def _forget_of(self, workspace: str) -> PruneStep:
        before = rules.kept_since(self._ledger.now(), await self._days(workspace))
        forgotten, prefix, place = 0, rules.prefix(workspace), rules.place_at(workspace, before)
        for _ in range(MOST_PAGES):
            old = await self._store.page(rules.KIND, EVERYWHERE, prefix=prefix, below=place, limit=AT_ONCE)
            if old:
                gone = tuple(RecordChange(*each[:4], None) for each in old)
                await self._ledger.commit_set(ChangeSet(records=gone, at=self._ledger.now()))
            forgotten += len(old)
            if len(old) < AT_ONCE:
                return PruneStep(forgotten)
        return PruneStep(forgotten, more=True)

    async def _days(self, workspace: str) -> float:
        record = await self._store.record(rules.POLICY_KIND, workspace, rules.POLICY)
        return rules.DEFAULT_DAYS if record is None else AUDIT_POLICY.of(record)["days"]
