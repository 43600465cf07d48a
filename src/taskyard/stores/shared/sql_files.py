"""What the engines that speak SQL do alike with their .sql files: statements by name, and updates by what differs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import ne
from pathlib import Path

from taskyard.core.task import Hot

Differing = tuple[bool, ...]  # for each column of the moving row, whether it is written


def text_of(folder: Path, names: Sequence[str]) -> str:
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def named(text: str) -> dict[str, str]:
    """The statements by the name that stands above each, without comments."""
    parts = re.split(r"^-- name: (\w+)$", text, flags=re.MULTILINE)[1:]
    return {name: _bare(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _bare(body: str) -> str:
    return "\n".join(line for line in body.splitlines() if line.strip() and not line.lstrip().startswith("--"))


def by_difference(steps: Iterable[tuple[Hot, Hot]]) -> dict[Differing, list[Hot]]:
    """The rows after their steps, together with those that differ from the row before in the same columns."""
    alike: dict[Differing, list[Hot]] = {}
    for before, after in steps:
        alike.setdefault(tuple(map(ne, before, after)), []).append(after)
    return alike


def differing(differs: Differing) -> list[int]:
    return [place for place, is_so in enumerate(differs) if is_so]
