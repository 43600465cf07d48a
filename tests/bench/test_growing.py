"""How costs grow: that each measurement runs on small yards, and what is drawn of it."""

import xml.etree.ElementTree as ET
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bench.growing.dags import dags
from bench.growing.growth import Growth, Place, name
from bench.growing.history import history
from bench.growing.leases import leases
from bench.growing.plot import svg
from bench.growing.readers import readers
from bench.runner import Row, Table
from bench.yards import Urls, in_files

SVG = "{http://www.w3.org/2000/svg}"


def a_row(place: Place, median: float) -> Row:
    return Row(
        case=name(place),
        unit="µs",
        median=median,
        least=median - 1,
        most=median + 1,
        samples=3,
        against=None,
        ratio=None,
        counts={},
    )


def a_growth(*points: tuple[Place, float]) -> Growth:
    table = Table(title="Draining <fast>", settings={}, rows=[a_row(place, median) for place, median in points])
    return Growth(table=table, of="tasks", places={name(place): place for place, _ in points})


async def both_tables_of_dags(store: str, urls: Urls, *, sizes: list[int], rounds: int) -> Growth:
    submitted, drained = await dags(store, urls, sizes=sizes, rounds=rounds)
    assert set(submitted.places) == set(drained.places)
    return drained


@pytest.mark.parametrize("measured", [both_tables_of_dags, history, leases, readers])
async def test_a_growth_is_measured_for_every_size(tmp_path: Path, measured: Callable[..., Awaitable[Growth]]):
    growth = await measured("sqlite", in_files(tmp_path), sizes=[2, 150], rounds=1)

    assert {growth.places[row.case].size for row in growth.table.rows} == {2, 150}
    assert all(row.median > 0 for row in growth.table.rows)
    assert ET.fromstring(svg(growth)).tag == f"{SVG}svg"


def test_a_plot_has_a_line_for_each_shape_and_a_point_for_each_size():
    plain, fan = Place("plain", 100), Place("fan-in", 100)

    drawn = ET.fromstring(
        svg(a_growth((plain, 5), (plain._replace(size=1_000), 9), (fan, 6), (fan._replace(size=1_000), 7)))
    )

    assert len(drawn.findall(f"{SVG}circle")) == 4
    texts = [text.text for text in drawn.findall(f"{SVG}text")]
    assert {"Draining <fast>: µs", "tasks", "100", "1,000", "plain", "fan-in"} <= set(texts)


def test_what_costs_more_is_drawn_higher():
    dear, cheap = Place("plain", 1_000), Place("plain", 10)

    drawn = ET.fromstring(svg(a_growth((cheap, 5), (dear, 50))))

    low, high = [(float(point.attrib["cx"]), float(point.attrib["cy"])) for point in drawn.findall(f"{SVG}circle")]
    assert low[0] < high[0]
    assert low[1] > high[1]
