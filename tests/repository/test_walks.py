"""How far a call goes: the functions and files of ours that it passes. A budget may get smaller, and never grows.

The table that `scripts.shape` prints is what a newcomer has to follow. It is made in a process of its own, since it
traces every thread of it.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Functions, files. A few more than are counted today, since timers pass by now and then.
BUDGETS = {"enqueue": (161, 46), "complete": (154, 42), "HTTP enqueue": (249, 70)}


@pytest.fixture(scope="module")
def figures() -> dict[str, str]:
    command = [sys.executable, "-m", "scripts.shape", "--json"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return json.loads(printed)


@pytest.mark.parametrize("walk", BUDGETS)
def test_a_call_passes_no_more_than_its_budget(figures: dict[str, str], walk: str):
    functions, files = map(int, figures[f"{walk}: functions / files"].split(" / "))
    most_functions, most_files = BUDGETS[walk]

    assert 50 < functions <= most_functions
    assert 10 < files <= most_files
