"""The table of limits of time in the guide to operating is what the code has."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from taskyard.core.units import SECOND

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "operating.md"
ROW = re.compile(r"^\| .+? \| ([\d.]+) (?:s|× `call`) \| .*?\| `([a-z_.]+)\.([A-Z_]+)` \|$", re.MULTILINE)
ROWS = [(module, name, float(said)) for said, module, name in ROW.findall(GUIDE.read_text(encoding="utf-8"))]


def test_every_row_of_the_table_is_looked_at():
    table = GUIDE.read_text(encoding="utf-8").partition("## Limits of time")[2].partition("## ")[0]

    assert len(ROWS) == table.count("\n| ") - 2


@pytest.mark.parametrize(("module", "name", "said"), ROWS)
def test_a_limit_is_as_the_table_says(module: str, name: str, said: float):
    found = getattr(import_module(f"taskyard.{module}"), name)

    assert (found / SECOND if isinstance(found, int) and found > 1000 else found) == said
