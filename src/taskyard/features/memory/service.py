"""Memory: finished work that is like what somebody is about to do, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from taskyard.core.changes import StoredEvent
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.task import AgentId, TaskId
from taskyard.definition import arguments, fields
from taskyard.features.memory import rules
from taskyard.features.memory.recall import Recall
from taskyard.features.memory.rules import EmbeddingCursor, MemoryPolicy
from taskyard.features.memory.views import (
    AgentEvent,
    EmbeddingJob,
    EmbeddingStatus,
    MemoryHit,
    MemoryPolicyView,
    MemoryState,
)
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL

MOST_LISTED = 500  # events and jobs of one answer
LOOKED_AT = 1000  # events, at once
MOST_LOOKS = 20
MOST_TYPES = 1000  # of one policy


class Memory:
    def __init__(self, ledger: Ledger, recall: Recall) -> None:
        self._ledger = ledger
        self._recall = recall
        self._store = ledger.store
        self._workspace = ledger.workspace

    async def search(self, text: str, *, limit: int = 5, type: str | None = None) -> list[MemoryHit]:
        """Finished tasks that are like the text, the nearest first, with how each ended.

        Only tasks that were remembered are found, and of one `type` alone where that is given.
        """
        return await self._recall.search(text, limit, type, None)

    async def policy(self) -> MemoryPolicyView:
        """What this workspace remembers."""
        record = await self._store.record(rules.KIND, self._workspace, rules.POLICY)
        policy = rules.policy_in(record and record.body)
        return MemoryPolicyView(policy.remember, dict(policy.types))

    async def set_policy(
        self, *, remember: bool | None = None, types: Mapping[str, bool] | None = None, by: str = LOCAL
    ) -> MemoryPolicyView:
        """Say what this workspace remembers of tasks that end from now on. It says the whole policy.

        `remember` None is what the preset has; `types` say what differs for a type.
        """
        policy = MemoryPolicy(remember=_choice(remember, "remember"), types=_choices(types))
        await self._ledger.configure(rules.KIND, rules.POLICY, policy.body(), "workspace.memory", by)
        return MemoryPolicyView(policy.remember, dict(policy.types))

    async def state(self) -> MemoryState:
        """How far the embedding worker is."""
        counts = await self._store.embedding_counts(self._workspace)
        embedder = self._recall.embedder
        if embedder is None:
            return MemoryState(None, 0, sum(counts.values()), None, None, ())
        cursor = await self._recall.cursor(embedder)
        mine = counts.pop(embedder.name, 0)
        refused = tuple(TaskId(each["task_id"]) for each in cursor.refused if each["workspace"] == self._workspace)
        waiting = await self._ends(limit=1, after=cursor)
        since = waiting[0].event.at if waiting else None
        return MemoryState(embedder.name, mine, sum(counts.values()), since, cursor.problem, refused)

    # In the words of the preset automechanica

    async def agent_events(self, *, limit: int = 100, below: int | None = None) -> list[AgentEvent]:
        """The ends of tasks in the log, newest first: those with a number below the given one."""
        fields.whole(limit, "limit", least=1, most=MOST_LISTED)
        return [_agent_event(stored) for stored in await self._ends(limit=limit, below=below)]

    async def embedding_jobs(self, *, limit: int = 100, below: int | None = None) -> list[EmbeddingJob]:
        """What the embedding worker has done about these ends, or has still to look at, newest first.

        Ends that are not to be remembered are no jobs once it has looked at them; without an embedder there are none.
        """
        fields.whole(limit, "limit", least=1, most=MOST_LISTED)
        embedder = self._recall.embedder
        if embedder is None:
            return []
        cursor = await self._recall.cursor(embedder)
        ends = await self._ends(limit=limit, below=below)
        ids = sorted({stored.event.task_id for stored in ends if stored.event.task_id is not None})
        done = await self._store.embedded(self._workspace, embedder.name, ids)
        problems = {each["task_id"]: each["problem"] for each in cursor.refused}
        jobs = [_job(stored, embedder.name, cursor, done, problems) for stored in ends]
        return [job for job in jobs if job is not None]

    async def catch_up(self) -> int:
        """Embed what has ended and waits, here and now, in all workspaces; how many tasks that were.

        A process that keeps the yard swept does so every second by itself.
        """
        self._recall.required()
        feed = self._recall.feed
        return 0 if feed is None else await feed.catch_up()

    async def _ends(
        self, *, limit: int, below: int | None = None, after: EmbeddingCursor | None = None
    ) -> list[StoredEvent]:
        """Ends of tasks of this workspace, newest first; those that the cursor has not passed, the oldest first."""
        found: list[StoredEvent] = []
        for _ in range(MOST_LOOKS):
            page = await self._store.newest_events(limit=LOOKED_AT, below=below, workspace=self._workspace)
            found += [stored for stored in page if stored.event.event in rules.REMEMBERED_EVENTS]
            is_last = len(page) < LOOKED_AT or (after is not None and after.has_passed(page[-1].seq))
            if is_last or (after is None and len(found) >= limit):
                break
            below = page[-1].seq
        if after is None:
            return found[:limit]
        return [stored for stored in reversed(found) if not after.has_passed(stored.seq)][:limit]


def _agent_event(stored: StoredEvent) -> AgentEvent:
    event = stored.event
    facts: dict[str, Json] = json.loads(event.data) if event.data else {}
    agent = facts.get("agent")
    name = AgentId(agent) if isinstance(agent, str) else None
    return AgentEvent(stored.seq, TaskId(event.task_id or ""), event.event, name, event.attempt, event.at)


def _job(
    stored: StoredEvent,
    embedder: str,
    cursor: EmbeddingCursor,
    done: Collection[TaskId],
    problems: Mapping[str, str],
) -> EmbeddingJob | None:
    task_id = TaskId(stored.event.task_id or "")
    if not cursor.has_passed(stored.seq):
        status = EmbeddingStatus.PENDING
    elif task_id in done:
        status = EmbeddingStatus.COMPLETED
    elif task_id in problems:
        status = EmbeddingStatus.FAILED
    else:
        return None  # it is not to be remembered
    return EmbeddingJob(stored.seq, task_id, embedder, status, problems.get(task_id), stored.event.at)


def _choice(value: object, name: str) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise InvalidInput(name, "must be true, false or null")
    return value


def _choices(types: Mapping[str, object] | None) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for name, value in (types or {}).items():
        if not isinstance(value, bool):
            raise InvalidInput("types", "must say true or false of each type")
        found[arguments.name("types", name)] = value
    if len(found) > MOST_TYPES:
        raise InvalidInput("types", f"must be at most {MOST_TYPES} types")
    return found
