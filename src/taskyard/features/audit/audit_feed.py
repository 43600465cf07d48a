"""Adds an entry of the audit log to each change set that says who asked for it."""

from __future__ import annotations

from itertools import repeat

from taskyard.core.changes import ChangeSet
from taskyard.features.audit import rules
from taskyard.ledger.ids import mint


class AuditFeed:
    """The entry is stored with the act, or not at all: no second commit, and nothing that a crash could lose."""

    wants = staticmethod(rules.is_audited)

    async def contribute(self, change_set: ChangeSet) -> ChangeSet:
        made = rules.entries(change_set, (mint() for _ in repeat(None)))
        return change_set._replace(records=(*change_set.records, *made)) if made else change_set
