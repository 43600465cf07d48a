"""Results of steps that are too large for a row: what is stored in their place names the artifact that has them."""

from __future__ import annotations

from taskyard.core.json_value import Json
from taskyard.features.artifacts.rules import referred

_MARK = "taskyard:artifact"
FILE = "step.json"  # what such an artifact is called


def in_artifact(reference: str) -> dict[str, Json]:
    """What stands for a result that is in this artifact."""
    return {_MARK: reference}


def artifact_in(stored: Json) -> str | None:
    """The artifact that has the result; None where the result itself is stored."""
    if not isinstance(stored, dict) or stored.keys() != {_MARK}:
        return None
    return referred(str(stored[_MARK]))
