"""A base install has no extra's libraries: whatever needs one says in one line which, and what to install."""

import subprocess
import sys
from pathlib import Path

import pytest

# As on a machine without it: whoever imports it is told that there is no such module.
WITHOUT = """
import sys

class Absent:
    missing = sys.argv.pop(1)

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.missing:
            raise ModuleNotFoundError(f"No module named {self.missing!r}", name=self.missing)

sys.meta_path.insert(0, Absent())
from taskyard.cli.main import main
main()
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


@pytest.mark.parametrize(("module", "words", "extra"), NEEDS.values(), ids=list(NEEDS))
def test_what_needs_an_extra_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, words: list[str], extra: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")  # without it, a gateway has nowhere to go
    (tmp_path / "brief.txt").write_text("What to do")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, module, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")  # and it did not say that it had begun
    (said,) = done.stderr.splitlines()
    assert f"pip install 'taskyard[{extra}]'" in said
