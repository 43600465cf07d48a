"""Errors as documents, and back: the same error beyond a server as before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from taskyard.core.errors import ERRORS, StoreUnavailable, TaskyardError
from taskyard.core.json_value import Json
from taskyard.definition.view import WireType, view


@view
class ErrorView:
    code: str
    detail: str
    retryable: bool
    facts: dict[str, Json]


def error_document(refusal: TaskyardError) -> dict[str, Json]:
    return {
        "code": refusal.code,
        "detail": str(refusal),
        "retryable": refusal.retryable,
        "facts": {name: value for name, value in refusal.facts.items() if isinstance(value, str | int | float | list)},
    }


def error_of(document: Mapping[str, Any]) -> TaskyardError:
    """The error that the document was made from. One that this release does not know says what the server said."""
    kind = ERRORS.get(document["code"])
    try:
        facts: Mapping[str, Any] = document.get("facts") or {}
        return StoreUnavailable(document["detail"]) if kind is None else kind(**facts)
    except TypeError:  # made from other facts than this release knows
        return StoreUnavailable(document["detail"])


Refused = Annotated[TaskyardError, WireType(ErrorView, error_document, error_of)]
