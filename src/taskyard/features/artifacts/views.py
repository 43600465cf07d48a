"""Artifacts as the documents that cross HTTP, and what is read from them."""

from __future__ import annotations

from typing import Any

from taskyard.core.json_value import Json
from taskyard.core.units import from_iso, to_iso
from taskyard.features.artifacts.rules import Artifact

LEASE = "taskyard-lease"  # the header that carries a lease where there is no JSON to carry it
TASK = "taskyard-task"  # the header that says which task's lease that is, where the path does not
DIGEST = "taskyard-sha256"  # the header in which a sender may say what the file hashes to


def artifact(answer: Artifact) -> dict[str, Json]:
    return {
        "id": answer.id,
        "ref": answer.reference,
        "name": answer.name,
        "size": answer.size,
        "sha256": answer.sha256,
        "media_type": answer.media_type,
        "task_id": answer.task_id,
        "attempt": answer.attempt,
        "created_at": to_iso(answer.created_at),
        "created_by": answer.created_by,
    }


def artifact_of(document: dict[str, Any]) -> Artifact:
    facts = {name: value for name, value in document.items() if name not in ("ref", "created_at")}
    return Artifact(**facts, created_at=from_iso(document["created_at"]))
