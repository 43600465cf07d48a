"""Which tests run in one process one after the other, and in which order tests begin, where pytest-xdist runs them.

By path: the groups of `--dist loadgroup` are names that pytest-xdist writes behind the ids of tests, which pytest 9 no
longer lets it do.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs]

# What takes longest, or waits for other processes, begins first, so that many short tests fill in at the end.
_FIRST = ("processes", "dashboard", "docs", "model", "mcp", "mutants", "bench", "cli", "server", "a2a", "worker")
_LAST = ("stores", "guarantees", "seeds", "api", "features", "core")
_TESTS = Path(__file__).parent
_CROWD = "tests/processes/test_many_workers.py"  # as long as all others of its folder together
# Files whose tests mostly wait for time to pass: side by side they would leave the processors without work.
_WAITING = frozenset(
    {
        *("tests/client/test_silence.py", "tests/sources/test_watching.py"),
        *("tests/worker/test_lifetimes.py", "tests/worker/test_supervision.py"),
    }
)
# Files whose tests share what takes long to make: see the fixtures of the scope "module", and what is cached.
_WHOLE = frozenset(
    {
        *(
            "tests/cli/test_hostile_texts.py",
            "tests/cli/test_missing_extras.py",
            "tests/deploy/test_manifests.py",
            "tests/docs/test_papers.py",
            "tests/stores/sqlite/test_plans.py",
            "tests/worker/gateway/test_coding_agent.py",
        ),
        *("tests/repository/test_shape.py", "tests/repository/test_walks.py", "tests/mcp/test_coding_agent.py"),
        *("tests/repository/test_places_that_reach_out.py", "tests/server/test_daemon_script.py"),
    }
)


def rank_of(path: Path) -> int:
    """The place of a test, which is that of its folder, in the order in which tests begin."""
    folder = path.relative_to(_TESTS).parts[0]
    if str(path.relative_to(_TESTS.parent)) in _WAITING:
        return 0
    if folder in _LAST:
        return len(_FIRST) + 1 + _LAST.index(folder)
    return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)


def unit_of(test: str) -> str:
    """What runs in one process, one after the other: the cases of a test function, where nothing more is shared."""
    file, _, case = test.partition("::")
    function, _, given = case.partition("[")
    folder = file.split("/")[1]
    if folder == "dashboard":  # those of one store share a server, and those of a file a browser
        return f"{folder} on {given.partition('-')[0].rstrip(']')}"
    if folder == "processes":  # each starts many processes, which compete for the machine
        return file if file == _CROWD else folder
    if file in _WAITING:
        return "waiting"
    return file if file in _WHOLE else f"{file}::{function}"


class Scheduling(LoadScopeScheduling):
    def __init__(self, config: Any, log: Any = None) -> None:
        # By their number of tests, units of one long test would come last, and most processes would have no work then.
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def add_node_collection(self, node: Any, collection: Any) -> None:
        super().add_node_collection(node, collection)
        self.registered_collections[node] = _Numbered(collection)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        """How many tests of a process have not ended. It is asked after every test, so ended units are left out."""
        for ended in [unit for unit, tests in workload.items() if all(tests.values())]:
            del workload[ended]
        return super()._pending_of(workload)


class _Numbered(list[str]):
    """Tests that are found by their names: every one is looked for once, among thousands."""

    def __init__(self, tests: Iterable[str]) -> None:
        super().__init__(tests)
        self._numbers = {test: number for number, test in enumerate(self)}

    def index(self, value: str, *_: Any) -> int:
        return self._numbers[value]
