"""Events: a page of them, a stream, a conversation about them, or the wait for the next."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Header, Query, Request, Response

from taskyard.api import calls, openapi
from taskyard.api.codec import write
from taskyard.api.openapi import Problem
from taskyard.definition.view import About
from taskyard.features.events.views import EventView, event_view
from taskyard.features.tasks import multica
from taskyard.server.access.auth import shown_token
from taskyard.server.live import subscriptions
from taskyard.server.live.connections import Live
from taskyard.server.live.event_buffer import Interest
from taskyard.server.live.socket import converse
from taskyard.server.live.stream import MEDIA_TYPE, EventStream
from taskyard.server.routes.tasks import AttemptAt, Limit
from taskyard.server.routing import Calling, Routes, answer
from taskyard.server.task_views import View

routes = Routes("events")
READ = "Where to read on: every wanted event up to there is in this page or before it."
EVENTS = openapi.answer("EventsRead", events=list[EventView], after=Annotated[int, About(READ)])
Number = Annotated[int | None, Query(ge=0, le=2**53)]
Of = Annotated[str | None, Query(min_length=1, max_length=255)]
STREAM = {200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}}
MOST_OF_A_MARK = 1_000  # characters
GONE = {410: {"model": Problem, "description": "some after that number are no longer kept"}}
EVENT_PAGE = openapi.answer("EventPage", events=list[EventView])
MARK = openapi.answer("Mark", mark=str, workspace=Annotated[str, About("The one that the caller sees.")])


@routes.add(calls.EVENTS, EVENTS, more={**STREAM, **GONE})
async def events(
    request: Request,
    caller: Calling,
    *,
    after: Number = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
    task_id: Of = None,
    dag_id: Of = None,
    type: Annotated[str | None, Query(description="A word of multica's: task:queued.", max_length=255)] = None,
    event: Annotated[str | None, Query(description="A word of the yard's: task.ready, task.*.", max_length=255)] = None,
    task_type: Of = None,
    agent: Annotated[
        str | None, Query(description="Who held the task, or else whom it is addressed to.", max_length=255)
    ] = None,
    subject: Of = None,
    order: Annotated[
        Literal["oldest", "newest"], Query(description="newest: the last ones, without `after`.")
    ] = "oldest",
    view: View = None,
    last_event_id: Annotated[int | None, Header(ge=0, le=2**53)] = None,
) -> Response:
    """A page of events from a number on; to who accepts `text/event-stream`, each event from there or from now on."""
    named = None if task_id is None else multica.task_of(task_id)
    interest = Interest(
        task_id=named,
        dag_id=dag_id,
        type=type,
        event=event,
        task_type=task_type,
        agent=agent,
        subject=subject,
        view=view,
    )
    await subscriptions.must_be_theirs(caller, interest)
    if order == "newest":
        return answer(await subscriptions.last_page(caller.yard, interest, limit=limit))
    if MEDIA_TYPE not in request.headers.get("accept", ""):
        return answer(await subscriptions.page(caller.yard, interest, after=after or 0, limit=limit))
    live: Live = request.app.state.live
    # A browser that comes back calls with the number it began with, and says here how far it got.
    first = after if last_event_id is None else last_event_id
    feed, shown, counted_as = await live.feed_of(caller.yard), shown_token(request), caller.token_id
    stream = EventStream(live, feed, interest, after=first, token=shown, counted_as=counted_as)
    await stream.subscription.check()
    live.admit(stream, live.most_listeners)  # now, while it can be refused: it leaves when the answer ends
    return stream


@routes.add(calls.TASK_EVENTS, EVENT_PAGE)
async def task_events(
    caller: Calling,
    task_id: AttemptAt,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Limit = 200,
    view: View = None,
) -> Response:
    """What happened to a task, in order; in a view, to the attempt of this id."""
    whole = multica.task_of(task_id)
    await caller.yard.local.permissions.holders(whole)  # of another workspace's task there is nothing to tell
    events = await caller.yard.events(after=after, limit=limit, task_id=whole)
    if view is None:
        return answer({"events": write([event_view(stored) for stored in events])})
    own = multica.attempt_id(whole, multica.attempt_of(task_id))
    documents = [document for stored in events for document in multica.event_views(write(event_view(stored)))]
    return answer({"events": [document for document in documents if document["task_id"] == own]})


@routes.add(calls.CHANGED, MARK)
async def changed(  # noqa: PLR0917 - the parameters of its query
    caller: Calling,
    mark: Annotated[str, Query(max_length=MOST_OF_A_MARK)] = "",
    wait_sec: Annotated[float, Query(ge=0, le=60)] = 0,
    agent_id: str | None = None,
    queues: Annotated[list[str] | None, Query()] = None,
    types: Annotated[list[str] | None, Query()] = None,
    took_all: bool = False,
) -> Response:
    """Answer when something may have been written since the mark, or when the time is over.

    Marks of several servers go with commas between: each knows its own alone, and answers at once without one. With
    `agent_id`, what it cannot claim is left out; queues, types and `took_all` are those of its last claim.
    """
    if agent_id is None:
        now = await caller.yard.changed(mark, wait_sec)
    else:
        await caller.must_work_as(agent_id)
        wait = caller.yard.attempts.wait_for_work
        now = await wait(agent_id, mark, wait_sec, queues=queues, types=types, took_all=took_all)
    return answer({"mark": now, "workspace": caller.yard.workspace})


routes.router.add_websocket_route(calls.SOCKET.path, converse)
