"""Dead letters: tasks that wait for a person's decision, and what was decided."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from taskyard.api import calls, openapi, requests
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.attempts.views import Receipt
from taskyard.features.dead_letters.views import Review
from taskyard.features.tasks.views import Details
from taskyard.server.routes.tasks import NEXT, Limit, TaskAt
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("dead_letters")
DEAD_LETTERS = openapi.answer("DeadLetters", tasks=list[Details], cursor=NEXT)
REVIEWS = openapi.answer("Reviews", reviews=list[Review])


@routes.add(calls.DEAD_LETTERS, DEAD_LETTERS)
async def dead_letters(
    caller: Calling,
    reviewed: bool | None = None,
    limit: Limit = 200,
    cursor: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Response:
    """Tasks that wait for a person, newest first, with the whole story of their failures."""
    letters = await caller.yard.dead_letters.list(reviewed=reviewed, limit=limit, cursor=cursor)
    after = letters[-1].task.seq if len(letters) == limit else None
    return answer({"tasks": write(letters), "cursor": after})


@routes.add(calls.REVIEWS, REVIEWS)
async def reviews(caller: Calling) -> Response:
    """Every decision on a dead letter, in the order they were made."""
    return answer({"reviews": write(await caller.yard.dead_letters.reviews())})


@routes.add(calls.RESOLVE, model(Receipt))
async def resolve(caller: Calling, task_id: TaskAt, asked: requests.Resolve) -> Response:
    """Decide a dead letter."""
    done = await caller.yard.dead_letters.resolve(
        task_id, asked.resolution, by=caller.by, note=asked.reason, spec=asked.spec
    )
    return answer(write(done))
