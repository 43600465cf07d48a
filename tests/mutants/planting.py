"""What a planted mistake is made of: the texts that it replaces, and what must catch it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    file: str  # below src/taskyard
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Hunt:
    """Histories on a store beside the model, told as a story, or drawn from the first seeds."""

    store: str
    story: str = ""
    seeds: int = 0

    @property
    def quarry(self) -> str:
        return self.story or f"0-{self.seeds}"

    def __str__(self) -> str:
        return f"{self.store}-{self.quarry}"


@dataclass(frozen=True, slots=True)
class Named:
    """Tests of another layer."""

    tests: tuple[str, ...]

    def __str__(self) -> str:
        return "named"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    name: str
    trap: str
    edits: tuple[Edit, ...]
    caught_by: Hunt | Named

    @property
    def stores(self) -> set[str]:
        """Those that it is planted in, where it is planted in one store only."""
        folders = [edit.file.split("/") for edit in self.edits]
        return {folder[1] for folder in folders if folder[0] == "stores" and len(folder) > 2}
