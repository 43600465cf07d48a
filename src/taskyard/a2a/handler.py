"""Every operation of A2A, carried out by calls with the caller's own token.

Which binding and which version of the protocol a request came in is the library's business: operations are the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types.a2a_pb2 import (
    AgentCard,
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.proto_utils import validate_proto_required_fields

from taskyard.a2a import shown_tasks
from taskyard.a2a.card import card
from taskyard.a2a.message_content import Content, content_of, signal_of, type_of
from taskyard.a2a.task_events import follow, rested
from taskyard.core.errors import Forbidden, IllegalTransition, InvalidInput, NotFound, Refused, TaskyardError
from taskyard.core.units import Micros
from taskyard.features.a2a.rules import AgentTaskState
from taskyard.features.a2a.service import DEFAULT_LISTED, MOST_LISTED
from taskyard.features.a2a.views import AgentTask, PushView
from taskyard.yard import Yard

LONGEST = 60.0  # seconds that a blocking call waits: then it answers with the task as it stands
T = TypeVar("T")


class A2aVisitor(NamedTuple):
    """Whoever makes a request, as the server has let them through."""

    yard: Yard  # what they do goes through this one, with their token
    changes: Yard  # of their workspace, for what everybody there may know: that something has changed
    name: str  # of their token
    base_url: str  # where they reached the server
    ended: asyncio.Event  # set when their stream is to end


def visitor_of(context: ServerCallContext) -> A2aVisitor:
    return context.state["visitor"]


class YardHandler(RequestHandler):
    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        visitor = _asking(params, context)
        begun = await raising(_begun(visitor, params))
        if not params.configuration.return_immediately:
            begun = await raising(rested(visitor.changes, visitor.yard, begun, LONGEST, visitor.ended))
        return await raising(_shown(visitor, begun, _history(params.configuration)))

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        visitor = _asking(params, context)
        begun = await raising(_begun(visitor, params))
        async for event in _followed(visitor, begun, ends_interrupted=True):
            yield event

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        visitor = _asking(params, context)
        found = await raising(visitor.yard.a2a.task(params.id))
        if found.state.is_final:
            raise UnsupportedOperationError(message="The task has ended: get it instead.")
        async for event in _followed(visitor, found, ends_interrupted=False):
            yield event

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        visitor = _asking(params, context)
        found = await raising(visitor.yard.a2a.task(params.id))
        return await raising(_shown(visitor, found, _history(params)))

    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        visitor = _asking(params, context)
        size = params.page_size if params.HasField("page_size") else DEFAULT_LISTED
        if not 1 <= size <= MOST_LISTED:
            raise InvalidParamsError(message=f"pageSize: must be from 1 to {MOST_LISTED}.")
        page = await raising(
            visitor.yard.a2a.tasks(
                context_id=params.context_id or None,
                state=_wanted_state(params),
                after=_since(params),
                limit=size,
                cursor=params.page_token or None,
            )
        )
        with_artifacts = params.include_artifacts
        shown = [_shown(visitor, each, _history(params), with_artifacts=with_artifacts) for each in page.tasks]
        return ListTasksResponse(
            tasks=[await raising(each) for each in shown],
            next_page_token=page.cursor or "",
            page_size=size,
            total_size=page.total,
        )

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        visitor = _asking(params, context)
        found = await raising(visitor.yard.a2a.task(params.id))
        if found.state.is_final and found.state is not AgentTaskState.CANCELED:
            raise TaskNotCancelableError(message="The task has ended.")
        try:
            await visitor.yard.cancel(found.task_id, "cancelled by the agent that asked for it")
        except IllegalTransition:
            raise TaskNotCancelableError(message="The task has ended.") from None
        except TaskyardError as error:
            raise refused(error) from None
        return await raising(_shown(visitor, await raising(visitor.yard.a2a.task(params.id)), None))

    # Whom to push to

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        visitor = _asking(params, context)
        return await raising(_pushed_to(visitor.yard, params.task_id, params))

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        visitor = _asking(params, context)
        for push in await raising(visitor.yard.a2a.pushes(params.task_id)):
            if push.id == params.id:
                return _config(params.task_id, push)
        raise TaskNotFoundError(message="There is no such push notification configuration.")

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        visitor = _asking(params, context)
        pushes = await raising(visitor.yard.a2a.pushes(params.task_id))
        return ListTaskPushNotificationConfigsResponse(configs=[_config(params.task_id, each) for each in pushes])

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        visitor = _asking(params, context)
        await raising(visitor.yard.a2a.remove_push(params.task_id, params.id))

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        visitor = _asking(params, context)
        published = await raising(visitor.yard.a2a.list())
        return card(published, visitor.changes.workspace, visitor.base_url)


def _asking(params: Any, context: ServerCallContext) -> A2aVisitor:
    """The caller of a request that has all required fields and names no other workspace."""
    visitor = visitor_of(context)
    validate_proto_required_fields(params)
    tenant = getattr(params, "tenant", "") or context.tenant
    if tenant and tenant != visitor.changes.workspace:
        raise InvalidParamsError(message="tenant: must be left out: the token says the workspace.")
    return visitor


async def _begun(visitor: A2aVisitor, params: SendMessageRequest) -> AgentTask:
    message, content = params.message, content_of(params.message)
    found = await (_continued(visitor, message, content) if message.task_id else _put_in(visitor, message, content))
    if params.configuration.HasField("task_push_notification_config"):
        await _pushed_to(visitor.yard, found.handle, params.configuration.task_push_notification_config)
    return found


async def _put_in(visitor: A2aVisitor, message: Message, content: Content) -> AgentTask:
    """A new task, or the one that the same message has put in before."""
    type_ = type_of(message, await visitor.yard.a2a.list())
    references = [(await visitor.yard.a2a.task(each)).task_id for each in message.reference_task_ids]
    files = [
        await visitor.yard.artifacts.put(file.name, file.content, media_type=file.media_type) for file in content.files
    ]
    task = await visitor.yard.enqueue(
        type_,
        prompt=content.text,
        payload=content.payload,
        context_refs=[*(file.reference for file in files), *(f"task:{each}:output" for each in references)],
        subject=message.context_id or str(uuid4()),
        idempotency_key=f"a2a:{visitor.name}/{message.message_id}",
    )
    return await visitor.yard.a2a.share(task.id)


async def _continued(visitor: A2aVisitor, message: Message, content: Content) -> AgentTask:
    found = await visitor.yard.a2a.task(message.task_id)
    if message.context_id not in ("", found.context_id):
        raise InvalidParamsError(message="contextId: must be that of the task, or be left out.")
    if content.files:
        raise InvalidParamsError(message="parts: a message to a task that is there must have no files in it.")
    try:
        return await visitor.yard.a2a.send(
            message.task_id, message.message_id, content.answer, signal=signal_of(message)
        )
    except IllegalTransition:
        words = "has ended" if found.state.is_final else "asks for nothing, and nobody works on it now"
        raise UnsupportedOperationError(message=f"The task {words}: it takes no message.") from None


async def _shown(
    visitor: A2aVisitor, found: AgentTask, history_length: int | None, *, with_artifacts: bool = True
) -> Task:
    return await shown_tasks.task_shown(
        visitor.yard, found, visitor.base_url, with_artifacts=with_artifacts, history_length=history_length
    )


async def _followed(visitor: A2aVisitor, found: AgentTask, *, ends_interrupted: bool) -> AsyncGenerator[Event]:
    events = follow(
        visitor.changes, visitor.yard, found, visitor.base_url, visitor.ended, ends_interrupted=ends_interrupted
    )
    try:
        async for event in events:
            yield event
    except TaskyardError as error:
        raise refused(error) from None
    finally:
        await events.aclose()


async def _pushed_to(yard: Yard, handle: str, asked: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    push = await yard.a2a.set_push(
        handle,
        asked.id or str(uuid4()),
        asked.url,
        token=asked.token,
        scheme=asked.authentication.scheme,
        credentials=asked.authentication.credentials,
    )
    return _config(handle, push)


def _config(handle: str, push: PushView) -> TaskPushNotificationConfig:
    """What was configured, without its secrets."""
    config = TaskPushNotificationConfig(id=push.id, task_id=handle, url=push.url)
    if push.scheme:
        config.authentication.CopyFrom(AuthenticationInfo(scheme=push.scheme))
    return config


def _history(params: Any) -> int | None:
    return params.history_length if params.HasField("history_length") else None


def _wanted_state(params: ListTasksRequest) -> str | None:
    if params.status == TaskState.TASK_STATE_UNSPECIFIED:
        return None
    try:
        return TaskState.Name(params.status)
    except ValueError:
        raise InvalidParamsError(message="status: must be one of the states of the protocol.") from None


def _since(params: ListTasksRequest) -> Micros | None:
    if not params.HasField("status_timestamp_after"):
        return None
    return Micros(max(0, params.status_timestamp_after.ToMicroseconds()))


async def raising(asked: Awaitable[T]) -> T:
    """What the yard refuses, as an error of the protocol."""
    try:
        return await asked
    except TaskyardError as error:
        raise refused(error) from None


def refused(error: TaskyardError) -> Exception:
    match error:
        case NotFound():
            return TaskNotFoundError(message="There is no such task.")
        case InvalidInput():
            return InvalidParamsError(message=f"{error.code}: {error}")
        case Forbidden():
            return InvalidRequestError(message=f"{error.code}: {error}")
        case Refused():
            return UnsupportedOperationError(message=f"{error.code}: {error}")
        case _:
            return InternalError(message=f"{error.code}: {error}")
