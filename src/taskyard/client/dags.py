"""Dags of a yard that a server has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.events import MOST_LISTED
from taskyard.client.remote import Remote
from taskyard.client.tasks import DEFAULT_LISTED, Minted, RemoteQueries, RemoteResults, minted_tasks
from taskyard.client.transport.body import body
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.task import DagId, lone_task
from taskyard.features.dags.service import Dags
from taskyard.features.dags.views import Dag, DagInShort, DagView
from taskyard.features.tasks.answers import Cancelled
from taskyard.features.tasks.views import Task
from taskyard.ledger.ids import mint
from taskyard.ledger.options import LOCAL
from taskyard.ledger.tracing import enqueue_span

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection


class RemoteDags(Remote, Dags):
    def __init__(self, connection: Connection, queries: RemoteQueries, results: RemoteResults) -> None:
        super().__init__(connection)
        self._queries = queries
        self._results = results

    async def get(self, dag_id: str) -> DagView:
        """A graph with its tasks. A lone task's graph is the task alone."""
        return read(DagView, await self._connection.ask(calls.DAG, dag_id=dag_id))

    async def list(self, *, limit: int = DEFAULT_LISTED, cursor: str | None = None) -> list[DagInShort]:
        """Stored graphs, the highest id first: of those that the yard named, the newest.

        The cursor is the id of the last one seen.
        """
        answer = await self._connection.ask(calls.DAGS, query={"limit": limit, "cursor": cursor})
        return read(list[DagInShort], answer["dags"])

    async def tasks(self, dag: DagView) -> list[Task]:
        """The tasks of a graph that was read."""
        if [task.id for task in dag.tasks] == [lone_task(dag.id)]:
            return [await self._results.get(dag.tasks[0].id)]
        found: dict[str, Task] = {}
        cursor = 0
        while page := await self._queries.find(dag_id=dag.id, limit=MOST_LISTED, cursor=cursor):
            found |= {task.id: task for task in page}
            cursor = page[-1].seq
        return [found[task.id] for task in dag.tasks if task.id in found]

    async def submit(self, dag: Mapping[str, object], *, created_by: str = LOCAL) -> Dag:
        """Put a whole graph in, or nothing. Its tasks name each other by `name`, or by ids they mint."""
        if not isinstance(cast("object", dag), Mapping):
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

    async def cancel(
        self, dag_id: str, reason: str = "cancelled", *, by: str = LOCAL, dry_run: bool = False
    ) -> Cancelled:
        """Cancel every task of a graph that has not ended; or only say which."""
        request = body(reason=reason, dry_run=dry_run)
        return read(Cancelled, await self._connection.ask(calls.CANCEL_DAG, request, dag_id=dag_id))

    async def set_budget(self, dag_id: str, ceiling_usd: str | float | None, *, by: str = LOCAL) -> None:
        """What a graph may spend in all; nothing: no limit. What waited for its money gets another chance."""
        await self._connection.ask(calls.DAG_BUDGET, body(budget_ceiling_usd=ceiling_usd), dag_id=dag_id)

    async def set_limit(self, dag_id: str, max_tasks: int | None, *, by: str = LOCAL) -> None:
        """How many tasks a graph may have in all; nothing: as many as any."""
        await self._connection.ask(calls.DAG_LIMIT, body(max_tasks=max_tasks), dag_id=dag_id)

    async def _put_in(self, call: calls.Call, dag_id: str, tasks: object, given: dict[str, object]) -> Dag:
        minted = minted_tasks(_named(cast("list[object]", tasks))) if isinstance(tasks, list) else Minted([], [])
        request = body(**{**given, "tasks": minted.rows if isinstance(tasks, list) else tasks})
        try:
            return _made(read(Dag, await self._connection.ask(call, request, dag_id=dag_id)))
        except InvalidInput as refused:
            if refused.facts["field"] not in ("id", "tasks") or not any(minted.ids):
                raise
            # That something is taken may mean that an earlier try took it, without our hearing of it.
            if (stored := await self._stored(dag_id, minted)) is None:
                raise
            return stored

    async def _stored(self, dag_id: str, minted: Minted) -> Dag | None:
        rows = cast("list[dict[str, str]]", minted.rows)
        try:
            tasks = {row["name"]: await self._results.get(row["id"]) for row in rows}
        except NotFound:
            return None
        return _made(Dag(DagId(dag_id), tasks))


def _made(dag: Dag) -> Dag:
    """All of whose tasks are this call's."""
    for task in dag.tasks.values():
        task.created = True
    return dag


def _named(tasks: Sequence[object]) -> list[object]:
    """The tasks of a graph, each with the name that it is answered under."""
    return [
        {"name": cast("Mapping[str, object]", task).get("id") or f"#{index}", **cast("Mapping[str, object]", task)}
        if isinstance(task, Mapping)
        else task
        for index, task in enumerate(tasks)
    ]
