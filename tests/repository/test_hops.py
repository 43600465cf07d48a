"""What one call passes on its way stays within a budget: functions, and the files that whoever follows it opens."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Lower a budget when its walk gets shorter; who raises one says in the commit what the steps are for. Threads make a
# walk pass one or two functions more or less.
BUDGETS = {"enqueue": (172, 48), "complete": (161, 42), "HTTP enqueue": (261, 71)}


def test_no_walk_passes_more_functions_and_files_than_its_budget():
    command = [sys.executable, "-m", "scripts.shape", "--walks"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120)
    walks: dict[str, list[int]] = json.loads(found.stdout)

    assert walks.keys() == BUDGETS.keys()
    over = {name: walk for name, walk in walks.items() if walk[0] > BUDGETS[name][0] or walk[1] > BUDGETS[name][1]}
    assert over == {}
