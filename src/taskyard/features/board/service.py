"""The board of a workspace. However many tasks there are, each column reads a bounded number of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Unpack

from taskyard.core.task import Hot, Lane, LaneId, TaskId
from taskyard.core.units import Micros
from taskyard.definition import fields
from taskyard.definition.task_fields import TaskSelection
from taskyard.features.board import rules
from taskyard.features.board.rules import COLUMNS, MOST_READ, ColumnName, PlacedTask
from taskyard.features.board.views import Board, BoardCard, BoardColumn, BoardLane
from taskyard.features.tasks.lookup.queries import Queries
from taskyard.features.tasks.task_rows import TaskRow
from taskyard.ledger.ledger import Ledger
from taskyard.stores.contract import Filter

WHOLE_LANE = 2**53 - 1  # above every rank, and every number of tasks
OF_LANES = frozenset({"queue", "agent"})  # conditions that every task of a lane meets, or none


class _Read(NamedTuple):
    """The tasks of a column that were read, how many there are, and whether there are more than that."""

    hots: Sequence[Hot]
    there: int
    more: bool


class Boards:
    def __init__(self, ledger: Ledger, queries: Queries) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._queries = queries

    async def show(
        self,
        *,
        lanes: str | None = None,
        limit: int = rules.USUAL_CARDS,
        **which: Unpack[TaskSelection],
    ) -> Board:
        """Tasks as cards, in columns by state; with `lanes` (agent, subject or type) so many of each lane.

        What is ready comes in the order of its claims, however much there is. Of any other column the newest 1,000
        tasks are looked at. What is done stays for 24 hours; what was cancelled is not shown.
        """
        by, number = rules.lanes_of(lanes), fields.whole(limit, "limit", least=1, most=rules.MOST_CARDS)
        wanted = self._queries.filter(**which)
        await self._ledger.configuration.fresh()
        now = self._ledger.now()
        read = {column: await self._read(column, wanted, now) for column in COLUMNS}
        placed = {
            column: rules.in_order(column, await self._placed(by, each.hots, now)) for column, each in read.items()
        }
        names, left_out = rules.lanes_in_order(placed.values())
        shown = {column: rules.first_of_each_lane(each, names, number) for column, each in placed.items()}
        rows = await self._queries.rows_of([each.hot for cards in shown.values() for each in cards])
        return Board(
            at=now,
            lanes_by=by,
            columns=tuple(
                BoardColumn(
                    name=column.value,
                    statuses=tuple(sorted(COLUMNS[column])),
                    count=read[column].there,
                    more=read[column].more,
                    cards=tuple(_cards(shown[column], rows)),
                )
                for column in COLUMNS
            ),
            lanes=tuple(BoardLane(name, _counts(placed, name)) for name in names) if by is not None else (),
            lanes_left_out=left_out,
        )

    async def _read(self, column: ColumnName, wanted: Filter, now: Micros) -> _Read:
        if column is ColumnName.READY and not wanted.conditions().keys() - OF_LANES:
            return await self._first_ready(wanted)
        which = replace(wanted, statuses=COLUMNS[column])
        found = await self._store.find(which, after=0, limit=MOST_READ + 1)
        shown = [hot for hot in found[:MOST_READ] if rules.is_shown(column, hot, now)]
        return _Read(shown, len(shown), len(found) > MOST_READ)

    async def _first_ready(self, wanted: Filter) -> _Read:
        """The first ready tasks, read from the lanes: a lane has its tasks in order and counted."""
        lanes = [id_ for id_, lane in self._ledger.configuration.own_lanes.items() if _may_match(wanted, lane)]
        number = max(rules.MOST_CARDS, MOST_READ // max(len(lanes), 1))
        count = sum([await self._store.ahead(lane, WHOLE_LANE, 0, WHOLE_LANE) for lane in lanes])
        return _Read(await self._store.first_ready(lanes, number) if lanes else (), count, False)

    async def _placed(self, by: str | None, hots: Sequence[Hot], now: Micros) -> list[PlacedTask]:
        known = self._ledger.configuration.own_lanes
        mine = [hot for hot in hots if hot.lane in known]  # another process may have added a lane meanwhile
        names = await self._lane_names(by, mine, known)
        return [
            PlacedTask(hot, name, rules.standing(hot, known[hot.lane].boost, now))
            for hot, name in zip(mine, names, strict=True)
        ]

    async def _lane_names(
        self, by: str | None, hots: Sequence[Hot], known: Mapping[LaneId, Lane]
    ) -> Sequence[str | None]:
        match by:
            case None:
                return [None] * len(hots)
            case "subject":
                labels = await self._store.labels([hot.id for hot in hots]) if hots else {}
                return [labels[hot.id].subject if hot.id in labels else None for hot in hots]
            case "type":
                return [known[hot.lane].type for hot in hots]
            case _:
                types = (await self._ledger.configuration.current()).types_by_id()
                agents = [hot.agent or known[hot.lane].agent for hot in hots]
                return [None if agent is None else types.get(agent, agent) for agent in agents]


def _cards(placed: Sequence[PlacedTask], rows: Mapping[TaskId, TaskRow]) -> Iterable[BoardCard]:
    """The cards of tasks that still exist: some may have been pruned since they were found."""
    return (BoardCard(each.lane, each.standing, rows[each.hot.id]) for each in placed if each.hot.id in rows)


def _may_match(wanted: Filter, lane: Lane) -> bool:
    return (
        (not wanted.types or lane.type in wanted.types)
        and wanted.queue in (None, lane.queue)
        and wanted.agent in (None, lane.agent)
    )


def _counts(placed: dict[ColumnName, list[PlacedTask]], name: str | None) -> dict[str, int]:
    return {column.value: Counter(each.lane for each in cards)[name] for column, cards in placed.items()}
