"""A2A: the types that agents elsewhere may ask for, the tasks that they asked for, and whom these are pushed to.

The protocol itself is served by `taskyard.a2a`, which needs a library. What is here needs none, so that any process
that has the store can send a push.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from secrets import token_urlsafe

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.errors import IllegalTransition, InvalidInput, NotFound
from taskyard.core.json_value import Json
from taskyard.core.task import TaskId
from taskyard.definition import arguments, fields
from taskyard.features.a2a import rules
from taskyard.features.a2a.asked_tasks import AskedTasks
from taskyard.features.a2a.rules import AgentTaskState, AskedTask, PublishedType, Push, asked_task, published_type
from taskyard.features.a2a.views import (
    AgentTask,
    AgentTaskPage,
    PublishedTypeView,
    PushView,
    published_type_view,
    push_view,
)
from taskyard.features.approvals.rules import Person
from taskyard.features.approvals.service import Approvals
from taskyard.features.handles import rules as handle_rules
from taskyard.features.handles.service import Handles
from taskyard.features.inbox.service import Inboxes
from taskyard.features.retention.pruning import PruneStep
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL
from taskyard.outbound import addresses
from taskyard.outbound.safe_connect import checked_url, checked_webhook

MOST_LISTED, DEFAULT_LISTED = 100, 50
LONGEST_MESSAGE_ID = 128  # characters: it becomes a part of longer names
MOST_LOOKED_AT = 2000  # tasks that were asked for last: there is no index by the time of a state
AT_ONCE, MOST_PAGES = 500, 20  # of what is looked at to be forgotten

ChangePushes = Callable[[Sequence[Push]], tuple[Push, ...]]


class A2A:
    def __init__(
        self, ledger: Ledger, handles: Handles, asked_tasks: AskedTasks, approvals: Approvals, inbox: Inboxes
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._handles = handles
        self._asked = asked_tasks
        self._approvals = approvals
        self._inbox = inbox
        self._looked_through: str | None = None  # where the last look for tasks that are gone ended

    # Types that may be asked for

    async def publish(
        self,
        type: str,
        *,
        description: str = "",
        examples: Iterable[str] = (),
        is_default: bool = False,
        by: str = LOCAL,
    ) -> PublishedTypeView:
        """Let agents elsewhere ask for tasks of this type. It becomes a skill of the workspace's card.

        The default type is taken where a message names no skill. There is one at most: the last that was made so.
        """
        given = PublishedType(
            type=fields.name(type, "type"),
            description=fields.text(description, "description", most=rules.LONGEST_DESCRIPTION, blank=True),
            examples=arguments.names(
                "examples", list(examples), most=rules.MOST_EXAMPLES, longest=rules.LONGEST_EXAMPLE
            ),
            is_default=fields.truth(is_default, "is_default"),
            created_at=self._ledger.now(),
            created_by=arguments.name("by", by),
        )

        async def decide() -> tuple[ChangeSet, None]:
            records = {record.id: record for record in await self._store.records(rules.PUBLISHED, self._workspace)}
            if given.type not in records and len(records) >= rules.MOST_PUBLISHED:
                raise InvalidInput("type", f"must be one of at most {rules.MOST_PUBLISHED} that are published")
            changes = [self._published(given, records.get(given.type))]
            for record in records.values():
                other = published_type(record)
                if given.is_default and other.is_default and other.type != given.type:
                    changes.append(self._published(replace(other, is_default=False), record))
            audited = self._ledger.audit("a2a.published", by, {"type": given.type})
            return ChangeSet(records=tuple(changes), events=(audited,), at=self._ledger.now()), None

        await self._ledger.commit(decide)
        return published_type_view(given)

    def _published(self, given: PublishedType, before: Record | None) -> RecordChange:
        version = 0 if before is None else before.version
        return RecordChange(rules.PUBLISHED, self._workspace, given.type, version, given.body())

    async def list(self) -> list[PublishedTypeView]:
        """The types that agents elsewhere may ask for, by name."""
        found = await self._store.records(rules.PUBLISHED, self._workspace)
        return sorted((published_type_view(published_type(each)) for each in found), key=lambda each: each.type)

    async def unpublish(self, type: str, *, by: str = LOCAL) -> None:
        """Take no more tasks of this type from agents elsewhere. Those that they asked for stay theirs to follow."""

        async def decide() -> tuple[ChangeSet, None]:
            record = await self._store.record(rules.PUBLISHED, self._workspace, arguments.name("type", type))
            if record is None:
                raise NotFound("published type", type)
            gone = RecordChange(rules.PUBLISHED, self._workspace, record.id, record.version, None)
            audited = self._ledger.audit("a2a.unpublished", by, {"type": type})
            return ChangeSet(records=(gone,), events=(audited,), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    # Tasks that were asked for

    async def share(self, task_id: str) -> AgentTask:
        """Let a task be followed over A2A: it gets a random handle, once. Its subject is the context it belongs to."""
        handle = token_urlsafe(handle_rules.RANDOM_BYTES)

        async def decide() -> tuple[ChangeSet | None, AskedTask]:
            hot, now = await self._ledger.load(TaskId(task_id)), self._ledger.now()
            if (known := await self._asked.record(hot.id)) is not None:
                return None, asked_task(known)
            definition = await self._ledger.definition(hot.id)
            if await self._store.record(rules.PUBLISHED, self._workspace, definition.type) is None:
                raise InvalidInput("type", f"{definition.type} is not published: see `taskyard a2a publish`")
            asked = AskedTask(
                workspace=self._workspace,
                task_id=hot.id,
                handle=handle,
                context_id=definition.subject or hot.id,
                at=now,
            )
            records = (self._handles.created(handle, hot.id, now), self._moved(asked, None))
            return ChangeSet(records=records, at=now), asked

        asked = await self._ledger.commit(decide)
        return (await self._asked.lives([asked]))[asked.task_id][-1]

    def _moved(self, asked: AskedTask, before: Record | None) -> RecordChange:
        version = 0 if before is None else before.version
        record_id = rules.record_id(self._workspace, asked.task_id)
        return RecordChange(rules.ASKED, EVERYWHERE, record_id, version, asked.body())

    async def task(self, handle: str) -> AgentTask:
        """A task by its handle: one of another workspace, or of no task that was asked for over A2A, is not found."""
        return (await self._found(handle))[0]

    async def _found(self, handle: str) -> tuple[AgentTask, Record]:
        named = rules.handle_of_life(handle)
        if named is None:
            raise NotFound("handle", handle)
        record = await self._asked.record((await self._handles.get(named.handle)).task_id)
        if record is None or asked_task(record).handle != named.handle:
            raise NotFound("handle", handle)
        asked = asked_task(record)
        lives = (await self._asked.lives([asked])).get(asked.task_id, [])
        if named.life > len(lives):
            raise NotFound("handle", handle)
        return lives[named.life - 1], record

    async def tasks(
        self,
        *,
        context_id: str | None = None,
        state: str | None = None,
        after: int | None = None,
        limit: int = DEFAULT_LISTED,
        cursor: str | None = None,
    ) -> AgentTaskPage:
        """Tasks that were asked for over A2A, the latest state first: of a context, in a state, changed since a time.

        Of the 2000 that were asked for last. Each life of a task is one of them.
        """
        fields.whole(limit, "limit", least=1, most=MOST_LISTED)
        below = None if cursor is None else _place(cursor)
        wanted = None if state is None else fields.choice(AgentTaskState)(state, "state")
        asked = await self._asked.newest(MOST_LOOKED_AT)
        known = await self._asked.lives([each for each in asked if context_id in (None, each.context_id)])
        matching = [
            each
            for lives in known.values()
            for each in lives
            if wanted in (None, each.state) and (after is None or each.state_at >= after)
        ]
        ordered = sorted(matching, key=_order, reverse=True)
        rest = [each for each in ordered if below is None or _order(each) < below]
        more = len(rest) > limit
        return AgentTaskPage(rest[:limit], _cursor(rest[limit - 1]) if more else None, len(ordered))

    async def send(
        self, handle: str, message_id: str, content: Json, *, signal: str | None = None, sent_by: Person | str = LOCAL
    ) -> AgentTask:
        """Send something to a task that goes on: it answers the question that the task waits for.

        Where it waits for none, the message goes into the task's inbox. The same message again changes nothing.
        `signal` says which question is meant, where there are several.
        """
        name = fields.name(message_id, "message_id", most=LONGEST_MESSAGE_ID)

        async def decide() -> tuple[ChangeSet | None, TaskId | None]:
            task, record = await self._found(handle)
            hot, asked = await self._ledger.load(task.task_id), asked_task(record)
            if name in asked.message_ids:
                return None, None
            if task.state.is_final or task.state is AgentTaskState.AUTH_REQUIRED:
                raise IllegalTransition(task.task_id, hot.status, "message")
            waited_for = await self._approvals.waited_for(hot)
            if signal is not None and signal not in waited_for:
                rule = f"must be one that the task waits for: {', '.join(waited_for) or 'it waits for none now'}"
                raise InvalidInput("signal", rule)
            if not waited_for:
                return None, hot.id
            answer = await self._approvals.sent(hot.id, signal or waited_for[0], content, by=sent_by)
            known = replace(asked, message_ids=(*asked.message_ids, name)[-rules.MOST_MESSAGES :])
            return answer._replace(records=(*answer.records, self._moved(known, record))), None

        unasked = await self._ledger.commit(decide)
        if unasked is not None:
            await self._put_into_inbox(unasked, name, content, sent_by.by if isinstance(sent_by, Person) else sent_by)
        return await self.task(handle)

    async def _put_into_inbox(self, task_id: TaskId, message_id: str, content: Json, sent_by: str) -> None:
        """Into the inbox that a handler finds as `task.inbox()`: of the type of its agent, under the task's id."""
        hot, definition = await self._ledger.load(task_id), await self._ledger.definition(task_id)
        agent = definition.agent if hot.agent is None else (await self._ledger.maker(hot.agent)).type
        if agent is None:
            raise IllegalTransition(task_id, hot.status, "message")  # nobody works on it, and nobody knows who will
        put = await self._inbox.put(agent, task_id, content, item_id=f"a2a:{message_id}", sent_by=sent_by)
        if put.item is None:
            raise InvalidInput("content", "must wait: the inbox of the task is full")

    # Whom to tell

    async def set_push(
        self, handle: str, push_id: str, url: str, *, token: str = "", scheme: str = "", credentials: str = ""
    ) -> PushView:
        """Tell a URL about each state that the task comes to, at least once. The same id again replaces it."""
        push = self._checked(push_id, url, token, scheme, credentials)

        def change(pushes: Sequence[Push]) -> tuple[Push, ...]:
            changed = (*(each for each in pushes if each.id != push.id), push)
            if len(changed) > rules.MOST_PUSHES:
                raise InvalidInput("push_id", f"must be one of at most {rules.MOST_PUSHES} of a task")
            return changed

        await self._change_pushes(handle, change)
        return push_view(push)

    def _checked(self, push_id: str, url: str, token: str, scheme: str, credentials: str) -> Push:
        parts = checked_url(url)
        if parts.scheme not in ("http", "https"):
            raise InvalidInput("target", "must begin with https:// or http://")
        checked_webhook(parts, addresses.allowed(self._ledger.options.allowed_targets))
        if credentials and scheme not in rules.SCHEMES:
            raise InvalidInput("scheme", f"must be one of {', '.join(rules.SCHEMES)}")
        for path, value in (("token", token), ("credentials", credentials)):
            given = fields.text(value, path, most=rules.LONGEST_SECRET, blank=True)
            if not (given.isascii() and given.isprintable()):
                raise InvalidInput(path, "must be printable ASCII: it goes into a header")
        return Push(
            id=fields.name(push_id, "push_id", most=100), url=url, token=token, scheme=scheme, credentials=credentials
        )

    async def pushes(self, handle: str) -> list[PushView]:
        """Whom to tell about a task, without their secrets."""
        _, record = await self._found(handle)
        return [push_view(push) for push in asked_task(record).pushes]

    async def remove_push(self, handle: str, push_id: str) -> None:
        """Tell this one no more. What is on its way to it goes too. One that is not there is gone already."""

        def change(pushes: Sequence[Push]) -> tuple[Push, ...]:
            return tuple(each for each in pushes if each.id != push_id)

        await self._change_pushes(handle, change)

    async def _change_pushes(self, handle: str, change: ChangePushes) -> None:
        async def decide() -> tuple[ChangeSet, None]:
            _, record = await self._found(handle)
            asked = asked_task(record)
            changed = replace(asked, pushes=change(asked.pushes))
            return ChangeSet(records=(self._moved(changed, record),), at=self._ledger.now()), None

        await self._ledger.commit(decide)

    # Housekeeping

    async def forget_pruned(self) -> PruneStep:
        """Forget what was asked for and is pruned, of all workspaces, from where the last step ended."""
        forgotten = 0
        for _ in range(MOST_PAGES):
            page = await self._store.page(rules.ASKED, EVERYWHERE, below=self._looked_through, limit=AT_ONCE)
            self._looked_through = page[-1].id if len(page) == AT_ONCE else None
            there = await self._store.load([asked_task(record).task_id for record in page]) if page else {}
            gone = [RecordChange(*record[:4], None) for record in page if asked_task(record).task_id not in there]
            if gone:
                await self._ledger.commit_set(ChangeSet(records=tuple(gone), at=self._ledger.now()))
            forgotten += len(gone)
            if self._looked_through is None:
                return PruneStep(forgotten)
        return PruneStep(forgotten, more=True)


def _order(task: AgentTask) -> tuple[int, str]:
    return task.state_at, task.handle


def _cursor(task: AgentTask) -> str:
    return f"{task.state_at}-{task.handle}"


def _place(cursor: str) -> tuple[int, str]:
    at, dash, handle = cursor.partition("-")
    if not (dash and at.isascii() and at.isdigit() and len(at) < 20):
        raise InvalidInput("cursor", "must be one that a page was answered with")
    return int(at), handle
