"""Tasks of a yard that a server has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote, over_http
from taskyard.client.transport.batches import Batches, BatchItem
from taskyard.client.transport.body import body, draft, listed, parts
from taskyard.client.transport.call_encoding import Arguments
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import is_mapping
from taskyard.core.task import TaskId
from taskyard.definition.task_fields import TaskFields, TaskFilter
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
from taskyard.features.tasks.views import Details, Task
from taskyard.ledger.ids import mint_task
from taskyard.ledger.options import LOCAL
from taskyard.ledger.tracing import continued, enqueue_span

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection


DEFAULT_LISTED = 50

SPELLED = {"dag_id": "dag", "parent_id": "parent", "text": "q"}


class Minted(NamedTuple):
    """Tasks to be put in, and the ids that were made up for this very call: nobody else can have them."""

    rows: list[object]
    ids: list[str | None]  # None: the caller gave one


ISSUE = "issue:"

_SEVERAL = ("status", "type")  # of which a filter may name some
_FILTER = frozenset({*TaskFilter.__annotations__, "ids"})


class RemoteResults(Remote, Results):
    get = over_http(Results.get, calls.GET)

    async def result(self, task_id: str | Sequence[str], *, timeout: float | None = None) -> Any:
        """By hand: it asks again until the task has ended."""
        return await result_of(self.get, task_id, timeout)


def _attempts(document: Any) -> list[AttemptView]:
    return [*read(Details, document).attempts]


class RemoteQueries(Remote, Queries):
    history = over_http(Queries.history, calls.GET, reads=_attempts)
    find = over_http(Queries.find, calls.FIND, names=SPELLED)
    stats = over_http(Queries.stats, calls.STATS)
    rows = over_http(Queries.rows, calls.FIND, names=SPELLED, prepare=lambda given: {**given, "short": True})
    count = over_http(Queries.count, calls.COUNT, names=SPELLED)
    suggest = over_http(Queries.suggest, calls.SUGGEST)
    relations = over_http(Queries.relations, calls.RELATIONS)


class RemoteExplanations(Remote, Explanations):
    why = over_http(Explanations.why, calls.WHY)


class RemoteInputs(Remote, Inputs):
    of = over_http(Inputs.of, calls.INPUTS)


class RemoteArrivals(Remote, Arrivals):
    def __init__(self, connection: Connection, results: RemoteResults) -> None:
        super().__init__(connection)
        self._results = results
        self._batches = Batches(self._send_task, self._send_tasks)

    async def close(self) -> None:
        await self._batches.close()

    async def enqueue(self, type: str, *, created_by: str = LOCAL, **fields: Unpack[TaskFields]) -> Enqueued:
        """By hand: those that come at the same time go out together, each with an id that is minted here."""
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
        """By hand: each gets an id here, so that the same call again does no harm."""
        growth_limits.check_batch(len(tasks))
        with enqueue_span(tasks):
            minted = minted_tasks(tasks)
            answer = await self.connection.ask(calls.ENQUEUE_MANY, body(tasks=minted.rows))
        return [self._as_enqueued(each, ours) for each, ours in zip(answer["tasks"], minted.ids, strict=True)]

    async def _send_task(self, item: BatchItem) -> Enqueued:
        return self._as_enqueued(await self.connection.ask(calls.ENQUEUE, f"{{{item.members}}}".encode()), item.task_id)

    def _as_enqueued(self, answer: Mapping[str, Any], ours: str | None) -> Enqueued:
        # An earlier try may have made it without our hearing of it.
        created = answer["created"] or answer["task"]["id"] == ours
        return read(Enqueued, answer["task"]).awaited_by(self._results.result, created=created)

    async def _send_tasks(self, items: Sequence[BatchItem]) -> list[Enqueued]:
        """All or none: where one is at fault, the others are sent again, and have the ids that they had."""
        rows = listed(f"{{{item.members}}}" for item in items)
        answer = await self.connection.ask(calls.ENQUEUE_MANY, f'{{"tasks":{rows}}}'.encode())
        return [self._as_enqueued(each, item.task_id) for each, item in zip(answer["tasks"], items, strict=True)]


class RemoteExternalTransactions(Remote, ExternalTransactions):
    async def enqueue_in(
        self, connection: Any, type: str, *, created_by: str = LOCAL, **fields: Unpack[TaskFields]
    ) -> Enqueued:
        """Not over HTTP: there is no transaction that both sides could be in."""
        raise InvalidInput("connection", "can only be joined where the store is connected to, not through a server")


class RemoteCancellation(Remote, Cancellation):
    cancel = over_http(Cancellation.cancel, calls.CANCEL)


def _created(document: Any) -> Task:
    task = read(Task, document)
    task.created = True
    return task


def _about_issue(given: Arguments) -> Arguments:
    subject = given.pop("subject")
    if not subject.startswith(ISSUE):
        raise InvalidInput("subject", f"must be {ISSUE}ID, where it is asked for over HTTP")
    return {**given, "issue_id": subject.removeprefix(ISSUE)}


class RemoteReruns(Remote, Reruns):
    rerun = over_http(Reruns.rerun, calls.RERUN, reads=_created)
    rerun_subject = over_http(Reruns.rerun_subject, calls.RERUN_ISSUE, prepare=_about_issue, reads=_created)


class RemotePriorities(Remote, Priorities):
    set = over_http(Priorities.set, calls.PRIORITY)


def _matching(given: Arguments) -> Arguments:
    """What is filtered by stands by itself in the body."""
    rest = {name: value for name, value in given.items() if name not in _FILTER}
    which = {name: value for name, value in given.items() if name in _FILTER and value is not None}
    several = {name: [value] for name, value in which.items() if name in _SEVERAL and isinstance(value, str)}
    return {**rest, "filter": which | several}


class RemoteBulk(Remote, Bulk):
    act = over_http(Bulk.act, calls.BULK, prepare=_matching)


class RemoteChildren(Remote, Children):
    of = over_http(Children.of, calls.CHILDREN)

    async def spawn(
        self,
        task_id: str,
        lease: str,
        tasks: Sequence[Mapping[str, object]],
        *,
        name: str,
        wait: bool = False,
    ) -> list[TaskId]:
        """By hand: its span lasts until the answer."""
        with enqueue_span(tasks):
            drafts = [continued(draft(fields)) for fields in tasks]
            request = body(lease=lease, name=name, tasks=drafts, wait=wait)
            answer = await self.connection.ask(calls.SPAWN, request, task_id=task_id)
        return answer["task_ids"]


def minted_tasks(tasks: Sequence[object]) -> Minted:
    """The tasks, each with an id. What is no task is left for the server to refuse."""
    ids: list[str | None] = [None if _has_id(task) else mint_task() for task in tasks]
    rows = [continued(draft(task)) for task in tasks]
    return Minted(
        [
            {**row, "id": ours} if ours is not None and is_mapping(row) else row
            for row, ours in zip(rows, ids, strict=True)
        ],
        ids,
    )


def _has_id(task: object) -> bool:
    return not isinstance(task, Mapping) or "id" in task
