"""The board: tasks as cards, in columns by state."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Response

from taskyard.api import calls
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.board import rules
from taskyard.features.board.views import Board
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
    type: Annotated[list[str], Query()] = [],  # noqa: B006 - read, never written
    queue: str | None = None,
    agent: str | None = None,
    subject: str | None = None,
    dag: str | None = None,
    parent: str | None = None,
    tag: str | None = None,
    q: str | None = None,
    reason: Annotated[str | None, Query(description="That an attempt at the task failed for.", max_length=255)] = None,
) -> Response:
    """Tasks as cards: what is ready in the order of its claims, what is done for 24 hours, with lanes or without."""
    found = await caller.yard.board.show(
        lanes=lanes,
        limit=limit,
        type=type,
        queue=queue,
        agent=agent,
        subject=subject,
        dag_id=dag,
        parent_id=parent,
        tag=tag,
        text=q,
        reason=reason,
    )
    return answer(write(found))
