"""Which graphs a list is about. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple, TypedDict

from taskyard.core.changes import Record
from taskyard.core.dag import DagStatus
from taskyard.core.errors import InvalidInput
from taskyard.core.record_kinds import DAG
from taskyard.core.units import Micros
from taskyard.definition import fields
from taskyard.definition.view import About


class DagFilter(TypedDict, total=False):
    """What a graph must have to be listed. What is absent or None leaves nothing out."""

    status: Annotated[Sequence[str], About("One of these.")]
    text: Annotated[str | None, About("Found in the title, or what the id begins with.")]
    tag: str | None
    created_by: str | None
    since: Annotated[str | None, About("Put in at this time or later: ISO 8601 with a zone.")]
    until: Annotated[str | None, About("Put in before this time.")]


class DagConditions(NamedTuple):
    statuses: frozenset[DagStatus] = frozenset()
    text: str | None = None  # case-folded
    tag: str | None = None
    created_by: str | None = None
    since: Micros | None = None
    until: Micros | None = None


EVERYTHING = DagConditions()


def asked(
    *,
    status: Sequence[str] = (),
    text: str | None = None,
    tag: str | None = None,
    created_by: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> DagConditions:
    """The filter, checked."""
    return DagConditions(
        frozenset(_status(word) for word in ((status,) if isinstance(status, str) else status or ())),
        None if not text else text.casefold(),
        tag,
        created_by,
        _moment("since", since),
        _moment("until", until),
    )


def matches(wanted: DagConditions, record: Record) -> bool:
    """Whether a stored graph meets every condition. Of one that goes on, the record does not say whether it has begun:
    its state is looked at by `is_wanted`."""
    body = DAG.of(record)
    at = body["created_at"] or 0
    return (
        (not wanted.statuses or bool(wanted.statuses & _possible(DagStatus(body["status"]))))
        and (
            wanted.text is None
            or wanted.text in body["title"].casefold()
            or record.id.casefold().startswith(wanted.text)
        )
        and (wanted.tag is None or wanted.tag in body["tags"])
        and wanted.created_by in (None, body["created_by"])
        and (wanted.since is None or at >= wanted.since)
        and (wanted.until is None or at < wanted.until)
    )


def is_wanted(wanted: DagConditions, status: DagStatus) -> bool:
    """Whether a graph in this state is asked for."""
    return not wanted.statuses or status in wanted.statuses


def _possible(stored: DagStatus) -> frozenset[DagStatus]:
    return frozenset({stored} if stored.is_final else {DagStatus.PENDING, DagStatus.RUNNING})


def _status(word: str) -> DagStatus:
    try:
        return DagStatus(word)
    except ValueError:
        raise InvalidInput("status", f"must be one of {', '.join(DagStatus)}") from None


def _moment(name: str, given: str | None) -> Micros | None:
    return None if given is None else fields.moment(given, name)
