"""Streams: what attempts say while they work, appended, and read in pages or followed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Query, Request, Response

from taskyard.api import calls, openapi, stream_requests
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.core.errors import TaskyardError
from taskyard.core.json_value import Json
from taskyard.definition.error_view import error_document
from taskyard.features.streams.views import StreamPage, StreamReceipt
from taskyard.server.access.auth import lease_refusals, shown_token
from taskyard.server.live.chunk_stream import ChunkStream
from taskyard.server.live.connections import Live
from taskyard.server.live.stream import MEDIA_TYPE
from taskyard.server.routes.tasks import TaskAt
from taskyard.server.routing import Calling, Routes, answer
from taskyard.stores.turns import LONG_TURN, in_turns

routes = Routes("streams")
SENT = {200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}}
APPENDED = openapi.answer("Appended", results=list[dict[str, Any]])
Place = Annotated[str | None, Query(description="Behind the chunk at this place: ATTEMPT-INDEX.", max_length=32)]


@routes.add(calls.STREAM, model(StreamPage), more={**SENT})
async def stream(
    request: Request,
    caller: Calling,
    task_id: TaskAt,
    *,
    after: Place = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 200,
    wait_sec: Annotated[float, Query(ge=0, le=60)] = 0,
    last_event_id: Annotated[str | None, Header(max_length=32)] = None,
) -> Response:
    """What attempts said behind a place; to who accepts `text/event-stream`, each chunk from there until the end."""
    if MEDIA_TYPE not in request.headers.get("accept", ""):
        page = await caller.yard.streams.page(task_id, after=after, limit=limit, wait_sec=wait_sec)
        return answer(write(page))
    live: Live = request.app.state.live
    # A browser that comes back calls with the place it began with, and says here how far it got.
    place = last_event_id or after
    await caller.yard.streams.page(task_id, after=place, limit=1)  # what is wrong with it is said with a status
    chunks = ChunkStream(live, caller.yard, task_id, place, token=shown_token(request), counted_as=caller.token_id)
    live.admit(chunks, live.most_listeners)
    return chunks


@routes.add(calls.APPEND, model(StreamReceipt))
async def append(caller: Calling, task_id: TaskAt, asked: stream_requests.AppendToStream) -> Response:
    """Add what the attempt says to its stream. Beyond 8 MiB of an attempt nothing is kept, and the attempt goes on."""
    return answer(write(await caller.yard.streams.append(task_id, **_given(asked))))


@routes.add(calls.APPEND_MANY, APPENDED)
async def append_many(caller: Calling, asked: stream_requests.Appends) -> Response:
    """The same for many attempts, each for itself."""
    refusals = await lease_refusals(caller, [(each.task_id, each.lease) for each in asked.appends])
    mine = [each for each, refusal in zip(asked.appends, refusals, strict=True) if refusal is None]
    done = iter(await caller.yard.local.streams.append_many(await in_turns(_given, mine)))
    outcomes = [next(done) if refusal is None else refusal for refusal in refusals]
    return answer({"results": await in_turns(_outcome, outcomes, turn=LONG_TURN)})


def _given(asked: stream_requests.AppendToStream) -> dict[str, Any]:
    return asked.model_dump(exclude_unset=True)


def _outcome(outcome: StreamReceipt | TaskyardError) -> Json:
    return {"error": error_document(outcome)} if isinstance(outcome, TaskyardError) else write(outcome)
