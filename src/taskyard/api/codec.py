"""Answers as the documents that cross HTTP, and back: the server writes what the client reads.

Both directions are made from the views. By hand is only what no type can say: an answer that is one of two things.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from taskyard.core.errors import TaskyardError
from taskyard.core.json_value import Json
from taskyard.definition.document import read, write
from taskyard.definition.error_view import error_document, error_of
from taskyard.features.attempts.views import Receipt

__all__ = ["error_of", "outcome", "outcome_of", "read", "write"]


def outcome(answer: Receipt | TaskyardError) -> dict[str, Json]:
    """One answer of many: what was reached, or why not."""
    return {"error": error_document(answer)} if isinstance(answer, TaskyardError) else write(answer)


def outcome_of(document: Mapping[str, Any]) -> Receipt | TaskyardError:
    return error_of(document["error"]) if "error" in document else read(Receipt, document)
