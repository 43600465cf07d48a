"""What SQL stores share: statements of .sql files by name, and updates of only the columns that changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import ne
from pathlib import Path

from taskyard.core.task import Hot

ChangedColumns = tuple[bool, ...]  # for each field of a task's row, whether it differs


def read_files(folder: Path, names: Sequence[str]) -> str:
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def parse_statements(text: str) -> dict[str, str]:
    """The statements by the name above each, without comments."""
    parts = re.split(r"^-- name: (\w+)$", text, flags=re.MULTILINE)[1:]
    return {name: _without_comments(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _without_comments(body: str) -> str:
    return "\n".join(line for line in body.splitlines() if line.strip() and not line.lstrip().startswith("--"))


def group_by_changes(steps: Iterable[tuple[Hot, Hot]]) -> dict[ChangedColumns, list[Hot]]:
    """Group the rows after their steps by the columns in which each differs from the row before."""
    groups: dict[ChangedColumns, list[Hot]] = {}
    for before, after in steps:
        groups.setdefault(tuple(map(ne, before, after)), []).append(after)
    return groups
