"""Background subagents: tasks that are started and left alone, and whose parents hear of their end in an inbox."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Unpack

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.json_value import Json, compact, is_object
from taskyard.core.lease import Lease
from taskyard.core.task import Definition, Hot, TaskId
from taskyard.definition import arguments
from taskyard.definition.fields import truth, whole
from taskyard.features.attempts.notes import Notes
from taskyard.features.inbox.inbox_feed import marked
from taskyard.features.inbox.rules import Scope
from taskyard.features.inbox.transcripts import Transcripts
from taskyard.features.subagents.views import StartedSubagent, Subagent, SubagentFields, seen, started
from taskyard.features.tasks.creation.children import Children, child_of
from taskyard.features.tasks.creation.drafts import Drafts
from taskyard.features.tasks.creation.growth import spawned_children
from taskyard.ledger.ids import mint
from taskyard.ledger.ledger import KeyTaken, Ledger
from taskyard.ledger.options import LOCAL
from taskyard.ledger.tracing import enqueue_span

MOST_TURNS = 100_000
MOST_LISTED = 200
DEFAULT_LISTED = 50
OWN_CONVERSATION = "default"


class Subagents:
    def __init__(
        self, ledger: Ledger, notes: Notes, drafts: Drafts, children: Children, transcripts: Transcripts
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._notes = notes
        self._drafts = drafts
        self._children = children
        self._transcripts = transcripts

    async def start(
        self,
        type: str,
        prompt: str,
        *,
        parent: str,
        conversation: str = OWN_CONVERSATION,
        task_id: str | None = None,
        created_by: str = LOCAL,
        **how: Unpack[SubagentFields],
    ) -> StartedSubagent:
        """Start a subagent in the background, and go on at once.

        The parent's inbox gets one item for its end, unless it is `silent`. With `agent_id` and `conversation_id` an
        existing agent goes on with an existing conversation. The same tool call again gets the same subagent, and so
        does a task id that the caller mints.
        """
        whose = Scope(arguments.name("parent", parent), arguments.name("conversation", conversation))
        facts, asked = _asked(whose, type, prompt, **how)
        if task_id is not None:
            asked["id"] = task_id
        planning, now = await self._drafts.planning_new(), self._ledger.now()
        maker = arguments.name("created_by", created_by)
        with enqueue_span([asked]):
            draft = self._drafts.draft(asked, planning, created_by=maker, dag_id=None, now=now)
        if draft.depends_on:
            raise InvalidInput("depends_on", "cannot be given for a subagent, which begins at once")

        async def decide() -> tuple[ChangeSet | None, StartedSubagent]:
            if (known := await self._store.record("subagent", self._workspace, draft.id)) is not None:
                return None, started(known)
            births = await self._drafts.births([draft], planning, heights={}, done=frozenset(), now=self._ledger.now())
            return self._as_subagent(births, draft, facts)

        return await self._begun(decide)

    async def spawn(
        self,
        task_id: str,
        lease: str,
        type: str,
        prompt: str,
        *,
        name: str,
        conversation: str | None = None,
        **how: Unpack[SubagentFields],
    ) -> StartedSubagent:
        """Start a subagent from the task at hand, in its graph. Asked again under the same name, it is the same one.

        The inbox that gets the item is that of the holder's type of agent; the conversation is the task's own, unless
        another is given.
        """
        name = arguments.name("name", name)
        parent_id = TaskId(task_id)
        hot = await self._ledger.held(parent_id, Lease(lease))
        whose = Scope(await self._type_name(hot), arguments.name("conversation", conversation or task_id))
        facts, task = _asked(whose, type, prompt, **how)
        maker = await self._children.spawner(parent_id)
        asked = child_of(parent_id, task, maker.under)
        planning, now = await self._drafts.planning_new(), self._ledger.now()
        with enqueue_span([asked]):
            draft = self._drafts.draft(asked, planning, created_by=maker.by, dag_id=None, now=now, under=maker.under)

        async def decide() -> tuple[ChangeSet | None, StartedSubagent]:
            held = await self._ledger.held(parent_id, Lease(lease))
            if (known := await self._spawned_before(held, name)) is not None:
                return None, started(known)
            return self._as_subagent(await self._children.spawned(held, [draft], name, wait=False), draft, facts)

        return await self._begun(decide)

    async def list(
        self,
        *,
        parent: str | None = None,
        conversation: str | None = None,
        limit: int = DEFAULT_LISTED,
        below: str | None = None,
    ) -> list[Subagent]:
        """Background subagents, newest first; the next page is that below the last task id of this one."""
        whole(limit, "limit", least=1, most=MOST_LISTED)
        views: list[Subagent] = []
        while len(views) < limit:
            page = await self._store.page("subagent", self._workspace, below=below, limit=MOST_LISTED)
            wanted = [record for record in page if _is_of(record, parent, conversation)]
            views += [view for record in wanted if (view := await self._seen(record)) is not None]
            if len(page) < MOST_LISTED:
                break
            below = page[-1].id
        return views[:limit]

    async def get(self, task_id: str) -> Subagent:
        """One background subagent, by its task's id."""
        record = await self._store.record("subagent", self._workspace, arguments.name("task_id", task_id))
        view = None if record is None else await self._seen(record)
        if view is None:
            raise NotFound("subagent", task_id)
        return view

    async def transcript(self, task_id: str) -> list[dict[str, Json]]:
        """The lines of a subagent's transcript, as they are stored, wherever its file is."""
        return await self._transcripts.read(task_id)

    async def _seen(self, record: Record) -> Subagent | None:
        hot = (await self._ledger.load_all([TaskId(record.id)])).get(TaskId(record.id))
        if hot is None:
            return None  # pruned in this moment
        progress = None if hot.progress is None else json.loads(hot.progress)
        return seen(record, hot, await self._store.attempts(hot.id), progress, self._ledger.now())

    async def _begun(
        self, decide: Callable[[], Awaitable[tuple[ChangeSet | None, StartedSubagent]]]
    ) -> StartedSubagent:
        try:
            begun = await self._ledger.commit(decide)
        except KeyTaken as refused:
            known = await self._store.record("subagent", self._workspace, next(iter(refused.by.values())))
            if known is None:
                raise InvalidInput("idempotency_key", "is that of a task that is no subagent") from None
            return started(known)
        await self._transcripts.write(begun.task_id)
        return begun

    def _as_subagent(
        self, change_set: ChangeSet, draft: Definition, facts: Mapping[str, Json]
    ) -> tuple[ChangeSet, StartedSubagent]:
        """The task, with what is kept of it as a subagent, in one stored change."""
        body: dict[str, Json] = {**facts, "output_file": str(self._transcripts.file_of(draft.id))}
        records = (
            RecordChange("subagent", self._workspace, draft.id, 0, body),
            RecordChange("transcript", self._workspace, draft.id, 0, {}),
        )
        whole = marked(change_set)._replace(records=(*change_set.records, *records))
        return whole, started(Record("subagent", self._workspace, draft.id, 1, body))

    async def _spawned_before(self, hot: Hot, name: str) -> Record | None:
        noted = (await self._notes.of(hot)).get(name)
        if noted is None:
            return None
        children = spawned_children(noted)
        known = await self._store.record("subagent", self._workspace, children[0]) if children else None
        if known is None:
            raise InvalidInput("name", f"{name} stands for something else in this task already")
        return known

    async def _type_name(self, hot: Hot) -> str:
        agent = None if hot.agent is None else (await self._ledger.configuration.current()).agents.get(hot.agent)
        return hot.agent or "" if agent is None else agent.type


