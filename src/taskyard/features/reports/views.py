"""What is answered about reports."""

from __future__ import annotations

from typing import Annotated

from taskyard.definition.view import About, Time, view


@view
class ReportRow:
    """One group, and what was measured of it."""

    group: Annotated[tuple[str | None, ...], About("As in `by`; `null`: none, such as no tag.")]
    values: Annotated[
        tuple[float | None, ...], About("As in `measures`: dollars, seconds or numbers; `null`: nothing was measured.")
    ]


@view
class GroupedReport:
    """What was done, what it cost and how long it took, by group."""

    source: Annotated[str, About("attempts, or the stored figures of days.")]
    since: Time
    until: Time
    by: tuple[str, ...]
    measures: tuple[str, ...]
    rows: Annotated[tuple[ReportRow, ...], About("Days in order; else the most of the first measure first.")]
    total: Annotated[ReportRow, About("Of everything, also of rows that were left out.")]
    read: Annotated[int, About("Tasks or days that were read.")]
    is_cut: Annotated[bool, About("There are more tasks than were read: the newest are counted.")]
    rows_left_out: int
