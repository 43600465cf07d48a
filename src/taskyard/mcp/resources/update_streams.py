"""Updates on their way to clients: the stream of `subscriptions/listen`, and sessions of the protocol before it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ResourceUpdatedNotification,
    ResourceUpdatedNotificationParams,
    ServerNotification,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from pydantic import BaseModel

from taskyard.core.errors import NotFound, TaskyardError
from taskyard.core.json_value import is_list
from taskyard.features.handles.views import HandleView
from taskyard.mcp.desk import Desk
from taskyard.mcp.resources import resource_kinds
from taskyard.mcp.resources.event_reader import UpdateListener
from taskyard.mcp.short_answers import task_uri
from taskyard.mcp.tasks_extension import document
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.mcp")
MOST_WANTED = 100  # addresses, and as many tasks, of one stream
MOST_STREAMS = 200  # at a time
MOST_OF_ONE = 20  # of one caller
PAUSE = 0.1  # seconds between messages, so that what changes often is sent less often
TASK_IDS = "taskIds"

Context = ServerRequestContext[Any, Any]


class TaskNotification(BaseModel):
    """A task of the Tasks extension, as it stands now."""

    method: Literal["notifications/tasks"] = "notifications/tasks"
    params: dict[str, Any]


class _Wanted(NamedTuple):
    """What a stream is about: only what its reader may see."""

    uris: Sequence[str]
    tasks: Sequence[HandleView]

    @property
    def addresses(self) -> set[str]:
        return {*self.uris, *(task_uri(each.task_id) for each in self.tasks)}


class UpdateStreams:
    """Every stream and session that this process sends updates to."""

    def __init__(self) -> None:
        self._listeners: dict[UpdateListener, Yard] = {}  # with the yard of whoever listens
        self._sessions: dict[str, UpdateForwarder] = {}

    def stop(self) -> None:
        """End every stream in good order: its reader learns that there is no more."""
        for listener in self._listeners:
            listener.end()

    async def listen(
        self, desk: Desk, context: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Acknowledge what the caller may see, and tell of it until they go."""
        of_caller = sum(yard is desk.yard for yard in self._listeners.values())
        if len(self._listeners) >= MOST_STREAMS or of_caller >= MOST_OF_ONE:
            raise MCPError(INTERNAL_ERROR, "Too many streams are open: try again later.")
        asked = params.notifications
        wanted = _Wanted(
            await _seen(desk, asked.resource_subscriptions or []),
            await _followed(desk, (asked.model_extra or {}).get(TASK_IDS)),
        )
        meta = {SUBSCRIPTION_ID_META_KEY: context.request_id}
        async with desk.changes.listening(wanted.addresses) as listener:
            self._listeners[listener] = desk.yard
            try:
                await self._send(context, _acknowledged(wanted, meta))
                await self._tell(desk, context, listener, wanted, meta)
            finally:
                del self._listeners[listener]
        return SubscriptionsListenResult(_meta=meta)

    async def _tell(
        self, desk: Desk, context: Context, listener: UpdateListener, wanted: _Wanted, meta: dict[str, Any]
    ) -> None:
        by_uri = {task_uri(each.task_id): each for each in wanted.tasks}
        while (changed := await listener.next()) and await _still_may(desk):
            for uri in changed:
                if uri in wanted.uris:
                    await self._send(context, _updated(uri, meta))
                if uri in by_uri and (notice := await _task_notice(desk, by_uri[uri], meta)) is not None:
                    await self._send(context, notice)
            await asyncio.sleep(PAUSE)

    async def _send(self, context: Context, notification: BaseModel) -> None:
        await context.session.send_notification(
            cast(ServerNotification, notification), related_request_id=context.request_id
        )

    # Sessions of the protocol before

    async def subscribe(self, key: str, desk: Desk, session: ServerSession, uri: str) -> None:
        """Tell a session of an address from now on."""
        if not await _seen(desk, [uri]):
            raise NotFound("resource", uri[:255])
        known = self._sessions.get(key)
        wanted = {uri} if known is None else {*known.uris, uri}
        if len(wanted) > MOST_WANTED:
            raise MCPError(INVALID_PARAMS, f"At most {MOST_WANTED} resources are followed by one session.")
        self._forward(key, desk, session, wanted)

    def unsubscribe(self, key: str, uri: str) -> None:
        if (known := self._sessions.get(key)) is not None:
            known.uris.discard(uri)
            known.listener.want(known.uris)

    def end(self, key: str) -> None:
        """The session is over, or there is nothing any more to send its updates on."""
        if (known := self._sessions.pop(key, None)) is not None:
            known.task.cancel()

    def _forward(self, key: str, desk: Desk, session: ServerSession, wanted: set[str]) -> None:
        if (known := self._sessions.get(key)) is not None and not known.task.done():
            known.uris = wanted
            known.listener.want(wanted)
            return
        self._sessions[key] = UpdateForwarder(desk, session, wanted)

    async def close(self) -> None:
        tasks = [each.task for each in self._sessions.values()]
        for key in list(self._sessions):
            self.end(key)
        await asyncio.gather(*tasks, return_exceptions=True)


