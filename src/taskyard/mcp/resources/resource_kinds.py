"""What a client may read by address: `yard://…`."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from mcp.types import (
    BlobResourceContents,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from taskyard.api import calls
from taskyard.api.calls import Call
from taskyard.api.codec import write
from taskyard.core.errors import NotFound
from taskyard.core.json_value import compact
from taskyard.features.dags.views import DagView
from taskyard.mcp.desk import Desk
from taskyard.mcp.tools.dead_letters import list_dead_letters

JSON, TEXT, GRAPH = "application/json", "text/plain", "text/vnd.mermaid"
MOST_BYTES = 1 << 20  # of a resource
MOST_NODES = 300  # of a drawing

Contents = TextResourceContents | BlobResourceContents
Read = Callable[[Desk, str], Awaitable[Contents]]


class ResourceKind(NamedTuple):
    """An address, or a kind of them: what is there, and the call that shows it."""

    name: str
    uri: str  # with {id} in it where there are many
    description: str
    media_type: str
    call: Call
    read: Read

    @property
    def is_template(self) -> bool:
        return "{id}" in self.uri

    def found(self, uri: str) -> str | None:
        """The id that the address names, or nothing; None where it is another kind of address."""
        pattern = re.escape(self.uri).replace(re.escape("{id}"), r"(?P<id>[^/?#\s]{1,255})")
        match = re.fullmatch(pattern, uri)
        return None if match is None else match.groupdict().get("id", "")

    def is_for(self, desk: Desk) -> bool:
        return self.call.allows(desk.role)


async def _overview(desk: Desk, _: str) -> Contents:
    return _json("yard://overview", write(await desk.yard.overview.figures()))


async def _dead_letters(desk: Desk, _: str) -> Contents:
    return _json("yard://dead-letters", await list_dead_letters(desk, limit=50))


async def _task(desk: Desk, task_id: str) -> Contents:
    return _json(f"yard://tasks/{task_id}", (await desk.yard.get(task_id)).to_dict())


async def _why(desk: Desk, task_id: str) -> Contents:
    why = await desk.yard.why(task_id)
    return _text(f"yard://tasks/{task_id}/why", f"{why.status.value}: {why.words}", TEXT)


async def _dag(desk: Desk, dag_id: str) -> Contents:
    return _text(f"yard://dags/{dag_id}", drawing(await desk.yard.dags.get(dag_id)), GRAPH)


async def _artifact(desk: Desk, artifact_id: str) -> Contents:
    artifact = await desk.yard.artifacts.get(artifact_id)
    uri, size = f"yard://artifacts/{artifact_id}", min(artifact.size, MOST_BYTES)
    content = b"".join([piece async for piece in desk.yard.artifacts.read(artifact.id, end=size)]) if size else b""
    try:
        return _text(uri, content.decode(), artifact.media_type)
    except UnicodeDecodeError:
        return BlobResourceContents(uri=uri, mime_type=artifact.media_type, blob=b64encode(content).decode())


RESOURCES = (
    ResourceKind("overview", "yard://overview", "How the yard stands.", JSON, calls.OVERVIEW, _overview),
    ResourceKind(
        "dead-letters", "yard://dead-letters", "Tasks out of attempts.", JSON, calls.DEAD_LETTERS, _dead_letters
    ),
    ResourceKind("task", "yard://tasks/{id}", "A task with all that is known of it.", JSON, calls.GET, _task),
    ResourceKind("why", "yard://tasks/{id}/why", "Why a task is not running.", TEXT, calls.WHY, _why),
    ResourceKind("dag", "yard://dags/{id}", "A graph of tasks, drawn in Mermaid.", GRAPH, calls.DAG, _dag),
    ResourceKind("artifact", "yard://artifacts/{id}", "A file, its first MiB.", "*/*", calls.READ_ARTIFACT, _artifact),
)


def listed(desk: Desk) -> list[Resource]:
    return [
        Resource(name=each.name, uri=each.uri, description=each.description, mime_type=each.media_type)
        for each in RESOURCES
        if not each.is_template and each.is_for(desk)
    ]


def templates(desk: Desk) -> list[ResourceTemplate]:
    return [
        ResourceTemplate(name=each.name, uri_template=each.uri, description=each.description, mime_type=each.media_type)
        for each in RESOURCES
        if each.is_template and each.is_for(desk)
    ]


async def read(desk: Desk, uri: str) -> ReadResourceResult:
    """What is at an address; what the caller may not see is not there."""
    for kind in RESOURCES:
        if (found := kind.found(uri)) is not None and kind.is_for(desk):
            return ReadResourceResult(contents=[await kind.read(desk, found)])
    raise NotFound("resource", uri[:255])


def drawing(dag: DagView) -> str:
    """A graph as Mermaid draws it: what its tasks are and how they stand."""
    number = {task.id: f"t{place}" for place, task in enumerate(dag.tasks[:MOST_NODES])}
    lines = [
        "flowchart LR",
        *(
            f'  {number[task.id]}["{_quoted(task.title or task.type)}<br/>{task.status.value}"]'
            for task in dag.tasks[:MOST_NODES]
        ),
    ]
    for edge in dag.edges:
        if edge.parent in number and edge.child in number:
            arrow = "-->" if edge.kind == "depends" else "-.->"
            lines.append(f"  {number[edge.parent]} {arrow} {number[edge.child]}")
    lines += [f"  %% {name} = {task_id}" for task_id, name in number.items()]
    if len(dag.tasks) > MOST_NODES:
        lines.append(f"  %% and {len(dag.tasks) - MOST_NODES} more tasks")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """A label that cannot be anything else: titles come from whoever put the task in."""
    return re.sub(r"[^\w .,:/+-]", "·", text)[:60]


def _json(uri: str, document: object) -> Contents:
    return _text(uri, compact(document), JSON)


def _text(uri: str, text: str, media_type: str) -> Contents:
    size = len(text.encode())
    shown = text if size <= MOST_BYTES else text.encode()[:MOST_BYTES].decode(errors="ignore")
    return TextResourceContents(uri=uri, mime_type=media_type, text=shown)
