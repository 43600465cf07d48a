"""Dags of a yard that a server has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.events import MOST_LISTED
from taskyard.client.remote import Remote, over_http
from taskyard.client.tasks import Minted, RemoteQueries, RemoteResults, minted_tasks
from taskyard.client.transport.body import body
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.json_value import is_list, is_mapping
from taskyard.core.task import DagId, lone_task
from taskyard.features.dags.service import Dags
from taskyard.features.dags.views import Dag, DagEstimate, DagPage, DagView
from taskyard.features.tasks.views import Task
from taskyard.ledger.ids import mint
from taskyard.ledger.options import LOCAL
from taskyard.ledger.tracing import enqueue_span

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection

_SPELLED = {"text": "q", "created_by": "created_by"}  # whose graphs are listed, not who asks


class RemoteDags(Remote, Dags):
    def __init__(self, connection: Connection, queries: RemoteQueries, results: RemoteResults) -> None:
        super().__init__(connection)
        self._queries = queries
        self._results = results

    get = over_http(Dags.get, calls.DAG)
    cancel = over_http(Dags.cancel, calls.CANCEL_DAG)
    set_budget = over_http(Dags.set_budget, calls.DAG_BUDGET, names={"ceiling_usd": "budget_ceiling_usd"})
    set_limit = over_http(Dags.set_limit, calls.DAG_LIMIT)

    async def tasks(self, dag: DagView) -> list[Task]:
        """By hand: it reads page by page."""
        if [task.id for task in dag.tasks] == [lone_task(dag.id)]:
            return [await self._results.get(dag.tasks[0].id)]
        found: dict[str, Task] = {}
        cursor = 0
        while page := await self._queries.find(dag_id=dag.id, limit=MOST_LISTED, cursor=cursor):
            found |= {task.id: task for task in page}
            cursor = page[-1].seq
        return [found[task.id] for task in dag.tasks if task.id in found]

    async def submit(self, dag: Mapping[str, object], *, created_by: str = LOCAL) -> Dag:
        """By hand: its tasks get their ids here, and its span lasts until the answer."""
        if not is_mapping(dag):
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
        """By hand, for the same reasons."""
        with enqueue_span(tasks):
            return await self._put_in(calls.ADD, dag_id, list(tasks), {})

    async def _put_in(self, call: calls.Call, dag_id: str, tasks: object, given: dict[str, object]) -> Dag:
        minted = minted_tasks(_named(tasks)) if is_list(tasks) else Minted([], [])
        request = body(**{**given, "tasks": minted.rows if isinstance(tasks, list) else tasks})
        try:
            return _made(read(Dag, await self.connection.ask(call, request, dag_id=dag_id)))
        except InvalidInput as refused:
            if refused.facts["field"] not in ("id", "tasks") or not any(minted.ids):
                raise
            # That something is taken may mean that an earlier try took it, without our hearing of it.
            if (stored := await self._stored(dag_id, minted)) is None:
                raise
            return stored

    list = over_http(Dags.list, calls.DAGS, names=_SPELLED)
    page = over_http(Dags.page, calls.DAGS, names=_SPELLED, reads=lambda document: read(DagPage, document))

    async def estimate(self, dag: Mapping[str, object], *, created_by: str = LOCAL) -> DagEstimate:
        """By hand: the graph is the whole body."""
        if not is_mapping(dag):
            raise InvalidInput("dag", "must be an object")
        given = {str(name): value for name, value in dag.items()}
        return read(DagEstimate, await self.connection.ask(calls.ESTIMATE, body(**given)))

    async def _stored(self, dag_id: str, minted: Minted) -> Dag | None:
        rows = [row for row in minted.rows if is_mapping(row)]
        try:
            tasks = {str(row["name"]): await self._results.get(str(row["id"])) for row in rows}
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
        {"name": task.get("id") or f"#{index}", **task} if is_mapping(task) else task
        for index, task in enumerate(tasks)
    ]
