"""What readers ask, over HTTP: tasks, graphs, events, dead letters, figures."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Unpack

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.long_poll import Calling, shown
from taskyard.core.changes import StoredEvent
from taskyard.core.errors import NotFound
from taskyard.core.json_value import Json
from taskyard.core.task import lone_task
from taskyard.features.agents.views import AgentView, RuntimeView
from taskyard.features.approvals.views import Approval
from taskyard.features.attempts.views import Input
from taskyard.features.breakers.views import BreakerView
from taskyard.features.budgets.views import Spend
from taskyard.features.dags.views import DagInShort, DagView
from taskyard.features.dead_letters.views import DeadLetter, Review
from taskyard.features.events.feed import EventFeed
from taskyard.features.events.rules import EventFilter, Wanted
from taskyard.features.events.views import EventView, stored_event
from taskyard.features.queues.views import QueueView, ThrottleView
from taskyard.features.tasks.answers import Why
from taskyard.features.tasks.parts import AttemptView
from taskyard.features.tasks.result_views import result_of
from taskyard.features.tasks.views import Details, Task
from taskyard.features.verify.views import Verified

if TYPE_CHECKING:
    from taskyard.client.connection import Connection

MOST_LISTED = 200
EVENTS_AT_ONCE = 500
DEFAULT_LISTED = 50
VERIFIED_WITHIN = 600.0  # seconds: it reads everything


class Looking(Calling):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._feed = EventFeed(self)

    # Tasks

    async def get(self, task_id: str, *, wait_sec: float = 0) -> Details:
        """A task with everything that is known of it; with `wait_sec`, once it has ended or that time is over."""
        query = {"wait_sec": wait_sec} if wait_sec else None
        return read(Details, await self._ask_about(calls.GET, task_id, query=query, wait_sec=wait_sec))

    async def result(self, task_id: str | Sequence[str], *, timeout: float | None = None) -> Any:
        """The output of a task, once it has ended; a list of outputs, in their order, for a list of tasks.

        `TaskFailed` where it is a dead letter, `TaskCancelled`, `TaskGone` where it was pruned, and `TimeoutError`
        where it has not ended within `timeout` seconds: then the task goes on.
        """
        return await result_of(self.get, task_id, timeout)

    async def history(self, task_id: str) -> list[AttemptView]:
        """How the attempts at a task ended, in their order."""
        return list((await self.get(task_id)).attempts)

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
        answer = await self._ask(
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

    async def why(self, task_id: str) -> Why:
        """What the task waits for, in words and in data."""
        return read(Why, await self._ask_about(calls.WHY, task_id))

    async def inputs(self, task_id: str, lease: str | None = None) -> list[Input]:
        """The outputs of what a task depends on, and what its context refers to.

        Under a validator's lease, also the artifacts of the output that it judges.
        """
        answer = await self._ask_about(calls.INPUTS, task_id, headers=shown(lease))
        return read(list[Input], answer["inputs"])

    async def checkpoints(self, task_id: str) -> dict[str, Json]:
        """What is remembered of the task's steps and waits, by their names."""
        return (await self._ask_about(calls.CHECKPOINTS, task_id))["checkpoints"]

    async def dead_letters(
        self, *, reviewed: bool | None = None, limit: int = MOST_LISTED, cursor: int = 0
    ) -> list[DeadLetter]:
        """Tasks that wait for a person, newest first, with the whole story of their failures.

        The cursor is the `seq` of the last one seen.
        """
        answer = await self._ask(calls.DEAD_LETTERS, query={"reviewed": reviewed, "limit": limit, "cursor": cursor})
        return read(list[DeadLetter], answer["tasks"])

    async def reviews(self) -> list[Review]:
        """Every decision on a dead letter, in the order they were made."""
        return read(list[Review], (await self._ask(calls.REVIEWS))["reviews"])

    async def approvals(self, *, limit: int = MOST_LISTED) -> list[Approval]:
        """Tasks that wait for a person's word, longest first."""
        answer = await self._ask(calls.APPROVALS, query={"limit": limit})
        return read(list[Approval], answer["approvals"])

    # Graphs

    async def dag(self, dag_id: str) -> DagView:
        """A graph with its tasks. A lone task's graph is the task alone."""
        return read(DagView, await self._ask(calls.DAG, dag_id=dag_id))

    async def dags(self, *, limit: int = DEFAULT_LISTED, cursor: str | None = None) -> list[DagInShort]:
        """Stored graphs, the highest id first: of those that the yard named, the newest.

        The cursor is the id of the last one seen.
        """
        answer = await self._ask(calls.DAGS, query={"limit": limit, "cursor": cursor})
        return read(list[DagInShort], answer["dags"])

    async def tasks_of(self, dag: DagView) -> list[Task]:
        """The tasks of a graph that was read."""
        if [task.id for task in dag.tasks] == [lone_task(dag.id)]:
            return [await self.get(dag.tasks[0].id)]
        found: dict[str, Task] = {}
        cursor = 0
        while page := await self.find(dag_id=dag.id, limit=MOST_LISTED, cursor=cursor):
            found |= {task.id: task for task in page}
            cursor = page[-1].seq
        return [found[task.id] for task in dag.tasks if task.id in found]

    # Events

    async def events(
        self, *, after: int = 0, limit: int = EVENTS_AT_ONCE, **wanted: Unpack[Wanted]
    ) -> list[StoredEvent]:
        """Events in order, from the oldest on after which none was pruned; those of one task all.

        Of a graph, a task, a word (`event`: `task.ready`, `task.*`), a `task_type`, an agent or a subject: then the log
        is read on until so many match, or it ends.
        """
        which = EventFilter(**wanted)
        if which.task_id is not None:
            return await self._events_of(which.task_id, after, limit, which)
        events: list[StoredEvent] = []
        while len(events) < limit:
            most = min(limit - len(events), MOST_LISTED)
            answer = await self._ask(calls.EVENTS, query={**asdict(which), "after": after, "limit": most})
            events += map(stored_event, read(list[EventView], answer["events"]))
            # Where what is wanted is rare, the server answers with how far it looked before it has found enough.
            if answer["after"] == after or (len(answer["events"]) < most and not which.is_selective):
                break
            after = answer["after"]
        return events

    async def _events_of(self, task_id: str, after: int, limit: int, which: EventFilter) -> list[StoredEvent]:
        events: list[StoredEvent] = []
        with suppress(NotFound):  # nothing has happened to what is not there
            while len(events) < limit:
                query = {"after": after, "limit": MOST_LISTED}
                page = (await self._ask_about(calls.TASK_EVENTS, task_id, query=query))["events"]
                events += filter(which.matches, map(stored_event, read(list[EventView], page)))
                if len(page) < MOST_LISTED:
                    break
                after = page[-1]["seq"]
        return events[:limit]

    async def tail(self, *, after: int = 0, **wanted: Unpack[Wanted]) -> AsyncGenerator[StoredEvent, None]:
        """Every event from a sequence number on, and each new one as it comes; none is skipped. Filters as in `events`.

        Any number may follow in one process: the newest events are read once for all of them.
        """
        which = EventFilter(**wanted)
        takes_all = which.takes_all  # nearly always, and many follow
        while True:
            for stored in await self._feed.next(after):
                after = stored.seq
                if takes_all or which.matches(stored):
                    yield stored

    # The yard

    async def agents(self) -> list[AgentView]:
        return read(list[AgentView], (await self._ask(calls.AGENTS))["agents"])

    async def agent(self, agent_id: str) -> AgentView:
        """One agent, and how it stands."""
        found = [view for view in await self.agents() if view.id == agent_id]
        if not found:
            raise NotFound("agent", agent_id)
        return found[0]

    async def runtimes(self) -> list[RuntimeView]:
        """The processes and machines that have said they host agents."""
        return read(list[RuntimeView], (await self._ask(calls.RUNTIMES))["runtimes"])

    async def queues(self) -> list[QueueView]:
        """The queues that work was ever put into, or that have settings of their own."""
        return read(list[QueueView], (await self._ask(calls.QUEUES))["queues"])

    async def breakers(self) -> list[BreakerView]:
        """Breakers that have ever moved, and how they stand now."""
        return read(list[BreakerView], (await self._ask(calls.BREAKERS))["breakers"])

    async def throttles(self) -> list[ThrottleView]:
        """What is slowed down now."""
        return read(list[ThrottleView], (await self._ask(calls.THROTTLES))["throttles"])

    async def spending(self) -> list[Spend]:
        """What is reserved and was spent, by agent, by graph and by day."""
        return read(list[Spend], (await self._ask(calls.SPEND))["spend"])

    async def stats(self) -> dict[str, dict[str, int]]:
        """Tasks by status and type."""
        return (await self._ask(calls.STATS))["tasks"]

    async def verify(self) -> Verified:
        """Check the stored history against what the yard promises."""
        return read(Verified, await self._ask(calls.VERIFY, wait_sec=VERIFIED_WITHIN))
