"""How DAGs end and are opened again: stored once all that is in them has ended, or can never proceed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from taskyard.core import dag as dags
from taskyard.core import outcomes
from taskyard.core.changes import Change, ChangeSet, Event, Outbox, Record, RecordChange, merged
from taskyard.core.dag import DagStatus
from taskyard.core.identifiers import CounterKind, counter_name
from taskyard.core.json_value import Json, compact
from taskyard.core.notice import Notice, notice_row
from taskyard.core.policy import PRESETS
from taskyard.core.task import KEY_DEAD, DagId, Hot
from taskyard.core.units import Micros
from taskyard.features.dags import walk
from taskyard.features.inbox import items as inbox_items
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.listeners import Commit


class Lifecycle:
    """Follows every commit; the sweep does the same for what a crash left."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.on_end: list[Callable[[DagId], Awaitable[None]]] = []  # called once the end of a DAG is stored

    async def committed(self, commit: Commit) -> None:
        for name, value in commit.result.counts.items():
            kind, dag_id, word = counter_name(name)
            # A DAG may have ended when nothing in it is live, or when something in it ended other than well.
            may_have_ended = value == 0 if word == "live" else value > 0 and word in ("dead", "cancelled")
            if kind is CounterKind.DAG and may_have_ended:
                await self.settle(DagId(dag_id))
        if not commit.in_cascade:
            await self._settle_waiting(commit.change_set)

    async def settle(self, dag_id: DagId) -> bool:
        """Store how the DAG ended, if it did and nobody has."""

        async def decide() -> tuple[ChangeSet | None, bool]:
            record = await self._ledger.store.record("dag", self._ledger.workspace, dag_id)
            ended = None if record is None else await self._concluded(dag_id, record)
            return ended, ended is not None

        has_ended = await self._ledger.commit(decide)
        if has_ended:
            for act in self.on_end:
                await act(dag_id)
        return has_ended

    async def _settle_waiting(self, change_set: ChangeSet) -> None:
        """Store how DAGs ended that wait for tasks of others, where one of these died, was cancelled or revived."""
        roots = [change.after for change in change_set.changes if _is_of_a_failure(change)]
        # The end of a cascade settles what it came to.
        if roots and not any(record.kind == "cascade" for record in change_set.records):
            for dag_id in sorted(await walk.waiting_dags(self._ledger.store, roots)):
                await self.settle(dag_id)

    async def _concluded(self, dag_id: DagId, record: Record) -> ChangeSet | None:
        names = dags.count_names(dag_id)
        counts = await self._ledger.store.counts(self._ledger.workspace, list(names.values()))
        got = {word: counts.get(name, 0) for word, name in names.items()}
        policy = PRESETS[str(record.body["preset"])]
        status = dags.conclusion(
            live=got["live"],
            completed=got["completed"],
            dead=got["dead"],
            stuck=got["live"] > 0 and await self._stuck(dag_id),
            first_death_fails=policy.dag_fails_at_first_death,
        )
        if status is None or record.body["status"] == status:
            return None
        return self.moved(record, status, self._ledger.now())

    async def _stuck(self, dag_id: DagId) -> bool:
        """Whether nothing in the DAG can proceed: all that is live waits for what died or was cancelled, anywhere.

        What a cascade has yet to come to is not left behind.
        """
        store = self._ledger.store
        if not await store.stuck(dag_id):
            return False
        live = {hot.id for hot in (await store.graph(dag_id)).tasks if not hot.status.is_final}
        for cascade in await store.records("cascade", self._ledger.workspace):
            if cascade.body["dag"] == dag_id or live & (await walk.left(store, cascade)).keys():
                return False
        above = await walk.above(store, live)
        return dags.doomed(above.waits, above.failed()).issuperset(live)

    async def settle_all(self, dag_ids: Sequence[DagId]) -> int:
        """The same for those of these whose counters say that they may have ended; the number that had."""
        names = [name for dag_id in dag_ids for name in dags.count_names(dag_id).values()]
        counts = await self._ledger.store.counts(self._ledger.workspace, names)
        settled = 0
        for dag_id in dag_ids:
            got = {word: counts.get(name, 0) for word, name in dags.count_names(dag_id).items()}
            if not got["live"] or got["dead"] or got["cancelled"]:
                settled += await self.settle(dag_id)
        return settled

    async def reopened(self, hot: Hot) -> ChangeSet:
        """The DAG of a revived task goes on, and so do those that wait for the task, directly or not.

        Each is written also where it had not ended, so that nobody ends it at the same moment.
        """
        ledger = self._ledger
        waiting = await walk.waiting_dags(ledger.store, [hot]) if outcomes.may_be_waited_for(hot) else set[DagId]()
        mine = {*waiting, *(() if hot.dag_id is None else (hot.dag_id,))}
        records = await ledger.store.named("dag", ledger.workspace, sorted(mine)) if mine else {}
        moves: list[ChangeSet] = []
        for record in records.values():
            moved = self.moved(record, DagStatus.RUNNING, ledger.now())
            moves.append(moved if DagStatus(str(record.body["status"])).is_final else moved._replace(events=()))
        return merged([ChangeSet(at=ledger.now()), *moves])

    def moved(self, record: Record, status: DagStatus, now: Micros) -> ChangeSet:
        """The DAG in another state."""
        workspace = self._ledger.workspace
        body = {**record.body, "status": status.value, "ended_at": now if status.is_final else None}
        data = compact({"status": status.value, "title": record.body["title"]})
        word = status.value if status.is_final else "reopened"
        event = Event(f"dag.{word}", workspace, None, DagId(record.id), now, None, None, None, data)
        change = RecordChange("dag", workspace, record.id, record.version, body)
        item = inbox_items.of_dag(record, status.value, now) if status.is_final else None
        notified = _failure_notice(workspace, record, now) if status is DagStatus.FAILED else ()
        if item is None:
            return ChangeSet(records=(change,), events=(event,), outbox=notified, at=now)
        return ChangeSet(records=(change, item.record), events=(event, item.event), outbox=notified, at=now)


def _failure_notice(workspace: str, record: Record, now: Micros) -> tuple[Outbox, ...]:
    facts: dict[str, Json] = {"dag_id": record.id, "title": record.body["title"]}
    return (notice_row(Notice.DAG_FAILED, workspace, facts, at=now),)


def _is_of_a_failure(change: Change) -> bool:
    """Whether tasks may wait for this one that cannot proceed as long as it is dead or cancelled."""
    failed = change.after.status in KEY_DEAD or change.before.status in KEY_DEAD
    return failed and outcomes.may_be_waited_for(change.after)
