"""Approvals: which tasks wait for a person, and the signals that answer them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Path, Query, Request, Response

from taskyard.api import calls, openapi, requests
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.core.errors import Forbidden, NotFound
from taskyard.features.approvals.answer_links import AnswerLinks, Link
from taskyard.features.approvals.views import Approval, LinkedQuestion
from taskyard.features.attempts.views import Receipt
from taskyard.server.access.auth import Serving, address_of
from taskyard.server.routes.tasks import Limit, TaskAt
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("approvals")
OfTask = Annotated[str | None, Query(description="Only what this task waits for.", max_length=255)]
OfName = Annotated[str, Query(description="The name of the question.", max_length=255)]
LinkAt = Annotated[str, Path(description="What the notification has.", max_length=1_000)]
T = TypeVar("T")
APPROVALS = openapi.answer("Approvals", approvals=list[Approval])


@routes.add(calls.APPROVALS, APPROVALS)
async def approvals(caller: Calling, limit: Limit = 200, task_id: OfTask = None) -> Response:
    """Tasks that wait for a person's word, longest first; or what one task waits for."""
    return answer({"approvals": write(await caller.yard.approvals.list(limit=limit, task_id=task_id))})


@routes.add(calls.APPROVAL, model(Approval))
async def approval(caller: Calling, task_id: TaskAt, name: OfName) -> Response:
    """A question of a task and how it stands, also where it is answered already."""
    return answer(write(await caller.yard.approvals.get(task_id, name)))


@routes.add(calls.ANSWER, model(Receipt))
async def answer_question(caller: Calling, task_id: TaskAt, asked: requests.AnswerQuestion) -> Response:
    """Answer a question. Of two answers the first counts; the second is refused with by whom and when."""
    person = caller.person
    receipt = await caller.yard.approvals.answer(task_id, asked.name, asked.data, wait=asked.wait, by=person)
    return answer(write(receipt))


@routes.add(calls.LINK, model(LinkedQuestion))
async def linked_question(request: Request, link: LinkAt) -> Response:
    """The question that a link in a notification is for. Looking at it, however often, answers nothing."""
    return answer(write(await _by_link(request, link, AnswerLinks.show)))


@routes.add(calls.ANSWER_LINK, model(Receipt))
async def answer_by_link(request: Request, link: LinkAt, asked: requests.AnswerByLink) -> Response:
    """Answer with a link, once. Only the page that shows the question may do so."""
    if request.headers.get("origin") is None and request.headers.get("sec-fetch-site") != "same-origin":
        raise Forbidden("an answer by link comes from the page that shows the question")
    return answer(write(await _by_link(request, link, partial(AnswerLinks.answer, data=asked.data))))


async def _by_link(request: Request, text: str, use: Callable[[AnswerLinks, Link], Awaitable[T]]) -> T:
    """What comes of a link in its workspace. Who shows links that are none is counted like who guesses tokens."""
    serving: Serving = request.app.state.serving
    try:
        link = await serving.yards.first.local.answer_links.opened(text)
        return await use(serving.yards.of(link.workspace).local.answer_links, link)
    except NotFound:
        serving.guesses.check(address_of(request))
        raise


@routes.add(calls.SIGNAL, model(Receipt))
async def signal(caller: Calling, task_id: TaskAt, asked: requests.SendSignal) -> Response:
    """Tell a task something it waits for, such as an approval."""
    receipt = await caller.yard.signal(task_id, asked.name, asked.data, sent_by=caller.person, wait=asked.wait)
    return answer(write(receipt))
