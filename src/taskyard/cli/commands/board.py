"""Board: tasks as cards, in columns by state."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.console import RenderableType

from taskyard.api.codec import write
from taskyard.cli.commands.tasks import SelectionOptions
from taskyard.cli.invocation import AsJson, in_yard, show, with_option_groups
from taskyard.cli.terminal import Text, age, counted, dollars, one_line, short, table
from taskyard.core.json_value import Json, is_mapping
from taskyard.features.board import rules
from taskyard.features.board.views import Board, BoardColumn

EMPTY = Text("the board is empty", style="dim")


class LanesBy(StrEnum):
    AGENT = "agent"
    SUBJECT = "subject"
    TYPE = "type"


@with_option_groups
def board(
    context: typer.Context,
    lanes: Annotated[LanesBy | None, typer.Option(help="So many cards of each of these.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="Cards of a column, or of each lane in it.")
    ] = rules.USUAL_CARDS,
    *,
    chosen: SelectionOptions,
    as_json: AsJson = False,
) -> None:
    """The board: what waits and what is ready in the order of its claims, what runs, what was done in 24 hours."""
    by = None if lanes is None else lanes.value
    found = in_yard(context, lambda yard: yard.board.show(lanes=by, limit=limit, **chosen.selection()))
    parts = [part for column in found.columns if column.cards for part in _column(found, column)]
    show(as_json, write(found), *(parts or [EMPTY]))


def _column(board: Board, column: BoardColumn) -> list[RenderableType]:
    lane = () if board.lanes_by is None else (board.lanes_by,)
    more = "+" if column.more else ""
    left_out = column.count - len(column.cards)
    rows = [
        (
            short(card.task.id),
            *(() if not lane else (card.lane or "–",)),
            card.task.type,
            card.task.agent or "",
            str(card.task.priority),
            age(card.task.created_at, board.at),
            dollars(card.task.cost),
            _progress(card.task.progress),
            card.task.title or card.task.summary,
        )
        for card in column.cards
    ]
    columns = ("task", *lane, "type", "agent", "priority", "age", "cost", "progress", "title")
    parts: list[RenderableType] = [
        Text.assemble((column.name, "bold"), f"  {counted(column.count, 'task')}{more}"),
        table(*columns, rows=rows, right=("priority", "age", "cost")),
    ]
    return [*parts, Text(f"{left_out:,}{more} more" if left_out > 0 else "", style="dim")]


def _progress(progress: Json) -> str:
    if not is_mapping(progress):
        return "" if progress is None else one_line(str(progress))
    fraction, note = progress.get("fraction"), progress.get("note", progress.get("message", ""))
    share = f"{fraction:.0%} " if isinstance(fraction, int | float) else ""
    return one_line(f"{share}{note}")
