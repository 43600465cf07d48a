"""Tools for memory."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from taskyard.api import calls, openapi
from taskyard.api.codec import write
from taskyard.features.memory.recall import LONGEST_QUESTION
from taskyard.features.memory.views import MemoryHit
from taskyard.mcp.desk import Desk
from taskyard.mcp.toolbox import OPERATOR, PRODUCER, WORKER, Answer, Toolbox

box = Toolbox()
MOST = 20
HITS = openapi.answer("MemoryHits", hits=list[MemoryHit])


@box.add(calls.SEARCH_MEMORY, HITS, PRODUCER, WORKER, OPERATOR)
async def search_memory(
    desk: Desk,
    *,
    text: Annotated[str, Field(description="What the work is about, in plain words.", max_length=LONGEST_QUESTION)],
    limit: Annotated[int, Field(ge=1, le=MOST)] = 5,
    type: Annotated[str | None, Field(description="Only tasks of this type.", max_length=255)] = None,
) -> Answer:
    """Find finished tasks that are like this, the nearest first, and how each ended: the output of those that were
    completed, what went wrong with those that died. Ask before work that may have been tried already."""
    return {"hits": write(await desk.yard.memory.search(text, limit=limit, type=type))}
