"""What is answered about moving a yard."""

from __future__ import annotations

from taskyard.definition.view import view


@view
class Exported:
    """What a file holds."""

    export: str  # the id of this export
    sha256: str
    counts: dict[str, int]  # lines by their kind
    held: int  # tasks under a lease: whoever holds it goes on with the other yard


@view
class Imported:
    """What was stored, and read again."""

    export: str
    counts: dict[str, int]
    resumed_after: int  # lines that an earlier run had stored; 0: it began with this one
    workspaces: tuple[str, ...]


@view
class RowDifference:
    """A row that two yards do not have alike."""

    part: str
    name: str
    outcome: str  # differs, only_here or only_there


@view
class Compared:
    """What two yards have alike, and what not."""

    counts: dict[str, dict[str, int]]  # by part: alike, differs, only_here, only_there
    differences: tuple[RowDifference, ...]  # the first ones

    @property
    def ok(self) -> bool:
        return not self.differences