def _asked(
    whose: Scope,
    type: str,
    prompt: str,
    *,
    description: str = "",
    model: str | None = None,
    max_turns: int | None = None,
    silent: bool = False,
    agent_id: str | None = None,
    conversation_id: str | None = None,
    tool_call_id: str | None = None,
    fields: Mapping[str, object] | None = None,
) -> tuple[dict[str, Json], dict[str, object]]:
    """The facts of a subagent, and the fields of its task. What its agent must know of it is in the payload."""
    facts: dict[str, Json] = {
        "subagent_id": f"subagent_{mint()}",
        "type": type,
        "prompt": prompt,
        "description": arguments.words("description", description) or type,
        "parent": whose.agent,
        "conversation": whose.conversation,
        "model": None if model is None else arguments.name("model", model),
        "max_turns": None if max_turns is None else whole(max_turns, "max_turns", least=1, most=MOST_TURNS),
        "silent": truth(silent, "silent"),
        "tool_call_id": None if tool_call_id is None else arguments.name("tool_call_id", tool_call_id),
    }
    more = fields or {}
    payload = more.get("payload", {})
    if not is_object(payload):
        raise InvalidInput("payload", "must be an object, since what the subagent must know is added to it")
    subagent = {name: facts[name] for name in ("subagent_id", "description", "max_turns", "tool_call_id")}
    task: dict[str, object] = {
        "title": str(facts["description"])[:255],
        **more,
        "type": type,
        "prompt": prompt,
        "payload": {**payload, "subagent": subagent},
    }
    if tool_call_id is not None:
        task.setdefault("idempotency_key", _key(facts))
    optional: dict[str, object] = {
        "model_preferences": None if model is None else [facts["model"]],
        "agent": agent_id,
        "session": None if conversation_id is None else {"session_id": conversation_id},
    }
    return facts, {**task, **{name: value for name, value in optional.items() if value is not None}}


def _key(facts: Mapping[str, Json]) -> str:
    """A tool call is made once by one conversation of one parent, however often it is asked for."""
    call = compact([facts["parent"], facts["conversation"], facts["tool_call_id"]])
    return f"tool-call:{sha256(call.encode()).hexdigest()}"


def _is_of(record: Record, parent: str | None, conversation: str | None) -> bool:
    return parent in (None, record.body["parent"]) and conversation in (None, record.body["conversation"])
