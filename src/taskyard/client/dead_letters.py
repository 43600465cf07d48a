"""Dead letters of a yard that a server has."""

from __future__ import annotations

from collections.abc import Mapping

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.events import MOST_LISTED
from taskyard.client.remote import Remote
from taskyard.client.transport.body import body, draft
from taskyard.features.attempts.views import Receipt
from taskyard.features.dead_letters.service import DeadLetters
from taskyard.features.dead_letters.views import DeadLetter, Review


class RemoteDeadLetters(Remote, DeadLetters):
    async def list(
        self, *, reviewed: bool | None = None, limit: int = MOST_LISTED, cursor: int = 0
    ) -> list[DeadLetter]:
        """Tasks that wait for a person, newest first, with the whole story of their failures.

        The cursor is the `seq` of the last one seen.
        """
        answer = await self._connection.ask(
            calls.DEAD_LETTERS, query={"reviewed": reviewed, "limit": limit, "cursor": cursor}
        )
        return read(list[DeadLetter], answer["tasks"])

    async def reviews(self) -> list[Review]:
        """Every decision on a dead letter, in the order they were made."""
        return read(list[Review], (await self._connection.ask(calls.REVIEWS))["reviews"])

    async def resolve(
        self,
        task_id: str,
        resolution: str,
        *,
        by: str,
        note: str = "",
        spec: Mapping[str, object] | None = None,
    ) -> Receipt:
        """Decide a dead letter: retry, modify_and_retry (with a changed spec), cancel or escalate."""
        request = body(resolution=resolution, reason=note, spec=draft(spec))
        return read(Receipt, await self._connection.ask_about(calls.RESOLVE, task_id, request))
