"""A base install has no extra's libraries: whatever needs one says in one line which, and what to install."""

import json
import os
import subprocess
import sys

import pytest

# Runs a command for each line of its input, in a process that it forks: it has loaded the program, and no extra.
# Each is run as on a machine without one library: whoever imports it is told that there is no such module.
WITHOUT = """
import json, os, sys
from taskyard.cli.main import main

class Absent:
    def __init__(self, missing):
        self.missing = missing

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.missing:
            raise ModuleNotFoundError(f"No module named {self.missing!r}", name=self.missing)

def run(name, missing, words):
    for number, stream in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{name}.{stream}", os.O_CREAT | os.O_WRONLY), number)
    assert missing not in sys.modules, "the program itself has loaded it"
    sys.meta_path.insert(0, Absent(missing))
    sys.argv = ["taskyard", *words]
    sys.exit(main())

for line in sys.stdin.read().splitlines():
    pid = os.fork()
    if not pid:
        run(*json.loads(line))
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
NEEDS = {
    "serve": ("fastapi", ["serve"], "server"),
    "a remote yard": ("httptools", ["--url", "http://127.0.0.1:1", "ls"], "client"),
    "a judge": ("httpx", ["work", "--judge", "http://127.0.0.1:1", "--judge-model", "m"], "client"),
    "a gateway": ("httpx", ["work", "--exec", "true", "--gateway"], "gateway"),
    "PostgreSQL": ("asyncpg", ["--url", "postgresql://127.0.0.1:1/yard", "ls"], "postgres"),
    "Redis": ("hiredis", ["--url", "redis://127.0.0.1:1", "ls"], "redis"),
    "artifacts": ("obstore", ["artifacts", "put", "brief.txt"], "artifacts"),
    "notifications": ("httpcore", ["notify", "add", "me", "slack://a/b/c", "--on", "dead_letter"], "notifications"),
    "MCP": ("mcp", ["mcp"], "mcp"),
    "the terminal": ("textual", ["tui"], "tui"),
    "watching": ("watchfiles", ["triggers", "watch", "."], "watch"),
}


@pytest.fixture(scope="module")
def run_without(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str, str]]:
    """The status, the output and the complaints of each command."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "brief.txt").write_text("What to do")
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        input="\n".join(json.dumps([name, module, words]) for name, (module, words, _) in NEEDS.items()),
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": "none"},  # without it, a gateway has nowhere to go
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    return {
        name: (status, (folder / f"{name}.out").read_text(), (folder / f"{name}.err").read_text())
        for name, status in zip(NEEDS, ran.stdout.split(), strict=True)
    }


@pytest.mark.parametrize("name", NEEDS)
def test_what_needs_an_extra_names_it(run_without: dict[str, tuple[str, str, str]], name: str) -> None:
    status, output, complaints = run_without[name]

    assert (status, output) == ("2", "")  # and it did not say that it had begun
    (said,) = complaints.splitlines()
    assert f"pip install 'taskyard[{NEEDS[name][2]}]'" in said
