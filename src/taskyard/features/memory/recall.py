"""Finding finished work by what it was about, for whoever may see it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property, reduce

from taskyard.core.errors import InvalidInput
from taskyard.core.task import Attempt, Definition, Hot, Status, TaskId
from taskyard.definition import arguments, fields
from taskyard.features.memory import rules
from taskyard.features.memory.embedders import Embedder, TextRefused, open_embedder
from taskyard.features.memory.embedding_feed import EVERYWHERE, EmbeddingFeed, asked
from taskyard.features.memory.rules import EmbeddingCursor
from taskyard.features.memory.views import MemoryHit
from taskyard.ledger.ledger import Ledger
from taskyard.stores.contract import Near, VectorQuery

MOST_HITS = 50
LONGEST_QUESTION = 4096  # characters: no more is embedded of a task
NOT_CONFIGURED = "is not configured: set TASKYARD_EMBEDDER, for example to hash:"
DEAD = Status.DEAD_LETTERED


class Recall:
    """Asks the embedder that this process was configured with, and the store."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace

    @cached_property
    def embedder(self) -> Embedder | None:
        """The one that this process was configured with."""
        url = self._ledger.options.embedder
        return None if url is None else open_embedder(url)

    @cached_property
    def feed(self) -> EmbeddingFeed | None:
        return None if self.embedder is None else EmbeddingFeed(self._ledger, self.embedder)

    async def search(self, text: str, limit: int, type_: str | None, granted: frozenset[str] | None) -> list[MemoryHit]:
        fields.text(text, "text", most=LONGEST_QUESTION)
        fields.whole(limit, "limit", least=1, most=MOST_HITS)
        if type_ is None:
            return await self.recall(text, limit, granted)
        wanted = {arguments.name("type", type_)}
        return await self.recall(text, limit, wanted if granted is None else wanted & granted)

    async def search_as(
        self, agent_type: str, agent_id: str | None, text: str, *, limit: int = 5, type: str | None = None
    ) -> list[MemoryHit]:
        """The same for an agent, which finds only tasks of types that it was granted."""
        return await self.search(text, limit, type, await self.granted_types(agent_type, agent_id))

    async def recall(
        self, text: str, limit: int, types: Collection[str] | None, *, but: TaskId | None = None
    ) -> list[MemoryHit]:
        """The same for callers that have checked what they ask. `but` is a task that is not to be found."""
        embedder = self.required()
        try:
            (vector,) = await asked(embedder, [rules.shortened(text, rules.LONGEST_TEXT)])
        except TextRefused as refused:
            raise InvalidInput("text", f"must be one that the embedder takes: {refused}") from refused
        dimensions = (await self.cursor(embedder)).dimensions
        question = rules.unit(vector, dimensions)
        if question is None or dimensions is None:
            return []  # nothing was asked, or nothing is remembered
        wanted = None if types is None else sorted(types)
        query = VectorQuery(self._workspace, embedder.name, question, limit + (but is not None), wanted)
        near = [each for each in await self._store.nearest(query) if each.task_id != but]
        return await self._hits(near[:limit])

    async def granted_types(self, agent_type: str, agent_id: str | None) -> frozenset[str] | None:
        """The types of tasks that an agent was granted; None: all."""
        kind = (await self._ledger.configuration.current()).agent_types.get(agent_type)
        grants = [] if kind is None else kind.grants_of(agent_id or "")
        lists = [grant.types for grant in grants if grant.types is not None]
        return reduce(frozenset[str].intersection, lists) if lists else None

    async def embedders_at_work(self) -> list[str]:
        """Those that have followed the log of this yard, in whatever process, and the one of this process."""
        stored = [record.id for record in await self._store.records(rules.CURSOR, EVERYWHERE)]
        return sorted({*stored, *([] if self.embedder is None else [self.embedder.name])})

    def required(self) -> Embedder:
        if self.embedder is None:
            raise InvalidInput("embedder", NOT_CONFIGURED)
        return self.embedder

    async def cursor(self, embedder: Embedder) -> EmbeddingCursor:
        return rules.cursor_of(await self._store.record(rules.CURSOR, EVERYWHERE, embedder.name))

    async def _hits(self, near: Sequence[Near]) -> list[MemoryHit]:
        ids = [each.task_id for each in near]
        hots = await self._ledger.load_all(ids)
        definitions, outputs = await self._store.definitions(ids), await self._store.outputs(ids)
        histories = await self._store.histories(ids)
        return [
            _hit(
                each,
                hots[each.task_id],
                definitions[each.task_id],
                histories.get(each.task_id, []),
                outputs[each.task_id].data if each.task_id in outputs else None,
            )
            for each in near
            if each.task_id in hots and each.task_id in definitions  # the others were pruned meanwhile
        ]


def _hit(near: Near, hot: Hot, definition: Definition, history: Sequence[Attempt], output: str | None) -> MemoryHit:
    last = history[-1] if history else None
    return MemoryHit(
        task_id=hot.id,
        type=definition.type,
        title=definition.title,
        score=round(near.score, 4),
        status=hot.status,
        ended_at=hot.updated_at if last is None else last.ended_at,
        agent=None if last is None else last.agent,
        reason=last.reason if last is not None and hot.status is DEAD else None,
        error=last.error if last is not None and hot.status is DEAD else None,
        summary=rules.summary_of(output) if output is not None and hot.status is Status.COMPLETED else None,
    )
