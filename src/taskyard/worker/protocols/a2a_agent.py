"""An A2A agent elsewhere as a worker: a task becomes a message, and the remote task's end is the task's.

What was sent is a stored step, so an attempt after a crash goes on with the remote task. The id of a message follows
from the task and from how many remote tasks have ended: an attempt that does not know whether its message arrived
sends the same one again, which an agent that tells messages apart answers with the task that it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeGuard, cast
from urllib.parse import urlsplit

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, is_list, is_object, with_whole_numbers
from taskyard.core.task import Reason
from taskyard.worker.context import Context
from taskyard.worker.control import Fail
from taskyard.worker.handlers import Agent

if TYPE_CHECKING:
    from a2a.client.client import Client
    from a2a.types.a2a_pb2 import Message, Part, SendMessageRequest, Task, TaskStatus

NEEDED = "needs the library of the protocol: pip install 'taskyard[a2a]'"
ANSWERED_WITHIN = 60.0  # seconds
CANCELLED_WITHIN = 5.0  # seconds that a remote agent has to take note of a cancel
TEXT: Mapping[str, Any] = {"type": "string"}
CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteAgent:
    """An agent that has a card at this address."""

    url: str
    key: str | None = None  # shown as a bearer token, to this address alone
    skill: str | None = None  # of the card; None: the agent chooses
    poll_sec: float = 1.0


def a2a_agent(agent: Agent, remote: RemoteAgent, *types: str) -> Agent:
    """Let an A2A agent do the work of an agent, for these types or for all."""
    try:
        import_module("a2a.client")  # now, and not while a task waits for it
    except ModuleNotFoundError as missing:
        raise InvalidInput("--a2a", NEEDED) from missing

    @agent.handles(*(types or ("*",)))
    async def run(task: Context) -> Any:
        async with _connected(remote) as client:
            return await _RemoteTask(task, client, remote).end()

    del run
    return agent


@asynccontextmanager
async def _connected(remote: RemoteAgent) -> AsyncGenerator[Client]:
    import httpx  # noqa: PLC0415
    from a2a.client import A2ACardResolver, ClientConfig, ClientFactory  # noqa: PLC0415

    headers = {} if remote.key is None else {"authorization": f"Bearer {remote.key}"}
    async with httpx.AsyncClient(headers=headers, timeout=ANSWERED_WITHIN) as network:
        bindings = ["JSONRPC", "HTTP+JSON"]
        config = ClientConfig(streaming=False, polling=True, httpx_client=network, supported_protocol_bindings=bindings)
        card = await A2ACardResolver(network, remote.url).get_agent_card()
        _check_places([each.url for each in card.supported_interfaces], remote)
        async with ClientFactory(config).create(card) as client:
            yield client


def _check_places(urls: Sequence[str], remote: RemoteAgent) -> None:
    """A card may name any place. The key is for the one that the operator named."""
    here = urlsplit(remote.url).netloc
    if remote.key is not None and any(urlsplit(url).netloc != here for url in urls):
        raise Fail(Reason.AUTH_FAILURE, "the card leads to another host, which the key is not for")


class _RemoteTask:
    """One attempt at a task, by way of the remote agent."""

    def __init__(self, task: Context, client: Client, remote: RemoteAgent) -> None:
        self._task = task
        self._client = client
        self._remote = remote
        self._number = 0  # of the remote tasks before this one, which have all ended without a result
        self._answered = 0
        self._handle: str | None = None
        self._noted = ""

    async def end(self) -> Any:
        """What came of it."""
        steps = await self._task.stored_steps()
        while f"a2a:{self._number}:ended" in steps:
            self._number += 1
        while self._step(f"answered:{self._answered + 1}") in steps:
            self._answered += 1
        if (done := self._step("result")) in steps:
            return await self._task.unpacked_step(steps[done])
        try:
            return await self._followed(await self._begun(steps))
        except BaseException:
            if self._task.stopped == CANCELLED:
                await self._pass_cancel_on()
            raise

    async def _begun(self, steps: Mapping[str, Json]) -> Task | Message:
        begun = steps.get(self._step("task"))
        if isinstance(begun, dict):
            self._handle = str(begun["id"])
            return await self._current()
        answer = await self._sent(self._message("begin", await self._asked()))
        if _is_task(answer):
            self._handle = answer.id
            await self._task.store_step(self._step("task"), {"id": self._handle, "agent": self._remote.url})
        return answer

    async def _followed(self, found: Task | Message) -> Any:
        while True:
            if not _is_task(found):
                return await self._result(cast("Message", found).parts, {})
            remote = found
            match _state(remote):
                case "COMPLETED":
                    parts = [part for artifact in remote.artifacts for part in artifact.parts]
                    return await self._result(parts, _plain(remote.metadata))
                case "FAILED" | "REJECTED" | "CANCELED" as state:
                    await self._task.store_step(self._step("ended"), state)
                    raise Fail(_REASONS[state], f"the agent's task is {state}: {_text(remote.status)}")
                case "AUTH_REQUIRED":
                    raise Fail(Reason.AUTH_FAILURE, _text(remote.status) or "the agent asks for credentials")
                case "INPUT_REQUIRED":
                    found = await self._answer(remote)
                case _:
                    await self._note(_text(remote.status))
                    await asyncio.sleep(self._remote.poll_sec)
                    found = await self._current()

    async def _answer(self, remote: Task) -> Task | Message:
        """Let a person answer. The task waits for that without a slot, and its handler comes by here again."""
        name = self._step(f"answered:{self._answered + 1}")
        question, schema = _question(remote.status)
        answer = await self._task.ask(question, schema=schema, name=self._step(f"question:{self._answered + 1}"))
        found = await self._sent(self._message(f"answer:{self._answered + 1}", [_part(answer)]))
        await self._task.store_step(name, True)
        self._answered += 1
        return found

    async def _note(self, text: str) -> None:
        if text and text != self._noted:
            self._noted = text
            await self._task.progress(None, text)

    async def _result(self, parts: Sequence[Part], metadata: Mapping[str, Any]) -> Any:
        """The output, stored with what it cost: an attempt after this does not ask again."""
        values: list[Json] = []
        for number, part in enumerate(parts, 1):
            match part.WhichOneof("content"):
                case "text":
                    values.append(part.text)
                case "data":
                    values.append(_plain(part.data))
                case "raw":
                    name = part.filename or f"file-{number}"
                    await self._task.artifact(name, part.raw, media_type=part.media_type or None)
                case "url":
                    await self._task.artifact(part.url)
                case _:
                    pass
        output = values[0] if len(values) == 1 else list[Json](values) or None
        return await self._task.store_step(self._step("result"), output, _spent(metadata.get("usage")))

    async def _pass_cancel_on(self) -> None:
        from a2a.types.a2a_pb2 import CancelTaskRequest  # noqa: PLC0415
        from a2a.utils.errors import A2AError  # noqa: PLC0415

        if self._handle is None:
            return
        # Best effort, as the protocol has it: whatever it comes to, the task is cancelled here.
        with suppress(A2AError, OSError, TimeoutError):
            await asyncio.wait_for(self._client.cancel_task(CancelTaskRequest(id=self._handle)), CANCELLED_WITHIN)

    def _step(self, name: str) -> str:
        return f"a2a:{self._number}:{name}"

    async def _asked(self) -> list[Part]:
        """The task as parts of a message: its prompt, its payload, and what it depends on."""
        from a2a.types.a2a_pb2 import Part  # noqa: PLC0415

        parts = [Part(text=self._task.prompt)] if self._task.prompt else []
        if self._task.payload:
            parts.append(_part(self._task.payload))
        inputs: list[Json] = [{"ref": each.ref, "data": each.data} for each in await self._task.inputs()]
        if inputs:
            parts.append(_part({"inputs": inputs}))
        return parts or [Part(text=self._task.task.title or self._task.type)]

    def _message(self, name: str, parts: Sequence[Part]) -> SendMessageRequest:
        from a2a.types.a2a_pb2 import Message, Role, SendMessageConfiguration, SendMessageRequest  # noqa: PLC0415

        message = Message(
            message_id=f"{self._task.id}:{self._number}:{name}",
            role=Role.ROLE_USER,
            parts=parts,
            task_id=self._handle or "",
        )
        if self._handle is None and self._remote.skill is not None:
            message.metadata.update({"skill": self._remote.skill})
        return SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=True))

    async def _sent(self, request: SendMessageRequest) -> Task | Message:
        async for answer in self._client.send_message(request):
            if answer.HasField("task"):
                return answer.task
            if answer.HasField("message"):
                return answer.message
        raise Fail(Reason.INVALID_OUTPUT, "the agent answered with neither a task nor a message")

    async def _current(self) -> Task:
        from a2a.types.a2a_pb2 import GetTaskRequest  # noqa: PLC0415

        return await self._client.get_task(GetTaskRequest(id=self._handle or ""))


_REASONS = {"FAILED": Reason.AGENT_ERROR, "CANCELED": Reason.AGENT_ERROR, "REJECTED": Reason.REFUSED}


def _state(remote: Task) -> str:
    from a2a.types.a2a_pb2 import TaskState  # noqa: PLC0415

    return TaskState.Name(remote.status.state).removeprefix("TASK_STATE_")


def _text(status: TaskStatus) -> str:
    return "\n".join(part.text for part in status.message.parts if part.text)


def _is_task(answer: Task | Message) -> TypeGuard[Task]:
    return hasattr(answer, "status")


def _question(status: TaskStatus) -> tuple[str, Mapping[str, Any]]:
    """What the remote agent asks, and the form of the answer: a text, unless the agent says otherwise."""
    schema: Any = None
    for part in status.message.parts:
        found = _plain(part.data) if part.HasField("data") else None
        listed = found.get("questions") if is_object(found) else None
        for first in listed[:1] if is_list(listed) else ():
            schema = first.get("schema") if is_object(first) else None
    return _text(status) or "The agent asks for something.", schema if is_object(schema) else TEXT


def _part(value: Json) -> Part:
    from a2a.types.a2a_pb2 import Part  # noqa: PLC0415
    from google.protobuf.json_format import ParseDict  # noqa: PLC0415
    from google.protobuf.struct_pb2 import Value  # noqa: PLC0415

    document: Any = value  # any JSON, though the library names an object only
    return Part(text=value) if isinstance(value, str) else Part(data=ParseDict(document, Value()))


def _plain(message: Any) -> Any:
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415

    return with_whole_numbers(MessageToDict(message))


_TOKENS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadTokens",
    "cache_write_tokens": "cacheWriteTokens",
}


def _spent(usage: object) -> dict[str, Any] | None:
    """What the agent says that it cost, as the arguments of `spend`; None where it says nothing sound."""
    known: Mapping[str, Any] = usage if is_object(usage) else {}
    usd = known.get("costUsd")
    tokens = {
        ours: int(value)
        for ours, theirs in _TOKENS.items()
        if isinstance(value := known.get(theirs), int | float) and value >= 0
    }
    return {"usd": usd, **tokens} if isinstance(usd, str | int | float) else None
