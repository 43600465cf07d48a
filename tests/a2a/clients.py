"""The A2A client as its authors wrote it, over either binding, and words for what it is sent."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.client import Client
from a2a.types.a2a_pb2 import (
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from taskyard.app import a2a_mount
from taskyard.server.server import served
from taskyard.yard import Yard

BINDINGS = ("HTTP+JSON", "JSONRPC")


@asynccontextmanager
async def serving(yard: Yard, **limits: Any) -> AsyncGenerator[str]:
    """The address of a server with A2A that runs while the block does."""
    async with served(yard, a2a=a2a_mount(), **limits) as server:
        yield f"http://127.0.0.1:{server.port}"


@asynccontextmanager
async def client(
    url: str, token: str | None = None, *, binding: str = "HTTP+JSON", streaming: bool = False
) -> AsyncGenerator[Client]:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(headers=headers, timeout=90) as network:
        config = ClientConfig(streaming=streaming, httpx_client=network, supported_protocol_bindings=[binding])
        async with await ClientFactory(config).create_from_url(url) as found:
            yield found


def data(value: Any) -> Part:
    return Part(data=ParseDict(value, Value()))


def message(*parts: Part | str, **fields: Any) -> Message:
    made = [Part(text=part) if isinstance(part, str) else part for part in parts]
    metadata = fields.pop("metadata", {})
    fields.setdefault("message_id", str(uuid4()))
    sent = Message(role=Role.ROLE_USER, parts=made, **fields)
    sent.metadata.update(metadata)
    return sent


def request(sent: Message, *, at_once: bool = False) -> SendMessageRequest:
    return SendMessageRequest(message=sent, configuration=SendMessageConfiguration(return_immediately=at_once))


async def send(to: Client, sent: Message, *, at_once: bool = False) -> Task:
    """Send a message, and the task that comes back."""
    (answer,) = [each async for each in to.send_message(request(sent, at_once=at_once))]
    return answer.task


async def heard(to: Client, sent: Message) -> list[StreamResponse]:
    return [each async for each in to.send_message(request(sent))]


async def get(of: Client, handle: str) -> Task:
    return await of.get_task(GetTaskRequest(id=handle))


def state_of(task: Any) -> str:
    return TaskState.Name(task.status.state).removeprefix("TASK_STATE_").lower()


def output_of(task: Task) -> Any:
    (artifact,) = task.artifacts
    (part,) = artifact.parts
    return part.text or MessageToDict(part.data)
