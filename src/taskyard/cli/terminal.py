"""How things look in a terminal: one manner for all tables, states, times and money.

Most of what is shown was written by others. Every text here is text: no markup is read from it, and characters that a
terminal would obey are shown as escapes. So no other module of the command line makes a `rich` text or console.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import rich.text
from rich.console import Console
from rich.style import Style
from rich.table import Table

from taskyard.core.task import Status
from taskyard.core.units import Micros, MicroUsd, to_usd
from taskyard.visible_text import visible

COLOURS = {
    Status.PENDING: "bright_black",
    Status.READY: "cyan",
    Status.CLAIMED: "blue",
    Status.RUNNING: "bold blue",
    Status.VALIDATING: "magenta",
    Status.COMPLETED: "green",
    Status.RETRYING: "yellow",
    Status.DEAD_LETTERED: "bold red",
    Status.CANCELLED: "bright_black",
}
MARKS = {
    Status.PENDING: "·",
    Status.READY: "○",
    Status.CLAIMED: "◔",
    Status.RUNNING: "◐",
    Status.VALIDATING: "◕",
    Status.COMPLETED: "✓",
    Status.RETRYING: "↻",
    Status.DEAD_LETTERED: "✗",
    Status.CANCELLED: "–",
}
SHORT = 10  # characters at the end of an id that tell tasks apart


class Text(rich.text.Text):
    """A text in which nothing is obeyed."""

    def __init__(self, text: str = "", style: str | Style = "", **options: Any) -> None:
        super().__init__(visible(text), style, **options)

    def append(self, text: rich.text.Text | str, style: str | Style | None = None) -> Self:
        super().append(visible(text) if isinstance(text, str) else text, style)
        return self

    @classmethod
    def assemble(cls, *parts: str | rich.text.Text | tuple[str, str | Style], **options: Any) -> Self:
        made = cls(**options)
        for part in parts:
            made.append(*part) if isinstance(part, tuple) else made.append(part)
        return made


class Terminal(Console):
    """A console that takes every string for what it is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, markup=False, highlight=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> rich.text.Text:
        return super().render_str(visible(text), **options)


def table(
    *columns: str, rows: Iterable[Sequence[str | Text]], right: Sequence[str] = (), wraps: Sequence[str] = ()
) -> Table:
    """Columns keep their words whole; where it is too narrow, the last one gives way, or those that are named."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        gives_way = column in (wraps or columns[-1:])
        side = "right" if column in right else "left"
        made.add_column(column, justify=side, overflow="fold", no_wrap=not gives_way)
    for row in rows:
        made.add_row(*row)
    return made


def cut(text: str) -> Text:
    """On one line of a table; where the screen is too narrow, without its end."""
    return Text(one_line(text), no_wrap=True, overflow="ellipsis")


def one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"


def state(status: Status) -> Text:
    return Text(f"{MARKS[status]} {status.value}", style=COLOURS[status])


def short(identifier: str) -> str:
    """The end of an id: enough to tell recent ones apart, and enough to name one to a command."""
    return identifier[-SHORT:]


def age(at: Micros | None, now: Micros) -> str:
    """How long ago, in the largest unit that fits; in the future: in how long."""
    if at is None:
        return ""
    left = (now - at) / 1_000_000
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if abs(left) >= length:
            return _signed(left / length, unit)
    return _signed(left, "s")


def dollars(amount: MicroUsd | int | None) -> str:
    """To the cent, and further only where there is more."""
    if amount is None:
        return ""
    whole, _, cents = to_usd(MicroUsd(amount)).partition(".")
    return f"${whole}.{cents:0<2}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def seconds(duration: float) -> str:
    return f"{duration:.2f} s" if duration < 10 else f"{duration:.0f} s"


def _signed(amount: float, unit: str) -> str:
    return f"in {-amount:.0f}{unit}" if amount < 0 else f"{amount:.0f}{unit}"
