"""A plot as SVG, written by hand: lines over a logarithmic axis or over time, each point with its least and most.

One sample that took long by chance would leave no room for the others: what is far above all medians is cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from itertools import zip_longest
from math import log10
from pathlib import Path

from bench.growing.growth import Growth
from bench.runner import Row

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 40, 50
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")
STEPS = 4  # of the upright axis
APART = 70  # between the names of two sizes
LINE = 13  # from the name of a line to the next one below it
MOST_DOTS = 40  # on one line: more would be one thick line
MOST = 2  # times the highest median: what is above that is cut off


def save(growth: Growth, folder: Path) -> None:
    plotted = growth.table.title.lower().replace(",", "").replace(" ", "-")
    (folder / f"{plotted}.svg").write_text(svg(growth), encoding="utf-8")


def svg(growth: Growth) -> str:
    lines = _lines(growth)
    sizes = sorted({size for points in lines.values() for size, _ in points})
    rows = growth.table.rows
    highest = min(max(row.most for row in rows), MOST * max(row.median for row in rows)) or 1.0
    scale = _Scale(sizes, highest, even if growth.is_time else logarithm)
    parts = [*_axes(growth, scale, sizes, highest)]
    coloured = dict(zip(lines, _colours(), strict=False))
    for line, points in lines.items():
        parts += _drawn(points, scale, coloured[line])
    parts += _named(lines, scale, coloured)
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    ground = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {box}>', ground, *parts, "</svg>", ""])


def _lines(growth: Growth) -> dict[str, list[tuple[int, Row]]]:
    lines: dict[str, list[tuple[int, Row]]] = {}
    for row in growth.table.rows:
        place = growth.places[row.case]
        lines.setdefault(place.line, []).append((place.size, row))
    return lines


def logarithm(size: int) -> float:
    """Nought is shown as one."""
    return log10(max(size, 1))


def even(size: int) -> float:
    return float(size)


class _Scale:
    """Where a figure is on the page."""

    def __init__(self, sizes: list[int], highest: float, place: Callable[[int], float]) -> None:
        self._place = place
        self._first, self._last = place(sizes[0]), place(sizes[-1])
        self._highest = highest

    def x(self, size: int) -> float:
        span = self._last - self._first or 1.0
        return round(LEFT + (self._place(size) - self._first) / span * (WIDTH - LEFT - RIGHT), 1)

    def y(self, figure: float) -> float:
        return round(HEIGHT - BOTTOM - min(figure / self._highest, 1.0) * (HEIGHT - TOP - BOTTOM), 1)


def _axes(growth: Growth, scale: _Scale, sizes: list[int], highest: float) -> Iterator[str]:
    foot, unit = HEIGHT - BOTTOM, growth.table.rows[0].unit
    yield f'<text x="{LEFT}" y="20" font-size="14">{escape(growth.table.title)}: {escape(unit)}</text>'
    yield f'<path d="M{LEFT} {TOP}V{foot}H{WIDTH - RIGHT}" fill="none" stroke="#333"/>'
    for size, larger in zip_longest(sizes, sizes[1:]):
        if larger is None or scale.x(larger) - scale.x(size) > APART or (growth.is_time and size == sizes[0]):
            yield f'<text x="{scale.x(size)}" y="{foot + 18}" text-anchor="middle">{size:,}</text>'
    yield f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{foot + 38}" text-anchor="middle">{escape(growth.of)}</text>'
    for step in range(STEPS + 1):
        figure = highest * step / STEPS
        yield f'<text x="{LEFT - 8}" y="{scale.y(figure) + 4}" text-anchor="end">{figure:,.3g}</text>'


def _drawn(points: list[tuple[int, Row]], scale: _Scale, colour: str) -> Iterator[str]:
    path = "L".join(f"{scale.x(size)} {scale.y(row.median)}" for size, row in points)
    yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for size, row in points if len(points) <= MOST_DOTS else ():
        x = scale.x(size)
        yield f'<path d="M{x} {scale.y(row.least)}V{scale.y(row.most)}" stroke="{colour}"/>'
        yield f'<circle cx="{x}" cy="{scale.y(row.median)}" r="3" fill="{colour}"/>'


def _named(lines: dict[str, list[tuple[int, Row]]], scale: _Scale, colours: dict[str, str]) -> Iterator[str]:
    """Each line by its name, where it ends, or below the name that is there already."""
    ends = {line: (scale.x(points[-1][0]), scale.y(points[-1][1].median)) for line, points in lines.items()}
    free = 0.0
    for line, (x, y) in sorted(ends.items(), key=lambda each: each[1][1]):
        free = max(y + 4, free)
        yield f'<text x="{x + 8}" y="{free}" fill="{colours[line]}">{escape(line)}</text>'
        free += LINE


def _colours() -> Iterator[str]:
    while True:
        yield from COLOURS
