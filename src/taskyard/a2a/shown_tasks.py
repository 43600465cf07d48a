"""A task of the yard as A2A shows it: status, artifacts, what it cost, and the message that asked for it."""

from __future__ import annotations

from mimetypes import guess_type
from typing import Any
from urllib.parse import urlsplit

from a2a.types.a2a_pb2 import Artifact, Message, Part, Role, Task, TaskStatus
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from taskyard.core.errors import NotFound
from taskyard.core.json_value import Json
from taskyard.core.units import Micros, to_usd
from taskyard.features.a2a.rules import AgentTaskState
from taskyard.features.a2a.views import AgentTask
from taskyard.features.approvals.views import Approval
from taskyard.features.tasks.views import Details
from taskyard.yard import Yard

MOST_INLINE = 1 << 20  # bytes of files that an answer carries; larger ones are named by URL
OUTPUT = "output"


async def task_shown(
    yard: Yard, found: AgentTask, base_url: str, *, with_artifacts: bool = True, history_length: int | None = None
) -> Task:
    """Everything that whoever asked for the task gets to see of it."""
    details = await yard.get(found.task_id)
    is_done = found.state is AgentTaskState.COMPLETED
    return Task(
        id=found.handle,
        context_id=found.context_id,
        status=status(found, await _words(yard, found, details)),
        artifacts=await artifacts(yard, details, base_url) if with_artifacts and is_done else [],
        history=[] if history_length == 0 else [_asked(found, details)],
        metadata=_metadata(found, details),
    )


def status(found: AgentTask, words: str | Message | None) -> TaskStatus:
    message = agent_message(found, words) if isinstance(words, str) else words
    return TaskStatus(state=found.state.value, message=message, timestamp=timestamp(found.state_at))


def agent_message(found: AgentTask, text: str, name: str = "status") -> Message:
    """Something that the agent says about the task."""
    return Message(
        message_id=f"{found.handle}-{name}-{found.state_at}",
        task_id=found.handle,
        context_id=found.context_id,
        role=Role.ROLE_AGENT,
        parts=[Part(text=text)],
    )


def timestamp(at: Micros) -> Timestamp:
    return Timestamp(seconds=at // 1_000_000, nanos=at % 1_000_000 * 1000)


async def artifacts(yard: Yard, details: Details, base_url: str) -> list[Artifact]:
    """The output of a completed task, and the files that it made."""
    found: list[Artifact] = []
    output = details.output.data
    if output is not None:
        found.append(Artifact(artifact_id=OUTPUT, name=OUTPUT, parts=[_part(output)]))
    room = MOST_INLINE
    for reference in details.output.artifacts:
        file = await _file(yard, reference, base_url, room)
        found.append(file)
        room -= sum(len(part.raw) for part in file.parts)
    return found


async def _file(yard: Yard, reference: str, base_url: str, room: int) -> Artifact:
    try:
        known = await yard.artifacts.get(reference)
    except NotFound:  # a file elsewhere, which the task has named and not stored
        return _file_elsewhere(reference)
    part = Part(filename=known.name, media_type=known.media_type)
    if known.size <= room:
        part.raw = b"".join([piece async for piece in yard.artifacts.read(known.id)])
    else:
        part.url = f"{base_url.rstrip('/')}/api/artifacts/{known.id}"
    return Artifact(artifact_id=known.id, name=known.name, parts=[part])


def _file_elsewhere(reference: str) -> Artifact:
    try:
        parts = urlsplit(reference)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https"):
        return Artifact(artifact_id=reference, name=reference, parts=[Part(text=reference)])
    name = parts.path.rpartition("/")[2]
    part = Part(url=reference, filename=name, media_type=guess_type(name)[0] or "application/octet-stream")
    return Artifact(artifact_id=reference, name=name or parts.netloc, parts=[part])


def _part(value: Json) -> Part:
    if isinstance(value, str):
        return Part(text=value, media_type="text/plain")
    return json_part(value)


def json_part(value: Json) -> Part:
    document: Any = value  # any JSON, though the library names an object only
    return Part(data=ParseDict(document, Value()), media_type="application/json")


async def _words(yard: Yard, found: AgentTask, details: Details) -> str | Message | None:
    """What the status says beside its state."""
    match found.state:
        case AgentTaskState.INPUT_REQUIRED:
            return await _question(yard, found)
        case AgentTaskState.FAILED | AgentTaskState.AUTH_REQUIRED:
            failure = details.failure
            is_last = found.next_handle is None
            why = failure.error or failure.reason if failure is not None and is_last else None
            return why or (None if is_last else f"It failed, and is tried again as {found.next_handle}.")
        case AgentTaskState.CANCELED:
            return details.cancelled.reason if details.cancelled is not None else None
        case AgentTaskState.SUBMITTED:
            return (await yard.why(found.task_id)).words
        case AgentTaskState.WORKING:
            return note_of(details.claim.progress if details.claim is not None else None)
        case AgentTaskState.COMPLETED | AgentTaskState.REJECTED:
            return None


async def _question(yard: Yard, found: AgentTask) -> Message | None:
    waits = await yard.approvals.list(task_id=found.task_id)
    if not waits:
        return None  # it was answered a moment ago
    message = agent_message(found, "\n".join(map(_asked_in_words, waits)), "question")
    asked = [{"signal": each.signal, "schema": each.question and each.question.answer_schema} for each in waits]
    message.parts.append(Part(data=ParseDict({"questions": asked}, Value()), media_type="application/json"))
    return message


def _asked_in_words(wait: Approval) -> str:
    return (
        f"{wait.task.title or wait.task.type} waits for {wait.signal}." if wait.question is None else wait.question.text
    )


def note_of(progress: Json) -> str | None:
    """What a worker said with its progress."""
    note = progress.get("note") if isinstance(progress, dict) else None
    return note if isinstance(note, str) and note else None


def _asked(found: AgentTask, details: Details) -> Message:
    """The message that asked for the task, as the yard keeps it."""
    parts: list[Part] = []
    if details.prompt:
        parts.append(Part(text=details.prompt))
    if details.payload:
        parts.append(_part(details.payload))
    return Message(
        message_id=(details.idempotency_key or "").rpartition("/")[2] or found.handle,
        task_id=found.handle,
        context_id=found.context_id,
        role=Role.ROLE_USER,
        parts=parts,
    )


def _metadata(found: AgentTask, details: Details) -> Struct:
    known: dict[str, Any] = {"skill": details.type}
    if details.cost:
        tokens = details.tokens_used
        known["usage"] = {
            "costUsd": to_usd(details.cost),
            "inputTokens": tokens.input,
            "outputTokens": tokens.output,
            "cacheReadTokens": tokens.cache_read,
            "cacheWriteTokens": tokens.cache_write,
        }
    if found.next_handle is not None:
        known["continuedAs"] = found.next_handle
    metadata = Struct()
    metadata.update(known)
    return metadata
