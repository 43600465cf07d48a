"""Putting work in. Ids are minted here, so that a call whose answer was lost can be made again.

Who put it in is said by the token: `created_by` is there because the local yard has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.batches import Batches, Item
from taskyard.client.body import body, draft, listed, parts
from taskyard.client.showing import Showing
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.task import DagId
from taskyard.features.dags.views import Dag
from taskyard.features.tasks import growth_limits
from taskyard.features.tasks.result_views import Enqueued
from taskyard.ledger.ids import mint, mint_task
from taskyard.ledger.tracing import continued, enqueue_span

if TYPE_CHECKING:
    from taskyard.client.connection import Connection

LOCAL = "human:local"


class Minted(NamedTuple):
    """Tasks to be put in, and the ids that were made up for this very call: nobody else can have them."""

    rows: list[object]
    ids: list[str | None]  # None: the caller gave one


class Producing(Showing):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._arrivals = Batches(self._send_task, self._send_tasks)

    async def enqueue(self, type: str, *, created_by: str = LOCAL, **fields: Any) -> Enqueued:
        """Put one task in. Where its key is taken by a live task, that task is the answer (`created` is False)."""
        with enqueue_span([{"type": type, **fields}]):
            (row,), (ours,) = _minted([{"type": type, **fields}])
            item = Item(ours or "", parts(**cast(dict[str, object], row)))
            # Of those that go out together, only one may depend on others, and no two may have been given one id.
            goes_alone = ours is None or "depends_on" in fields
            return await (self._send_task(item) if goes_alone else self._arrivals.send(item))

    async def _send_task(self, item: Item) -> Enqueued:
        return self._enqueued(await self._ask(calls.ENQUEUE, f"{{{item.members}}}".encode()), item.task_id)

    async def _send_tasks(self, items: Sequence[Item]) -> list[Enqueued]:
        """All or none: where one is at fault, the others are sent again, and have the ids that they had."""
        rows = listed(f"{{{item.members}}}" for item in items)
        answer = await self._ask(calls.ENQUEUE_MANY, f'{{"tasks":{rows}}}'.encode())
        return [self._enqueued(each, item.task_id) for each, item in zip(answer["tasks"], items, strict=True)]

    def _enqueued(self, answer: Mapping[str, Any], ours: str | None) -> Enqueued:
        # An earlier try may have made it without our hearing of it.
        created = answer["created"] or answer["task"]["id"] == ours
        return read(Enqueued, answer["task"]).awaited_by(self.result, created=created)

    async def enqueue_many(
        self,
        tasks: Sequence[Mapping[str, object]],
        *,
        created_by: str = LOCAL,
    ) -> list[Enqueued]:
        """Put up to 1,000 tasks in, all or none. One whose key or id is taken is answered with the task that has it."""
        growth_limits.check_batch(len(tasks))
        with enqueue_span(tasks):
            minted = _minted(tasks)
            answer = await self._ask(calls.ENQUEUE_MANY, body(tasks=minted.rows))
        return [self._enqueued(each, ours) for each, ours in zip(answer["tasks"], minted.ids, strict=True)]

    async def submit(self, dag: Mapping[str, object], *, created_by: str = LOCAL) -> Dag:
        """Put a whole graph in, or nothing. Its tasks name each other by `name`, or by ids they mint."""
        if not isinstance(cast(object, dag), Mapping):
            raise InvalidInput("dag", "must be an object")
        given = {"id": f"dag_{mint()}", **{str(name): value for name, value in dag.items()}}
        with enqueue_span(dag.get("tasks")):
            return await self._put_in(calls.SUBMIT, str(given["id"]), dag.get("tasks"), given)

    async def add(
        self,
        dag_id: str,
        tasks: Sequence[Mapping[str, object]],
        *,
        created_by: str = LOCAL,
    ) -> Dag:
        """Add tasks to a graph that exists; a finished one goes on. They may depend on each other and on its tasks."""
        with enqueue_span(tasks):
            return await self._put_in(calls.ADD, dag_id, list(tasks), {})

    async def _put_in(self, call: calls.Call, dag_id: str, tasks: object, given: dict[str, object]) -> Dag:
        minted = _minted(_named(cast(list[object], tasks))) if isinstance(tasks, list) else Minted([], [])
        request = body(**{**given, "tasks": minted.rows if isinstance(tasks, list) else tasks})
        try:
            return _made(read(Dag, await self._ask(call, request, dag_id=dag_id)))
        except InvalidInput as refused:
            if refused.facts["field"] not in ("id", "tasks") or not any(minted.ids):
                raise
            # That something is taken may mean that an earlier try took it, without our hearing of it.
            if (stored := await self._stored(dag_id, minted)) is None:
                raise
            return stored

    async def _stored(self, dag_id: str, minted: Minted) -> Dag | None:
        rows = cast(list[dict[str, str]], minted.rows)
        try:
            tasks = {row["name"]: await self.get(row["id"]) for row in rows}
        except NotFound:
            return None
        return _made(Dag(DagId(dag_id), tasks))

    async def enqueue_in(self, connection: Any, type: str, *, created_by: str = LOCAL, **fields: Any) -> Enqueued:
        """Not over HTTP: there is no transaction that both sides could be in."""
        raise InvalidInput("connection", "can only be joined where the store is connected to, not through a server")


def _made(dag: Dag) -> Dag:
    """All of whose tasks are this call's."""
    for task in dag.tasks.values():
        task.created = True
    return dag


def _minted(tasks: Sequence[object]) -> Minted:
    """The tasks, each with an id. What is no task is left for the server to refuse."""
    ids: list[str | None] = [None if _has_id(task) else mint_task() for task in tasks]
    rows = [continued(draft(task)) for task in tasks]
    return Minted(
        [
            row if ours is None else {**cast(dict[str, object], row), "id": ours}
            for row, ours in zip(rows, ids, strict=True)
        ],
        ids,
    )


def _has_id(task: object) -> bool:
    return not isinstance(task, Mapping) or "id" in task


def _named(tasks: Sequence[object]) -> list[object]:
    """The tasks of a graph, each with the name that it is answered under."""
    return [
        {"name": cast(Mapping[str, object], task).get("id") or f"#{index}", **cast(Mapping[str, object], task)}
        if isinstance(task, Mapping)
        else task
        for index, task in enumerate(tasks)
    ]
