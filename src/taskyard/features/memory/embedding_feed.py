"""The embedding worker: it follows the log from a stored cursor, and embeds what has ended and is to be remembered.

A page of events is embedded and stored before the cursor moves behind it. Whoever dies in between leaves the page to
the next process, which stores the same vectors again: nothing is skipped. One process at a time asks the embedder; that
is for economy, since the cursor moves by its version.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from secrets import token_hex
from typing import NamedTuple

from taskyard.core.changes import ChangeSet, Committed, RecordChange, StoredEvent
from taskyard.core.errors import EmbedderFailed, EventsGone, StoreFull
from taskyard.core.units import SECOND, Micros
from taskyard.features.memory import rules
from taskyard.features.memory.embedders import Embedder, TextRefused
from taskyard.features.memory.rules import EmbeddingCursor, RefusedText, TaskToEmbed
from taskyard.ledger.ledger import Ledger
from taskyard.stores.contract import Embedding

logger = logging.getLogger("taskyard")
PAGE = 500  # events
MOST_PAGES = 20  # of one call
AT_ONCE = 32  # texts
EMBEDDED_WITHIN = 40.0  # seconds, of one call of the embedder
HELD = Micros(60 * SECOND)  # by the process that embeds; renewed with each call of the embedder
EVERYWHERE = ""  # the workspace of what belongs to the whole yard


class LogPage(NamedTuple):
    """Events to look at, and the cursor behind them."""

    events: Sequence[StoredEvent]
    behind: EmbeddingCursor
    more: bool


class EmbeddingResult(NamedTuple):
    """What became of some texts."""

    vectors: list[Embedding]
    refused: list[RefusedText]


class EmbeddingFeed:
    """Follows the events of all workspaces, for one embedder."""

    def __init__(self, ledger: Ledger, embedder: Embedder) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._embedder = embedder
        self._holder = token_hex(8)

    async def follow(self) -> int:
        """Embed what has ended since the last time, in bounded steps. Call it every second, from many processes.

        Answers how many tasks were embedded.
        """
        now = self._ledger.now()
        if await self._store.take_duty(f"embeddings {self._embedder.name}", now, Micros(now + SECOND)) is None:
            return 0
        return await self.catch_up()

    async def catch_up(self) -> int:
        """The same, whether or not another process looked at the log within the last second."""
        embedded = 0
        for _ in range(MOST_PAGES):
            number, more = await self._step()
            embedded += number
            if not more:
                break
        return embedded

    async def cursor(self) -> EmbeddingCursor:
        return rules.cursor_of(await self._store.record(rules.CURSOR, EVERYWHERE, self._embedder.name))

    async def _step(self) -> tuple[int, bool]:
        cursor = await self.cursor()
        if not cursor.is_free(self._holder, self._ledger.now()):
            return 0, False
        page = await self._page(cursor)
        if not page.events and page.behind == cursor:
            return 0, False
        wanted = await self._wanted(page.events)
        refused: list[RefusedText] = []
        try:
            for first in range(0, len(wanted), AT_ONCE):
                held = await self._moved(
                    cursor._replace(holder=self._holder, held_until=self._ledger.now() + HELD, problem=cursor.problem)
                )
                if held is None:
                    return 0, False  # another process embeds
                found = await self._embed(wanted[first : first + AT_ONCE], held.dimensions)
                await self._store.keep_embeddings(found.vectors)
                refused += found.refused
                dimensions = len(found.vectors[0].vector) if found.vectors else held.dimensions
                cursor = held._replace(dimensions=dimensions)
        except (EmbedderFailed, StoreFull) as error:
            logger.warning("nothing is embedded now: %s", error)
            await self._moved((await self.cursor()).failed(str(error), self._ledger.now()))
            return 0, False
        behind = page.behind._replace(version=cursor.version, holder=None).went_well(cursor.dimensions, refused)
        has_moved = await self._moved(behind) is not None
        return len(wanted) - len(refused), page.more and has_moved

    async def _moved(self, cursor: EmbeddingCursor) -> EmbeddingCursor | None:
        """Store the cursor, with its new version; None where another process has moved it since it was read."""
        change = RecordChange(rules.CURSOR, EVERYWHERE, self._embedder.name, cursor.version, cursor.body())
        committed = await self._ledger.commit_set(ChangeSet(records=(change,), at=self._ledger.now()))
        return cursor._replace(version=cursor.version + 1) if isinstance(committed, Committed) else None

    # The log

    async def _page(self, cursor: EmbeddingCursor) -> LogPage:
        if cursor.below is None:
            try:
                events = await self._store.events(after=cursor.seq, limit=PAGE)
            except EventsGone:
                # Tasks were pruned that are younger than some that are kept. Reading backwards skips none of those.
                top = await self._store.pruned()
                cursor = cursor._replace(below=top + 1, top=top)
            else:
                behind = cursor._replace(seq=events[-1].seq) if events else cursor
                return LogPage(events, behind, more=len(events) == PAGE)
        found = await self._store.newest_events(limit=PAGE, below=cursor.below)
        events = [stored for stored in found if stored.seq > cursor.seq]
        if len(events) < PAGE:
            return LogPage(events, cursor._replace(seq=cursor.top, below=None, top=0), more=True)
        return LogPage(events, cursor._replace(below=events[-1].seq), more=True)

    async def _wanted(self, events: Sequence[StoredEvent]) -> list[TaskToEmbed]:
        """The tasks that ended by these events and are to be remembered. Tasks that are gone are not."""
        ended = {
            stored.event.task_id: stored.event.workspace
            for stored in events
            if stored.event.event in rules.REMEMBERED_EVENTS and stored.event.task_id is not None
        }
        if not ended:
            return []
        definitions = await self._store.definitions(list(ended))
        policies = {
            workspace: rules.policy_in(record and record.body)
            for workspace in set(ended.values())
            for record in [await self._store.record(rules.KIND, workspace, rules.POLICY)]
        }
        return [
            TaskToEmbed(workspace, task_id, definition.type, rules.text_of(definition))
            for task_id, workspace in ended.items()
            if (definition := definitions.get(task_id)) is not None
            and rules.is_remembered(definition, policies[workspace])
        ]

    # The embedder

    async def _embed(self, tasks: Sequence[TaskToEmbed], dimensions: int | None) -> EmbeddingResult:
        try:
            vectors = await asked(self._embedder, [task.text for task in tasks])
        except TextRefused as error:
            if len(tasks) == 1:
                return await self._embed_shorter(tasks[0], dimensions, str(error))
            alone = [await self._embed([task], dimensions) for task in tasks]
            return EmbeddingResult(
                [v for each in alone for v in each.vectors], [r for each in alone for r in each.refused]
            )
        expected = dimensions or self._embedder.dimensions or len(vectors[0])
        units = [rules.unit(vector, expected) for vector in vectors]
        return EmbeddingResult(
            [
                Embedding(task.workspace, task.task_id, task.type, self._embedder.name, vector)
                for task, vector in zip(tasks, units, strict=True)
                if vector is not None  # a text without a word that counts is near nothing
            ],
            [],
        )

    async def _embed_shorter(self, task: TaskToEmbed, dimensions: int | None, problem: str) -> EmbeddingResult:
        short = rules.shortened(task.text, rules.SHORT_TEXT)
        if short != task.text:
            return await self._embed([task._replace(text=short)], dimensions)
        logger.warning("%s is not remembered: %s", task.task_id, problem)
        why = problem[: rules.LONGEST_PROBLEM]
        return EmbeddingResult([], [RefusedText(workspace=task.workspace, task_id=task.task_id, problem=why)])


async def asked(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    """One vector for each text; whatever else goes wrong in the embedder is `EmbedderFailed`."""
    try:
        async with asyncio.timeout(EMBEDDED_WITHIN):
            vectors = await embedder.embed(texts)
    except (EmbedderFailed, TextRefused):
        raise
    except TimeoutError:
        raise EmbedderFailed(f"{embedder.name} did not answer within {EMBEDDED_WITHIN:g} s") from None
    except Exception as error:  # an embedder may be a package of anybody's
        raise EmbedderFailed(f"{embedder.name} raised {type(error).__name__}: {error}") from error
    if len(vectors) != len(texts):
        raise EmbedderFailed(f"{embedder.name} answered with {len(vectors)} vectors for {len(texts)} texts")
    return vectors
