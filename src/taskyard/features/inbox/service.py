"""Inboxes: what waits for an agent's conversation, on every store.

One guarded record per inbox says what is in it and in which order; what each item says is a record of its own, written
once. Items that the yard posts wait beside the inbox until it is used next and has room.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from taskyard.core.changes import ChangeSet, Event, Record, RecordChange
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.json_value import Json, encode
from taskyard.core.units import Micros
from taskyard.definition import arguments, fields
from taskyard.features.inbox import rules as inbox_rules
from taskyard.features.inbox.items import ITEM, POSTED, Item, ItemSource, inbox_event, item_of
from taskyard.features.inbox.rules import HARD_LIMIT, MOST_BYTES, SOFT_LIMIT, Blocked, Box, Entry, Kind, Scope
from taskyard.features.inbox.transcripts import Transcripts
from taskyard.features.inbox.views import Dequeued, EnqueuedItem, InboxView, ItemBatch, Peeked
from taskyard.features.retention.service import Retention
from taskyard.ledger.ids import mint
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL

HOLD_SEC = 300.0  # how long a batch may be in somebody's hands
MOST_LISTED = 200
PAGE = 1000


class _Opened(NamedTuple):
    """An inbox as it is found: what was not consumed has come back, posted items that there is room for are in it."""

    whose: Scope
    version: int
    stored: Box
    box: Box
    arrivals: dict[str, Item]
    pending: tuple[Record, ...]  # those that are in it by now


class Inboxes:
    def __init__(self, ledger: Ledger, transcripts: Transcripts, retention: Retention) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._transcripts = transcripts
        self._retention = retention

    async def put(
        self,
        agent: str,
        conversation: str,
        content: Json,
        *,
        kind: str = Kind.MESSAGE,
        scope_agent: str | None = None,
        scope_conversation: str | None = None,
        source: str = ItemSource.USER,
        client_message_id: str | None = None,
        item_id: str | None = None,
        sent_by: str = LOCAL,
    ) -> EnqueuedItem:
        """Put something into an inbox: a text, or a list of parts. A full one refuses it, and says so.

        Its scope is the inbox's own, unless another is given. With an id of the caller's, a repeated call is harmless.
        """
        whose = _whose(agent, conversation)
        if content is None:
            raise InvalidInput("content", "must say something: a text, or a list of parts of a turn")
        encode(content, field="content", max_bytes=MOST_BYTES)
        item = Item(
            id=f"item_{mint()}" if item_id is None else arguments.name("item_id", item_id),
            kind=_KIND(kind, "kind"),
            scope=_whose(scope_agent or agent, scope_conversation or conversation),
            content=content,
            source=_SOURCE(source, "source"),
            sent_by=arguments.name("sent_by", sent_by),
            client_message_id=None
            if client_message_id is None
            else arguments.name("client_message_id", client_message_id),
            at=self._ledger.now(),
        )

        async def decide() -> tuple[ChangeSet | None, EnqueuedItem]:
            opened = await self._opened(whose)
            if inbox_rules.knows(opened.box, item.id):
                return None, EnqueuedItem(item, None, len(opened.box.waiting))
            return self._put(opened, item)

        return await self._ledger.commit(decide)

    def _put(self, opened: _Opened, item: Item) -> tuple[ChangeSet, EnqueuedItem]:
        made = inbox_rules.put(opened.box, item.entry)
        queue_len = len(made.box.waiting)
        if not made.accepted:
            full = self._happened("dropped", opened, item=item.id, kind=item.kind.value, reason="hard_limit")
            return ChangeSet(events=(full,), at=self._ledger.now()), EnqueuedItem(None, None, queue_len)
        events = [self._happened("enqueued", opened, item=item.id, kind=item.kind.value, queue_len=queue_len)]
        if made.dropped is not None:
            facts: dict[str, Json] = {"item": made.dropped.id, "kind": made.dropped.kind.value}
            events.append(self._happened("dropped", opened, reason="soft_limit", **facts))
        opened.arrivals[item.id] = item
        dropped = None if made.dropped is None else made.dropped.id
        return self._moved_to(opened, made.box, events), EnqueuedItem(item, dropped, queue_len)

    async def take(
        self,
        agent: str,
        conversation: str,
        blocked_reason: str | None = None,
        *,
        hold_sec: float = HOLD_SEC,
        batch_id: str | None = None,
    ) -> Dequeued:
        """Take the next batch, unless something blocks the consumer.

        It is the caller's for `hold_sec`. Not consumed by then, it is handed out again; held for no time at all, it is
        consumed at once. The same batch id again gets the same batch, where an answer was lost.
        """
        whose = _whose(agent, conversation)
        reason = None if blocked_reason is None else _BLOCKED(blocked_reason, "blocked_reason")
        hold = arguments.duration("hold_sec", hold_sec)
        chosen = f"batch_{mint()}" if batch_id is None else arguments.name("batch_id", batch_id)

        async def decide() -> tuple[ChangeSet | None, Dequeued]:
            opened = await self._opened(whose)
            mine = next((batch for batch in opened.box.taken if batch.id == chosen), None)
            if mine is not None:
                return None, Dequeued(await self._batch(opened, chosen, mine.entries, opened.box))
            if chosen in opened.box.gone:
                return None, Dequeued(None)  # it was handed out to be consumed at once, and was
            return self._held_up(opened, reason) if reason else await self._batched(opened, chosen, hold)

        answer = await self._ledger.commit(decide)
        for item in answer.batch.items if answer.batch else ():
            if item.about is not None:
                await self._transcripts.write(item.about)  # who hears of an end finds the transcript whole
        return answer

    def _held_up(self, opened: _Opened, reason: Blocked) -> tuple[ChangeSet | None, Dequeued]:
        box = inbox_rules.block(opened.box, reason)
        if box.blocked is opened.stored.blocked:
            return None, Dequeued(None)
        event = self._happened("blocked", opened, reason=reason.value, queue_len=len(box.waiting))
        return self._moved_to(opened, box, [event]), Dequeued(None, reason)

    async def _batched(self, opened: _Opened, batch_id: str, hold: Micros) -> tuple[ChangeSet | None, Dequeued]:
        took = inbox_rules.take(opened.box, batch_id, Micros(self._ledger.now() + hold))
        if not took.entries:
            return None if took.box == opened.stored else self._moved_to(opened, took.box, []), Dequeued(None)
        box = took.box if hold else inbox_rules.consume(took.box, batch_id)
        batch = await self._batch(opened, batch_id, took.entries, box)
        facts: dict[str, Json] = {"merged_count": len(took.entries), "queue_len_after": len(box.waiting)}
        event = self._happened("dequeued", opened, batch=batch_id, **facts)
        return self._moved_to(opened, box, [event]), Dequeued(batch)

    async def consume(self, agent: str, conversation: str, batch_id: str) -> None:
        """A batch was dealt with: it never comes back. One that is in other hands by now is `not_found`."""
        whose = _whose(agent, conversation)
        arguments.name("batch_id", batch_id)

        async def decide() -> tuple[ChangeSet | None, None]:
            opened = await self._opened(whose)
            if batch_id in opened.box.gone:
                return None, None
            if all(batch.id != batch_id for batch in opened.box.taken):
                raise NotFound("batch", batch_id)
            event = self._happened("consumed", opened, batch=batch_id)
            return self._moved_to(opened, inbox_rules.consume(opened.box, batch_id), [event]), None

        await self._ledger.commit(decide)

    async def clear(self, agent: str, conversation: str, reason: str = "cancelled", *, by: str = LOCAL) -> int:
        """Leave nothing, neither what waits nor what is in anybody's hands, and say how many items that were."""
        whose = _whose(agent, conversation)
        by = arguments.name("by", by)
        arguments.words("reason", reason)

        async def decide() -> tuple[ChangeSet | None, int]:
            opened = await self._opened(whose)
            pending = await self._store.page("inbox_letter", self._workspace, prefix=whose.id, limit=PAGE)
            outside = [posted for posted in pending if posted not in opened.pending]
            count = opened.box.length + len(outside)
            if not count:
                return None, 0
            event = self._happened("cleared", opened, reason=reason, by=by, count=count)
            emptied = opened._replace(pending=tuple(pending))
            return self._moved_to(emptied, inbox_rules.clear(opened.box), [event]), count

        cleared = count = await self._ledger.commit(decide)
        while count >= PAGE:
            count = await self._ledger.commit(decide)
            cleared += count
        return cleared

    async def peek(self, agent: str, conversation: str) -> Peeked:
        """What waits in an inbox, in its order. Nothing is taken."""
        opened = await self._opened(_whose(agent, conversation))
        items = await self._items(opened, opened.box.waiting)
        return Peeked(_view(opened.whose, opened.box, None), items)

    async def list(self, *, limit: int = MOST_LISTED) -> list[InboxView]:
        """The inboxes that are in use, by agent and conversation."""
        fields.whole(limit, "limit", least=1, most=PAGE)
        views: dict[Scope, InboxView] = {}
        for record in await self._store.page("inbox", self._workspace, limit=limit):
            box = inbox_rules.come_back(inbox_rules.box_of(record.body), self._ledger.now())
            views[_scope_in(record)] = _view(_scope_in(record), box, inbox_rules.INBOX.of(record)["used_at"])
        for posted in await self._store.page("inbox_letter", self._workspace, limit=limit):
            whose = _scope_in(posted)
            view = views.get(whose) or _view(whose, Box(), None)
            views[whose] = view._replace(queue_len=view.queue_len + 1)
        return sorted(views.values())[:limit]

    async def forget_old(self) -> int:
        """Those that are empty and that nobody has used for as long as finished work is kept."""
        before = await self._retention.kept_since()
        forgotten = 0
        for record in await self._store.records("inbox"):
            if inbox_rules.box_of(record.body).length or inbox_rules.INBOX.of(record)["used_at"] > before:
                continue
            change = RecordChange("inbox", record.workspace, record.id, record.version, None)
            await self._ledger.commit_set(ChangeSet(records=(change,), at=self._ledger.now()))
            forgotten += 1
        return forgotten

    async def _opened(self, whose: Scope) -> _Opened:
        record = await self._store.record("inbox", self._workspace, whose.id)
        stored = Box() if record is None else inbox_rules.box_of(record.body)
        box = inbox_rules.come_back(stored, self._ledger.now())
        arrivals: dict[str, Item] = {}
        taken_in: list[Record] = []
        for posted in await self._store.page("inbox_letter", self._workspace, prefix=whose.id, limit=SOFT_LIMIT):
            if not inbox_rules.has_room(box):
                break
            item = item_of(POSTED.of(posted)["item"])
            box = inbox_rules.put(box, item.entry).box
            arrivals[item.id] = item
            taken_in.append(posted)
        return _Opened(whose, 0 if record is None else record.version, stored, box, arrivals, tuple(taken_in))

    def _moved_to(self, opened: _Opened, box: Box, events: Sequence[Event]) -> ChangeSet:
        """The inbox as it is now, with the items that are new in it, and without those that have left."""
        now, whose = self._ledger.now(), opened.whose
        before = {entry.id for entry in inbox_rules.kept(opened.stored)}
        after = {entry.id for entry in inbox_rules.kept(box)}
        header = RecordChange("inbox", self._workspace, whose.id, opened.version, inbox_rules.body(box, whose, now))
        # An item is written once, so its version is 1 for as long as it is there.
        left = [RecordChange("inbox_item", self._workspace, whose.id + each, 1, None) for each in before - after]
        new = [
            RecordChange("inbox_item", self._workspace, whose.id + each, 0, opened.arrivals[each].body())
            for each in after - before
        ]
        read = [RecordChange(*posted[:4], None) for posted in opened.pending]
        return ChangeSet(records=(header, *left, *new, *read), events=tuple(events), at=now)

    async def _batch(self, opened: _Opened, batch_id: str, entries: Sequence[Entry], box: Box) -> ItemBatch:
        return ItemBatch(batch_id, await self._items(opened, entries), len(box.waiting))

    async def _items(self, opened: _Opened, entries: Sequence[Entry]) -> tuple[Item, ...]:
        """What these say. One that is gone belongs to an inbox that has moved: a decision on it will be refused."""
        found = dict(opened.arrivals)
        if any(entry.id not in found for entry in entries):
            stored = await self._store.page("inbox_item", self._workspace, prefix=opened.whose.id, limit=HARD_LIMIT)
            found |= {item.id: item for item in (item_of(ITEM.of(record)) for record in stored)}
        return tuple(found[entry.id] for entry in entries if entry.id in found)

    def _happened(self, word: str, opened: _Opened, **facts: Json) -> Event:
        return inbox_event(word, self._workspace, opened.whose, self._ledger.now(), **facts)


_KIND, _SOURCE, _BLOCKED = fields.choice(Kind), fields.choice(ItemSource), fields.choice(Blocked)


def _whose(agent: str, conversation: str) -> Scope:
    return Scope(arguments.name("agent", agent), arguments.name("conversation", conversation))


def _scope_in(record: Record) -> Scope:
    return Scope(str(record.body["agent"]), str(record.body["conversation"]))


def _view(whose: Scope, box: Box, used_at: Micros | None) -> InboxView:
    return InboxView(*whose, len(box.waiting), box.length - len(box.waiting), box.blocked, used_at)
