"""What a message asks for, in the words of the yard: prompt, payload, files, and which type of task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from a2a.types.a2a_pb2 import Message, Part
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import MessageToDict

from taskyard.core.json_value import Json, with_whole_numbers
from taskyard.features.a2a.service import LONGEST_MESSAGE_ID
from taskyard.features.a2a.views import PublishedTypeView

MOST_PARTS = 100
MOST_REFERENCES = 20
LONGEST_CONTEXT = 200  # characters: it becomes the subject of tasks
LONGEST_URL = 2000


class SentFile(NamedTuple):
    """A file that came with a message."""

    name: str
    media_type: str | None
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The parts of a message, sorted."""

    text: str
    data: Sequence[Json]
    files: Sequence[SentFile]
    links: Sequence[dict[str, Json]]  # files that are named by URL: they are handed on, and never fetched here

    @property
    def payload(self) -> Json:
        """One object as it is; several values, or one that is no object, under `data`; links under `files`."""
        match self.data:
            case []:
                payload: dict[str, Json] = {}
            case [dict() as only]:
                payload = dict(only)
            case several:
                payload = {"data": list(several)}
        if self.links:
            if "files" in payload:
                raise InvalidParamsError(message="A message with links must have no `files` in its data.")
            payload["files"] = list[Json](self.links)
        return payload

    @property
    def answer(self) -> Json:
        """What a task that asked is answered with: the text, the value, or both."""
        if self.text and (self.data or self.links):
            return {"text": self.text, "data": self.payload}
        if self.links or len(self.data) > 1:
            return self.payload
        return self.data[0] if self.data else self.text


def content_of(message: Message) -> Content:
    """Sort the parts of a message. What no task could take is refused by name."""
    if len(message.parts) > MOST_PARTS:
        raise InvalidParamsError(message=f"parts: must be at most {MOST_PARTS}.")
    if not 1 <= len(message.message_id) <= LONGEST_MESSAGE_ID:
        raise InvalidParamsError(message=f"messageId: must have 1 to {LONGEST_MESSAGE_ID} characters.")
    if len(message.context_id) > LONGEST_CONTEXT:
        raise InvalidParamsError(message=f"contextId: must have at most {LONGEST_CONTEXT} characters.")
    if len(message.reference_task_ids) > MOST_REFERENCES:
        raise InvalidParamsError(message=f"referenceTaskIds: must be at most {MOST_REFERENCES}.")
    kinds: dict[str, list[Part]] = {"text": [], "data": [], "raw": [], "url": []}
    for part in message.parts:
        kind = part.WhichOneof("content")
        if kind is None:
            raise InvalidParamsError(message="parts: each must have one of text, data, raw and url.")
        kinds[kind].append(part)
    return Content(
        text="\n\n".join(part.text for part in kinds["text"]),
        data=[with_whole_numbers(MessageToDict(part.data)) for part in kinds["data"]],
        files=[
            SentFile(part.filename or f"file-{number}", part.media_type or None, part.raw)
            for number, part in enumerate(kinds["raw"], 1)
        ],
        links=[_link(part) for part in kinds["url"]],
    )


def _link(part: Part) -> dict[str, Json]:
    try:
        is_web = urlsplit(part.url).scheme in ("http", "https")
    except ValueError:
        is_web = False
    if not is_web or len(part.url) > LONGEST_URL:
        raise InvalidParamsError(message=f"url: must begin with https:// or http://, in {LONGEST_URL} characters.")
    return {"url": part.url, "filename": part.filename, "mediaType": part.media_type}


def type_of(message: Message, published: Sequence[PublishedTypeView]) -> str:
    """The type that a message asks for: the skill that its metadata names, or the default."""
    named: Any = MessageToDict(message.metadata).get("skill")
    known = {each.type: each for each in published}
    if named is None:
        marked = [each for each in published if each.is_default] or list(published)
        if len(marked) == 1:
            return marked[0].type
        raise InvalidParamsError(message="metadata.skill: must name one of the skills of the card.")
    if not isinstance(named, str) or named not in known:
        raise InvalidParamsError(message="metadata.skill: must be one of the skills of the card.")
    return named


def signal_of(message: Message) -> str | None:
    """The question that a message says it answers."""
    named: Any = MessageToDict(message.metadata).get("signal")
    if named is not None and not isinstance(named, str):
        raise InvalidParamsError(message="metadata.signal: must be a text.")
    return named or None
