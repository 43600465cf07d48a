"""A thousand listeners miss nothing, hear everything in order, and cost the server little."""

from pathlib import Path

import pytest

from tests.server import load
from tests.storage import url_of

EACH = 40  # events that each of them hears; `python -m tests.server.load 1000` is the whole million
MOST_GROWTH = 30 << 20  # bytes
MOST_OF_A_LISTENER = 40 << 10  # bytes


@pytest.mark.timeout(300)
async def test_a_thousand_listeners_miss_nothing_and_cost_little(tmp_path: Path):
    figures = await load.measured(url_of("sqlite", tmp_path), EACH)

    assert figures.faults == []
    assert figures.deliveries == load.LISTENERS * EACH
    assert figures.bytes_grown < MOST_GROWTH
    assert figures.bytes_of_a_listener < MOST_OF_A_LISTENER
