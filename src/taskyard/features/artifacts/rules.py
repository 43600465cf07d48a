"""Artifacts: what their names may be, what is known of each, and whether anybody may see it.

Nothing is written to make an artifact visible. Whether it is follows from its task's row and the attempt that put it,
so it can be seen from the very change that completes the task, and never where that change is refused.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, NotRequired, TypedDict

from taskyard.core.changes import Record
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import KEY_HELD, Hot, Outcome, Status, TaskId
from taskyard.core.units import Micros
from taskyard.definition.fields import text
from taskyard.definition.view import Hidden, Named, Time, shown

KIND = "artifact"  # of records: one for each file that was stored
LOOSE = "loose"  # of records: one for each object that is not known to be wanted, written before the object is
REFERENCE = "artifact:"
LONGEST_NAME = 200  # characters
MOST_NAME_BYTES = 240  # of UTF-8: file systems take 255, and a program may want to add to it
UNKNOWN = "application/octet-stream"

_ID = re.compile(r"art_[0-9A-HJKMNP-TV-Z]{26}(-[0-9A-HJKMNP-TV-Z]{26})?", re.ASCII)
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
# Of another kind a browser might make more than a file to keep, whatever the headers say.
_HARMLESS = frozenset(
    {
        *("text/plain", "text/markdown", "text/csv", "application/json", "application/pdf", "application/zip"),
        *("application/gzip", "application/x-tar", "image/png", "image/jpeg", "image/gif", "image/webp"),
        *("audio/mpeg", "audio/wav", "video/mp4"),
    }
)
_SEPARATORS = frozenset('/\\:*?"<>|∕⁄⧸╱／＼∖⧵')  # of paths, on any system, and what looks like them
_DEVICES = frozenset({"con", "prn", "aux", "nul", "clock$", "conin$", "conout$"}) | {
    f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789"
}
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file that a task made, or that was put in for tasks to read."""

    id: str
    name: str
    size: int
    sha256: str
    media_type: str
    task_id: TaskId | None  # None: it was put in by itself
    attempt: int | None
    created_at: Time
    created_by: str
    step: Annotated[str | None, Hidden()] = (
        None  # the step whose result it is: for the holders of the task alone, as long as that is kept
    )

    @shown
    def reference(self) -> Annotated[str, Named("ref")]:
        """How tasks refer to it."""
        return f"{REFERENCE}{self.id}"

    @property
    def served_as(self) -> str:
        """The media type that it is safe to serve it with."""
        return self.media_type if self.media_type in _HARMLESS else UNKNOWN

    def body(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "size": self.size,
            "sha256": self.sha256,
            "media_type": self.media_type,
            "task_id": self.task_id,
            "attempt": self.attempt,
            "created_at": self.created_at,
            "created_by": self.created_by,
            **({} if self.step is None else {"step": self.step}),
        }


class Fate(StrEnum):
    KEPT = "kept"  # anybody may see it
    WAITING = "waiting"  # for what becomes of its task
    OVER = "over"  # never to be seen


class ArtifactBody(TypedDict):
    name: str
    size: int
    sha256: str
    media_type: str
    task_id: TaskId | None
    attempt: int | None
    created_at: Micros
    created_by: str
    step: NotRequired[str]


class LooseBody(TypedDict):
    at: Micros
    attempt: int


ARTIFACT = RecordKind(KIND, ArtifactBody)
LOOSE_OBJECT = RecordKind(LOOSE, LooseBody)


def artifact_of(record: Record) -> Artifact:
    return Artifact(id=record.id, **ARTIFACT.of(record))


def fate(hot: Hot | None, attempt: int, outcome: Outcome | None) -> Fate:
    """What becomes of what an attempt put. `outcome` is how it ended; None where it has not."""
    if hot is None:
        return Fate.OVER
    # A handler that waited was run again as another attempt, and goes on from where it was.
    is_its_own = attempt == hot.attempt or outcome is Outcome.SUSPENDED
    if hot.status is Status.COMPLETED:
        return Fate.KEPT if is_its_own else Fate.OVER
    if outcome is Outcome.SUSPENDED:
        return Fate.OVER if hot.status is Status.CANCELLED else Fate.WAITING
    return Fate.WAITING if attempt == hot.attempt and hot.status in KEY_HELD else Fate.OVER


def new_id(ulid: str, task_id: TaskId | None) -> str:
    """That of a task's artifact begins like those of all its others, which are found by it."""
    return f"art_{ulid}" if task_id is None else f"{prefix(task_id)}{ulid}"


def prefix(task_id: TaskId) -> str:
    return f"art_{task_id.removeprefix('task_')}-"


def owner_of(artifact_id: str) -> TaskId | None:
    """The task that put an artifact, by its id; None where it was put in by itself."""
    owner, dash, _ = artifact_id.removeprefix("art_").partition("-")
    return TaskId(f"task_{owner}") if dash else None


def key_of(artifact_id: str) -> str:
    """Where the object is, chosen by the yard alone. A folder for each end of an id keeps folders small."""
    return f"{artifact_id[-2:]}/{artifact_id}"


def referred(reference: str) -> str | None:
    """The id that a reference names; None where it names something else than an artifact."""
    given = reference.removeprefix(REFERENCE)
    return given if given != reference else None


def is_id(given: str) -> bool:
    return _ID.fullmatch(given) is not None


def checked_name(value: object, path: str = "name") -> str:
    """A name that is a file's on every system, means nothing else to any, and looks like what it is."""
    name = text(value, path, most=LONGEST_NAME)
    if (rule := _broken(name) or _broken(unicodedata.normalize("NFKC", name))) is not None:
        raise InvalidInput(path, rule)
    if unicodedata.normalize("NFC", name) != name:
        raise InvalidInput(path, "must be in Unicode's composed form (NFC)")
    return name


def _broken(name: str) -> str | None:
    """The rule that a name breaks. What it comes to when look-alikes are folded must not break any either."""
    if len(name.encode()) > MOST_NAME_BYTES:
        return f"must be at most {MOST_NAME_BYTES} bytes of UTF-8"
    if any(unicodedata.category(letter)[0] == "C" for letter in name):
        return "must not have control, invisible or unassigned characters"
    if any(unicodedata.category(letter)[0] == "Z" and letter != " " for letter in name):
        return "must not have other white space than blanks"
    if not _SEPARATORS.isdisjoint(name):
        return "must be a file's name, without a folder and without any of / \\ : * ? \" < > |"
    if name[0] in " .-~" or name[-1] in " .":
        return "must not begin with a blank, a dot, - or ~, nor end with a blank or a dot"
    if unicodedata.category(name[0])[0] == "M":
        return "must not begin with a mark that belongs to a letter"
    if _ESCAPED.search(name):
        return "must not have escapes such as %2F"
    if name.partition(".")[0].rstrip().lower() in _DEVICES:
        return "must not be the name of a device"
    return None


def checked_media_type(value: object, path: str = "media_type") -> str:
    if value is None:
        return UNKNOWN
    given = text(value, path, most=255).partition(";")[0].strip().lower()
    if not _MEDIA_TYPE.fullmatch(given):
        raise InvalidInput(path, "must be a media type such as text/plain")
    return given


def checked_digest(value: object, path: str = "sha256") -> str | None:
    """What the caller says the content hashes to, where it says so."""
    if value is None:
        return None
    given = text(value, path, most=64).lower()
    if not _SHA256.fullmatch(given):
        raise InvalidInput(path, "must be a SHA-256 in 64 hexadecimal digits")
    return given