class UpdateForwarder:
    """The updates of one session."""

    def __init__(self, desk: Desk, session: ServerSession, uris: set[str]) -> None:
        self.uris = uris
        self.listener = UpdateListener(uris)
        self.task = asyncio.create_task(self._run(desk, session), name="taskyard resource updates")

    async def _run(self, desk: Desk, session: ServerSession) -> None:
        async with desk.changes.delivering(self.listener):
            while (changed := await self.listener.next()) and await _still_may(desk):
                for uri in changed:
                    try:
                        await session.send_resource_updated(uri)
                    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                        return
                await asyncio.sleep(PAUSE)


async def _seen(desk: Desk, uris: Sequence[str]) -> list[str]:
    """Those of the addresses that the caller may read."""
    seen: list[str] = []
    for uri in uris[:MOST_WANTED]:
        try:
            await resource_kinds.read(desk, uri)
            seen.append(uri)
        except TaskyardError as error:
            logger.debug("%s is not followed: %s", uri, error)
    return seen


async def _followed(desk: Desk, given: object) -> list[HandleView]:
    found: list[HandleView] = []
    for handle in given[:MOST_WANTED] if is_list(given) else ():
        try:
            found.append(await desk.yard.handles.get(str(handle)))
        except TaskyardError as error:
            logger.debug("a task is not followed: %s", error)
    return found


async def _still_may(desk: Desk) -> bool:
    """Whether the token that the stream was opened with is still good."""
    try:
        await desk.yard.host.role()
    except TaskyardError as error:
        return error.retryable
    return True


async def _task_notice(desk: Desk, handle: HandleView, meta: Mapping[str, Any]) -> TaskNotification | None:
    try:
        now = await desk.yard.handles.get(handle.handle)
        return TaskNotification(params={**await document(desk, now, asks=True, whole=True), "_meta": dict(meta)})
    except TaskyardError as error:
        logger.debug("a task is not sent: %s", error)
        return None


def _acknowledged(wanted: _Wanted, meta: dict[str, Any]) -> BaseModel:
    more: dict[str, Any] = {TASK_IDS: [each.handle for each in wanted.tasks]} if wanted.tasks else {}
    honoured = SubscriptionFilter(resource_subscriptions=list(wanted.uris) or None, **more)
    params = SubscriptionsAcknowledgedNotificationParams(notifications=honoured, _meta=meta)
    return SubscriptionsAcknowledgedNotification(params=params)


def _updated(uri: str, meta: dict[str, Any]) -> BaseModel:
    params = ResourceUpdatedNotificationParams(uri=uri, _meta=meta)
    return ResourceUpdatedNotification(params=params)
