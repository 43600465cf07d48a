"""The Tasks extension of MCP: a tool call that is a task of the yard, followed by a random handle.

The shapes are those of `io.modelcontextprotocol/tasks` (SEP-2663). A task is stored before its handle is given out, and
whichever process is asked about the handle next finds it in the yard.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, TypeVar, cast

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RequestParams
from pydantic import Field

from taskyard.core.errors import Forbidden, IllegalTransition, InvalidInput, NotFound, TaskyardError, Unauthorized
from taskyard.core.identifiers import BlockerKind, blocker_name
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.core.units import Micros, to_iso
from taskyard.features.approvals.rules import DECISION
from taskyard.features.approvals.views import Approval
from taskyard.features.handles.views import HandleView
from taskyard.features.tasks.views import Details
from taskyard.mcp.confirmation import is_modern
from taskyard.mcp.desk import Desk
from taskyard.mcp.elicitation import form_of
from taskyard.mcp.toolbox import answered
from taskyard.mcp.tools.tasks import ending, enqueue_task

EXTENSION = "io.modelcontextprotocol/tasks"
NAME_HEADER = "mcp-name"
SOON, LATER, LATEST = 500, 2_000, 30_000  # milliseconds between polls: at work, waiting for others, parked
DECLINED: dict[str, Json] = {"approved": False, "declined": True}

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]
DeskOf = Callable[[Context], Awaitable[Desk]]
State = Literal["working", "input_required", "completed", "cancelled"]


class TaskParams(RequestParams):
    task_id: str = Field(alias="taskId", max_length=255)


class UpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses", max_length=100)


class Shown(NamedTuple):
    """Where a task stands, in the words of the extension."""

    state: State
    message: str | None
    poll_ms: int
    more: dict[str, Any]  # its result, or what it asks for


def declares(context: Context) -> bool:
    """Whether the client follows tasks: only such a client may be answered with one."""
    capabilities = context.session.client_capabilities
    return is_modern(context) and capabilities is not None and EXTENSION in (capabilities.extensions or {})


class TasksExtension:
    """Creates tasks for calls of `run_task`, and answers what clients ask about them."""

    def __init__(self, desk_of: DeskOf) -> None:
        self._desk_of = desk_of

    def install(self, server: Server[Any]) -> None:
        server.extensions[EXTENSION] = {}
        server.add_request_handler("tasks/get", TaskParams, self.get)
        server.add_request_handler("tasks/update", UpdateParams, self.update)
        server.add_request_handler("tasks/cancel", TaskParams, self.cancel)

    async def create(self, context: Context, desk: Desk, arguments: dict[str, Any]) -> dict[str, Any]:
        """Put the task in, and answer with its handle: both are stored by then."""
        put_in = await enqueue_task(desk, **{name: arguments[name] for name in arguments if name != "wait_sec"})
        handle = await desk.yard.handles.create(put_in["id"])
        return {"resultType": "task", **await document(desk, handle, asks=_can_ask(context), whole=False)}

    async def get(self, context: Context, params: TaskParams) -> dict[str, Any]:
        desk = await self._asking(context, params)
        with_ = {"asks": _can_ask(context), "whole": True}
        return {"resultType": "complete", **await raising(_document_of(desk, params.task_id, **with_))}

    async def update(self, context: Context, params: UpdateParams) -> dict[str, Any]:
        """Hand answers on to the waits that they are for. Keys that nobody asked for, or that are over, are ignored."""
        desk = await self._asking(context, params)
        await raising(_answer_waits(desk, params))
        return {"resultType": "complete"}

    async def cancel(self, context: Context, params: TaskParams) -> dict[str, Any]:
        desk = await self._asking(context, params)
        await raising(_cancel(desk, params.task_id))
        return {"resultType": "complete"}

    async def _asking(self, context: Context, params: TaskParams) -> Desk:
        require_client_extension(context, EXTENSION)
        headers = getattr(context.request, "headers", {})
        if headers.get(NAME_HEADER, params.task_id) != params.task_id:
            raise MCPError(INVALID_PARAMS, f"The header {NAME_HEADER} names another task than the request.")
        return await self._desk_of(context)


async def document(desk: Desk, handle: HandleView, *, asks: bool, whole: bool) -> dict[str, Any]:
    """The task as the extension shows it; whole: with its result, or with what it asks for."""
    task = await desk.yard.get(handle.task_id)
    shown = await _shown(desk, handle, task, asks=asks)
    fields = {
        "taskId": handle.handle,
        "status": shown.state,
        "statusMessage": shown.message,
        "createdAt": to_iso(handle.created_at),
        "lastUpdatedAt": to_iso(task.updated_at if handle.died_at is None else handle.died_at),
        "ttlMs": handle.kept // 1000,
        "pollIntervalMs": shown.poll_ms,
        **(shown.more if whole else {}),
    }
    return {name: value for name, value in fields.items() if value is not None}


async def _document_of(desk: Desk, handle: str, *, asks: bool, whole: bool) -> dict[str, Any]:
    return await document(desk, await desk.yard.handles.get(handle), asks=asks, whole=whole)


async def _shown(desk: Desk, handle: HandleView, task: Details, *, asks: bool) -> Shown:
    if handle.died_at is not None:  # it lives again, under other handles
        return Shown("completed", None, SOON, {"result": _died_before(handle)})
    match task.status:
        case Status.COMPLETED | Status.DEAD_LETTERED:
            return Shown("completed", None, SOON, {"result": await _result(desk, task)})
        case Status.CANCELLED:
            return Shown("cancelled", task.cancelled and task.cancelled.reason, SOON, {})
        case Status.PENDING if asks and (waits := await _waits(desk, task)):
            requests = {_key(each): _request(each) for each in waits}
            return Shown("input_required", "waits for an answer", SOON, {"inputRequests": requests})
        case _:
            return Shown("working", (await desk.yard.why(task.id)).words, _poll(task, desk.yard.now()), {})


async def _result(desk: Desk, task: Details) -> dict[str, Any]:
    """What the call of the tool would have answered; a dead letter is an answer that is an error."""
    answer = answered(await ending(desk, task.id, 0))
    result = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
    return result if task.status is Status.COMPLETED else {**result, "isError": True}


def _died_before(handle: HandleView) -> dict[str, Any]:
    words = f"The task died of {handle.died_of}; a person has let it be tried again. Follow {handle.task_id} for that."
    answer = answered(
        {
            "task_id": handle.task_id,
            "status": Status.DEAD_LETTERED.value,
            "ended": True,
            "output": None,
            "error": words,
            "why": None,
        }
    )
    return {**answer.model_dump(by_alias=True, mode="json", exclude_none=True), "isError": True}


async def _waits(desk: Desk, task: Details) -> list[Approval]:
    if all(blocker_name(each).kind is not BlockerKind.SIGNAL for each in task.blocked_by):
        return []
    return await desk.yard.approvals.list(task_id=task.id)


def _key(wait: Approval) -> str:
    """Never the same for two waits of a task."""
    return f"{wait.signal}:{wait.wait}"


def _request(wait: Approval) -> dict[str, Any]:
    form = form_of(wait)
    params = {"mode": "form", "message": form.message, "requestedSchema": form.schema}
    return {"method": "elicitation/create", "params": params}


async def _answer_waits(desk: Desk, params: UpdateParams) -> None:
    handle = await desk.yard.handles.get(params.task_id)
    if handle.died_at is not None:
        return
    for wait in await desk.yard.approvals.list(task_id=handle.task_id):
        answer = _answer(wait, params.input_responses.get(_key(wait)))
        if answer is not None:
            (data,) = answer
            await desk.yard.signal(handle.task_id, wait.signal, data, sent_by=desk.by, wait=wait.wait)


def _answer(wait: Approval, response: object) -> tuple[Json] | None:
    """What the task gets to hear; None where the user has put the question aside.

    To decline is an answer where a decision is asked for; to any other question it is none, and somebody else may
    still give one.
    """
    given = cast(dict[str, Json], response) if isinstance(response, dict) else {}
    match given.get("action"):
        case "accept":
            return (form_of(wait).read(given.get("content")),)
        case "decline" if wait.question is None or wait.question.answer_schema == DECISION:
            return (DECLINED,)
        case _:
            return None


async def _cancel(desk: Desk, handle: str) -> None:
    found = await desk.yard.handles.get(handle)
    if found.died_at is None:
        try:
            await desk.yard.cancel(found.task_id, "cancelled by its client", by=desk.by)
        except IllegalTransition:
            return  # it has ended by itself, which the client learns when it asks


def _poll(task: Details, now: Micros) -> int:
    if task.wake_at is not None:
        return max(SOON, min(LATEST, (task.wake_at - now) // 1000))
    return LATER if task.status is Status.PENDING else SOON


def _can_ask(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


async def raising(asked: Awaitable[T]) -> T:
    """What the yard refuses, as an error of the protocol."""
    try:
        return await asked
    except (NotFound, InvalidInput) as error:
        raise MCPError(INVALID_PARAMS, f"{error.code}: {error}") from None
    except (Forbidden, Unauthorized) as error:
        raise MCPError(INVALID_REQUEST, f"{error.code}: {error}") from None
    except TaskyardError as error:
        raise MCPError(INTERNAL_ERROR, f"{error.code}: {error}") from None
