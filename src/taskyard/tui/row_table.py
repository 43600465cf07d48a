"""A table of rows that are read again and again, in which the cursor stays on its row."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widgets import DataTable

from taskyard.cli.terminal import Text

Cells = Sequence[str | Text]


class RowTable(DataTable[Text]):
    """Every cell is a text in which nothing is obeyed: a plain string would be read as markup."""

    def __init__(self, *columns: str, id: str | None = None) -> None:
        super().__init__(id=id, cursor_type="row", zebra_stripes=True)
        self._names = columns
        self._shown: list[tuple[str, list[Text]]] = []

    def on_mount(self) -> None:
        for name in self._names:
            self.add_column(Text(name))

    @property
    def chosen(self) -> str | None:
        """The key of the row that the cursor is on."""
        return self._shown[self.cursor_row][0] if 0 <= self.cursor_row < len(self._shown) else None

    def show_rows(self, rows: Sequence[tuple[str, Cells]]) -> None:
        """Show these rows, each under a key of its own."""
        wanted = [(key, [_line(cell) for cell in cells]) for key, cells in rows]
        if wanted == self._shown:
            return
        before, row = self.chosen, self.cursor_row
        keys = [key for key, _ in wanted]
        self.clear()
        for key, cells in wanted:
            self.add_row(*cells, key=key)
        self._shown = wanted
        # A row that is gone leaves the cursor where it was, among those that moved up.
        place = keys.index(before) if before in keys else min(row, len(keys) - 1)
        self.move_cursor(row=max(place, 0))


def _line(cell: str | Text) -> Text:
    """A cell is one line high: what has more is shown on one."""
    return Text(" ".join(cell.split())) if isinstance(cell, str) else cell
