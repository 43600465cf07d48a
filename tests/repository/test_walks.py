"""How far a call goes: the functions and files of ours that it passes. A budget may get smaller, and never grows.

The table that `scripts.shape` prints is what a newcomer has to follow.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Functions, files. A few more than are counted today, since timers pass by now and then.
BUDGETS = {"enqueue": (161, 46), "complete": (157, 42), "HTTP enqueue": (251, 70)}


@pytest.fixture(scope="module")
def walked() -> dict[str, list[int]]:
    """How many functions and files each call passes, found in a process of its own: every thread of it is followed."""
    program = "import asyncio, json; from scripts.shape import walks; print(json.dumps(asyncio.run(walks())))"
    command = [sys.executable, "-c", program]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("walk", BUDGETS)
def test_a_call_passes_no_more_than_its_budget(walked: dict[str, list[int]], walk: str):
    functions, files = walked[walk]
    most_functions, most_files = BUDGETS[walk]

    assert 50 < functions <= most_functions
    assert 10 < files <= most_files
