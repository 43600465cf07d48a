"""Memory: finished work that is like what somebody is about to do."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from taskyard.api import calls, openapi, requests
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.memory.recall import LONGEST_QUESTION, MOST_HITS
from taskyard.features.memory.service import MOST_LISTED
from taskyard.features.memory.views import AgentEvent, EmbeddingJob, MemoryHit, MemoryPolicyView, MemoryState
from taskyard.features.tokens.rules import Role
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("memory")
HITS = openapi.answer("MemoryHits", hits=list[MemoryHit])
EVENTS = openapi.answer("AgentEvents", agent_events=list[AgentEvent])
JOBS = openapi.answer("EmbeddingJobs", embedding_jobs=list[EmbeddingJob])
Most = Annotated[int, Query(ge=1, le=MOST_LISTED)]
Below = Annotated[int | None, Query(ge=1, description="Only events with a number below this one.")]


@routes.add(calls.SEARCH_MEMORY, HITS)
async def search_memory(
    caller: Calling,
    text: Annotated[str, Query(max_length=LONGEST_QUESTION, description="What the work is about.")],
    limit: Annotated[int, Query(ge=1, le=MOST_HITS)] = 5,
    type: Annotated[str | None, Query(max_length=255, description="Only tasks of this type.")] = None,
) -> Response:
    """Finished tasks that are like the text, the nearest first. An agent finds tasks of types that it was granted."""
    token = caller.token
    if token.role is Role.AGENT:
        recall = caller.yard.local.recall
        hits = await recall.search_as(token.agent or "", token.agent_id, text, limit=limit, type=type)
    else:
        hits = await caller.yard.memory.search(text, limit=limit, type=type)
    return answer({"hits": write(hits)})


@routes.add(calls.MEMORY_POLICY, model(MemoryPolicyView))
async def memory_policy(caller: Calling) -> Response:
    """What the workspace remembers."""
    return answer(write(await caller.yard.memory.policy()))


@routes.add(calls.SET_MEMORY_POLICY, model(MemoryPolicyView))
async def set_memory_policy(caller: Calling, asked: requests.SetMemoryPolicy) -> Response:
    """Say what the workspace remembers: the whole policy."""
    set_ = await caller.yard.memory.set_policy(remember=asked.remember, types=asked.types, by=caller.by)
    return answer(write(set_))


@routes.add(calls.MEMORY_STATE, model(MemoryState))
async def memory_state(caller: Calling) -> Response:
    """How far the embedding worker is."""
    return answer(write(await caller.yard.memory.state()))


@routes.add(calls.AGENT_EVENTS, EVENTS)
async def agent_events(caller: Calling, limit: Most = 100, below: Below = None) -> Response:
    """The ends of tasks in the log, newest first."""
    return answer({"agent_events": write(await caller.yard.memory.agent_events(limit=limit, below=below))})


@routes.add(calls.EMBEDDING_JOBS, JOBS)
async def embedding_jobs(caller: Calling, limit: Most = 100, below: Below = None) -> Response:
    """What the embedding worker has done about these ends, or has still to look at, newest first."""
    return answer({"embedding_jobs": write(await caller.yard.memory.embedding_jobs(limit=limit, below=below))})
