"""Tasks of a yard that a server has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.client.transport.batches import Batches, BatchItem
from taskyard.client.transport.body import body, draft, listed, parts
from taskyard.client.transport.headers import shown
from taskyard.core.errors import InvalidInput
from taskyard.core.task import TaskId
from taskyard.definition.task_fields import TaskFields
from taskyard.features.attempts.views import Child, Input, Receipt
from taskyard.features.tasks.answers import Acted, Cancelled, Counted, Relations, Why
from taskyard.features.tasks.bulk import Bulk
from taskyard.features.tasks.cancellation import Cancellation
from taskyard.features.tasks.creation import growth_limits
from taskyard.features.tasks.creation.arrivals import Arrivals
from taskyard.features.tasks.creation.children import Children
from taskyard.features.tasks.creation.in_transaction import ExternalTransactions
from taskyard.features.tasks.creation.reruns import Reruns
from taskyard.features.tasks.lookup.inputs import Inputs
from taskyard.features.tasks.lookup.queries import Queries
from taskyard.features.tasks.lookup.results import Results
from taskyard.features.tasks.lookup.why import Explanations
from taskyard.features.tasks.parts import AttemptView
from taskyard.features.tasks.priorities import Priorities
from taskyard.features.tasks.result_views import Enqueued, result_of
from taskyard.features.tasks.task_rows import TaskRow
from taskyard.features.tasks.views import Details, Task
from taskyard.ledger.ids import mint_task
from taskyard.ledger.options import LOCAL
from taskyard.ledger.tracing import continued, enqueue_span

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection


DEFAULT_LISTED = 50

_SPELLED = {"dag_id": "dag", "parent_id": "parent", "text": "q"}


class Minted(NamedTuple):
    """Tasks to be put in, and the ids that were made up for this very call: nobody else can have them."""

    rows: list[object]
    ids: list[str | None]  # None: the caller gave one


ISSUE = "issue:"

_SEVERAL = ("status", "type")  # of which a filter may name some


class RemoteResults(Remote, Results):
    async def get(self, task_id: str, *, wait_sec: float = 0) -> Details:
        """A task with everything that is known of it; with `wait_sec`, once it has ended or that time is over."""
        query = {"wait_sec": wait_sec} if wait_sec else None
        return read(Details, await self._connection.ask_about(calls.GET, task_id, query=query, wait_sec=wait_sec))

    async def result(self, task_id: str | Sequence[str], *, timeout: float | None = None) -> Any:
        """The output of a task, once it has ended; a list of outputs, in their order, for a list of tasks.

        `TaskFailed` where it is a dead letter, `TaskCancelled`, `TaskGone` where it was pruned, and `TimeoutError`
        where it has not ended within `timeout` seconds: then the task goes on.
        """
        return await result_of(self.get, task_id, timeout)


class RemoteQueries(Remote, Queries):
    def __init__(self, connection: Connection, results: RemoteResults) -> None:
        super().__init__(connection)
        self._results = results

    async def history(self, task_id: str) -> list[AttemptView]:
        """How the attempts at a task ended, in their order."""
        return list((await self._results.get(task_id)).attempts)

    async def find(
        self,
        *,
        status: str | Sequence[str] = (),
        type: str | Sequence[str] = (),
        queue: str | None = None,
        agent: str | None = None,
        subject: str | None = None,
        dag_id: str | None = None,
        parent_id: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        limit: int = DEFAULT_LISTED,
        cursor: int = 0,
    ) -> list[Task]:
        """Tasks, newest first. The cursor is the `seq` of the last one seen."""
        answer = await self._connection.ask(
            calls.FIND,
            query={
                "status": status,
                "type": type,
                "queue": queue,
                "agent": agent,
                "subject": subject,
                "dag": dag_id,
                "parent": parent_id,
                "tag": tag,
                "q": text,
                "limit": limit,
                "cursor": cursor,
            },
        )
        return read(list[Task], answer["tasks"])

    async def stats(self) -> dict[str, dict[str, int]]:
        """Tasks by status and type."""
        return (await self._connection.ask(calls.STATS))["tasks"]

    async def rows(self, **which: Any) -> list[TaskRow]:
        """Tasks that match what `find` takes, newest first, each as one line without anything long."""
        answer = await self._connection.ask(calls.FIND, query={**_query(which), "short": True})
        return read(list[TaskRow], answer["tasks"])

    async def count(self, **which: Any) -> Counted:
        """How many tasks match what `find` takes, by status: all of them, or the newest of too many."""
        return read(Counted, await self._connection.ask(calls.COUNT, query=_query(which)))

    async def relations(self, task_id: str) -> Relations:
        """What the task depends on, what depends on it, what it spawned or repeats, and who spawned it."""
        return read(Relations, await self._connection.ask_about(calls.RELATIONS, task_id))


class RemoteExplanations(Remote, Explanations):
    async def why(self, task_id: str) -> Why:
        """What the task waits for, in words and in data."""
        return read(Why, await self._connection.ask_about(calls.WHY, task_id))


class RemoteInputs(Remote, Inputs):
    async def of(self, task_id: str, lease: str | None = None) -> list[Input]:
        """The outputs of what a task depends on, and what its context refers to.

        Under a validator's lease, also the artifacts of the output that it judges.
        """
        answer = await self._connection.ask_about(calls.INPUTS, task_id, headers=shown(lease))
        return read(list[Input], answer["inputs"])


class RemoteArrivals(Remote, Arrivals):
    def __init__(self, connection: Connection, results: RemoteResults) -> None:
        super().__init__(connection)
        self._results = results
        self._batches = Batches(self._send_task, self._send_tasks)

    async def close(self) -> None:
        await self._batches.close()

    async def enqueue(self, type: str, *, created_by: str = LOCAL, **fields: Unpack[TaskFields]) -> Enqueued:
        """Put one task in. Where its key is taken by a live task, that task is the answer (`created` is False)."""
        with enqueue_span([{"type": type, **fields}]):
            (row,), (ours,) = minted_tasks([{"type": type, **fields}])
            item = BatchItem(ours or "", parts(**cast("dict[str, object]", row)))
            # Of those that go out together, only one may depend on others, and no two may have been given one id.
            goes_alone = ours is None or "depends_on" in fields
            return await (self._send_task(item) if goes_alone else self._batches.send(item))

    async def enqueue_many(
        self,
        tasks: Sequence[Mapping[str, object]],
        *,
        created_by: str = LOCAL,
    ) -> list[Enqueued]:
        """Put up to 1,000 tasks in, all or none. One whose key or id is taken is answered with the task that has it."""
        growth_limits.check_batch(len(tasks))
        with enqueue_span(tasks):
            minted = minted_tasks(tasks)
            answer = await self._connection.ask(calls.ENQUEUE_MANY, body(tasks=minted.rows))
        return [self._as_enqueued(each, ours) for each, ours in zip(answer["tasks"], minted.ids, strict=True)]

    async def _send_task(self, item: BatchItem) -> Enqueued:
        return self._as_enqueued(
            await self._connection.ask(calls.ENQUEUE, f"{{{item.members}}}".encode()), item.task_id
        )

    def _as_enqueued(self, answer: Mapping[str, Any], ours: str | None) -> Enqueued:
        # An earlier try may have made it without our hearing of it.
        created = answer["created"] or answer["task"]["id"] == ours
        return read(Enqueued, answer["task"]).awaited_by(self._results.result, created=created)

    async def _send_tasks(self, items: Sequence[BatchItem]) -> list[Enqueued]:
        """All or none: where one is at fault, the others are sent again, and have the ids that they had."""
        rows = listed(f"{{{item.members}}}" for item in items)
        answer = await self._connection.ask(calls.ENQUEUE_MANY, f'{{"tasks":{rows}}}'.encode())
        return [self._as_enqueued(each, item.task_id) for each, item in zip(answer["tasks"], items, strict=True)]


class RemoteExternalTransactions(Remote, ExternalTransactions):
    async def enqueue_in(
        self, connection: Any, type: str, *, created_by: str = LOCAL, **fields: Unpack[TaskFields]
    ) -> Enqueued:
        """Not over HTTP: there is no transaction that both sides could be in."""
        raise InvalidInput("connection", "can only be joined where the store is connected to, not through a server")


class RemoteCancellation(Remote, Cancellation):
    async def cancel(
        self,
        task_id: str,
        reason: str = "cancelled",
        *,
        cascade: bool | None = None,
        by: str | None = None,
        dry_run: bool = False,
    ) -> Cancelled:
        """Take a task out of the yard, and by default what depends on it and what it spawned; or only say which."""
        request = body(reason=reason, cascade=cascade, dry_run=dry_run)
        return read(Cancelled, await self._connection.ask_about(calls.CANCEL, task_id, request))


class RemoteReruns(Remote, Reruns):
    async def rerun(self, task_id: str, *, created_by: str = LOCAL) -> Task:
        """Do a finished task again as a new task with a fresh session. The old one stays as it is."""
        return _created(read(Task, await self._connection.ask_about(calls.RERUN, task_id)))

    async def rerun_subject(self, subject: str, *, task_id: str | None = None, created_by: str = LOCAL) -> Task:
        """Do the latest task about an issue again, or the one given, as a new task with a fresh session."""
        issue_id = subject.removeprefix(ISSUE)
        if issue_id == subject:
            raise InvalidInput("subject", f"must be {ISSUE}ID, where it is asked for over HTTP")
        answer = await self._connection.ask(calls.RERUN_ISSUE, body(task_id=task_id), issue_id=issue_id)
        return _created(read(Task, answer))


class RemotePriorities(Remote, Priorities):
    async def set(self, task_id: str, priority: int, *, by: str = LOCAL) -> Receipt:
        """Move a waiting task within its lane."""
        return read(Receipt, await self._connection.ask_about(calls.PRIORITY, task_id, body(priority=priority)))


class RemoteBulk(Remote, Bulk):
    async def act(
        self,
        action: str,
        *,
        by: str,
        dry_run: bool = False,
        priority: int | None = None,
        note: str = "",
        **which: Any,
    ) -> Acted:
        """Do something with every task that matches what `find` takes, newest first; a dry run only says which."""
        matching = {
            name: [value] if name in _SEVERAL and isinstance(value, str) else value for name, value in which.items()
        }
        request = body(action=action, filter=matching, dry_run=dry_run, priority=priority, note=note)
        return read(Acted, await self._connection.ask(calls.BULK, request))


class RemoteChildren(Remote, Children):
    async def spawn(
        self,
        task_id: str,
        lease: str,
        tasks: Sequence[Mapping[str, object]],
        *,
        name: str,
        wait: bool = False,
    ) -> list[TaskId]:
        """Put tasks into the graph of the task at hand; with `wait`, suspend it until they are done.

        Asked again under the same name, it makes nothing: the first call's tasks are the answer.
        """
        with enqueue_span(tasks):
            drafts = [continued(draft(fields)) for fields in tasks]
            answer = await self._connection.ask_about(
                calls.SPAWN, task_id, body(lease=lease, name=name, tasks=drafts, wait=wait)
            )
        return answer["task_ids"]

    async def of(self, task_id: str, name: str) -> list[Child] | None:
        """How the tasks spawned under this name ended; None while one of them has not."""
        found = (await self._connection.ask_about(calls.CHILDREN, task_id, query={"name": name}))["children"]
        return None if found is None else read(list[Child], found)


def _query(which: dict[str, Any]) -> dict[str, Any]:
    return {_SPELLED.get(name, name): value for name, value in which.items()}


def minted_tasks(tasks: Sequence[object]) -> Minted:
    """The tasks, each with an id. What is no task is left for the server to refuse."""
    ids: list[str | None] = [None if _has_id(task) else mint_task() for task in tasks]
    rows = [continued(draft(task)) for task in tasks]
    return Minted(
        [
            row if ours is None else {**cast("dict[str, object]", row), "id": ours}
            for row, ours in zip(rows, ids, strict=True)
        ],
        ids,
    )


def _has_id(task: object) -> bool:
    return not isinstance(task, Mapping) or "id" in task


def _created(task: Task) -> Task:
    task.created = True
    return task
