"""What an attempt writes while it works, as an artifact that grows: each attempt has its own.

It is shown to those who follow the task, and is no part of the task that `GetTask` answers with: what a task made is in
its output.
"""

from __future__ import annotations

from a2a.types.a2a_pb2 import Artifact, Part, TaskArtifactUpdateEvent

from taskyard.a2a import shown_tasks
from taskyard.core.attempt_stream import ChunkKind
from taskyard.features.a2a.views import AgentTask
from taskyard.features.streams.views import StreamedChunk
from taskyard.yard import Yard

SHOWN = (ChunkKind.TEXT, ChunkKind.JSON)  # what the agent says; what a command prints is its log
_LAST_OF_ATTEMPT = 999_999_999  # behind every chunk of an attempt


class LiveOutput:
    """The chunks of a task from the attempt under way on, which is the one after the last that ended."""

    def __init__(self, yard: Yard, found: AgentTask, ended_attempts: int) -> None:
        self._yard = yard
        self._task = found
        self._attempt: int | None = None  # whose artifact is open
        self.after = f"{ended_attempts}-{_LAST_OF_ATTEMPT}"

    async def updates(self) -> list[TaskArtifactUpdateEvent]:
        """What was said since the last look. A new attempt closes the artifact of the one before it."""
        found: list[TaskArtifactUpdateEvent] = []
        while True:
            page = await self._yard.streams.page(self._task.task_id, after=self.after)
            self.after = page.after
            for chunk in page.chunks:
                if chunk.kind in SHOWN:
                    found += self._grown(chunk)
            if not page.chunks or page.is_over:
                return found

    def _grown(self, chunk: StreamedChunk) -> list[TaskArtifactUpdateEvent]:
        is_open = chunk.attempt == self._attempt
        closing = [] if is_open else self.closing()
        self._attempt = chunk.attempt
        part = Part(text=chunk.text) if chunk.kind == ChunkKind.TEXT else shown_tasks.json_part(chunk.data)
        return [*closing, self._update(chunk.attempt, part, append=is_open)]

    def closing(self) -> list[TaskArtifactUpdateEvent]:
        """The end of the open artifact: nobody knows of a chunk that it is the last, so an empty one follows it."""
        attempt, self._attempt = self._attempt, None
        return [] if attempt is None else [self._update(attempt, Part(text=""), append=True, last_chunk=True)]

    def _update(self, attempt: int, part: Part, *, append: bool, last_chunk: bool = False) -> TaskArtifactUpdateEvent:
        artifact = Artifact(
            artifact_id=f"stream-{attempt}",
            name="stream",
            description=f"What attempt {attempt} says while it works. It is not kept with the task.",
            parts=[part],
        )
        return TaskArtifactUpdateEvent(
            task_id=self._task.handle,
            context_id=self._task.context_id,
            artifact=artifact,
            append=append,
            last_chunk=last_chunk,
        )
