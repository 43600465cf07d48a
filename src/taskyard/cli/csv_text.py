"""Rows as comma-separated values, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from taskyard.visible_text import visible

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a text that begins so for a formula


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A heading and a line for each row. Texts stay texts: none is a formula, and none hides what stands beside it."""
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows([_cell(each) for each in row] for row in rows)
    return written.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
