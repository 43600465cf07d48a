"""What is sent to append to streams."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from taskyard.api.requests import Leased, Name, RequestBody, TaskId


class StreamedValue(RequestBody):
    """What an agent says: a text, or for `json` and `message` a value in `data`."""

    kind: Literal["text", "json", "stdout", "stderr", "message"] = "text"
    text: str | None = None
    data: Any = None


class AppendToStream(Leased):
    chunks: list[StreamedValue] = Field(min_length=1, max_length=1000)
    request_id: Name | None = Field(None, description="The same again: nothing is added twice.")
    patient: bool = Field(
        False, description="Nobody waits for the answer: of many appends, all patient, other calls may go first."
    )


class AppendOf(AppendToStream):
    task_id: TaskId


class Appends(RequestBody):
    appends: list[AppendOf] = Field(min_length=1, max_length=1000)
