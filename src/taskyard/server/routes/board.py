"""The board: tasks as cards, in columns by state."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Response

from taskyard.api import calls
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.board import rules
from taskyard.features.board.views import Board
from taskyard.server.routes.tasks import Selection
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("board")


@routes.add(calls.BOARD, model(Board))
async def board(
    caller: Calling,
    *,
    lanes: Annotated[Literal["agent", "subject", "type"] | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=rules.MOST_CARDS, description="Cards of a column, or of each lane in it.")] = (
        rules.USUAL_CARDS
    ),
    which: Selection,
) -> Response:
    """Tasks as cards: what is ready in the order of its claims, what is done for 24 hours, with lanes or without."""
    return answer(write(await caller.yard.board.show(lanes=lanes, limit=limit, **which)))
