"""Decisions of people on dead letters, stored with each of them."""

from __future__ import annotations

from taskyard.core import outcomes
from taskyard.core.changes import RecordChange
from taskyard.core.errors import NotFound
from taskyard.core.json_value import Json
from taskyard.core.task import Hot
from taskyard.ledger.ledger import Ledger


class Reviews:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def reviewed(self, hot: Hot, resolution: str, by: str, note: str) -> RecordChange:
        record = await self._store.record("dead", self._workspace, outcomes.dead_id(hot.id, hot.attempt))
        if record is None:
            raise NotFound("dead letter", hot.id)
        body: dict[str, Json] = {
            **record.body,
            "reviewed": True,
            "resolution": resolution,
            "reviewed_by": by,
            "reviewed_at": self._ledger.now(),
            "note": note,
        }
        if record.body["reviewed"]:  # who put it before another person had decided something too
            words = ("resolution", "reviewed_by", "reviewed_at", "note")
            before: dict[str, Json] = {word: record.body[word] for word in words}
            earlier = record.body.get("earlier")
            body["earlier"] = [*(earlier if isinstance(earlier, list) else ()), before]
        return RecordChange("dead", self._workspace, record.id, record.version, body)
