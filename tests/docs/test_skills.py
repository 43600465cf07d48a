"""What coding agents read is enough to work by: in a fresh folder with these files, every program runs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from taskyard.cli.main import COMMANDS, GROUPS

BIN = Path(sys.executable).parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    hidden = {name: value for name, value in os.environ.items() if not name.startswith("TASKYARD_")}
    environment = {**hidden, "PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run(words, cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=120)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert run(tmp_path, "taskyard", "skills", "install", str(tmp_path / "project")).returncode == 0
    return tmp_path / "project"


@pytest.mark.timeout(600)  # a dozen processes, one after the other
def test_every_program_of_the_skill_runs_as_it_stands_one_after_the_other(folder: Path):
    blocks = BLOCK.findall((folder / "SKILL.md").read_text())
    said: list[str] = []
    for language, code in blocks:
        words = ("bash", "-euo", "pipefail", "-c", code) if language == "sh" else (sys.executable, "-c", code)
        done = run(folder, *words)
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        said.append(done.stdout)

    assert [language for language, _ in blocks] == ["sh", "python", "python"]
    assert "completed" in said[0]
    assert said[2] == "2 attempts\n"
    assert run(folder, "taskyard", "verify").stdout.startswith("verify: ok")
    ended = json.loads(run(folder, "taskyard", "ls", "--json").stdout)
    assert {each["type"]: each["status"] for each in ended} == dict.fromkeys(("greet", "fetch", "report"), "completed")
    report = next(each["id"] for each in ended if each["type"] == "report")
    assert "read [{'length': 19}]" in run(folder, "taskyard", "show", report).stdout


def test_every_command_that_the_files_name_exists(folder: Path):
    text = "\n".join((folder / name).read_text() for name in ("SKILL.md", "AGENTS.md", "llms.txt"))
    named = set(re.findall(r"taskyard ([a-z]+)\b", text)) - {"work", "serve", "schema"}

    assert {"enqueue", "claim", "complete", "fail", "release", "why"} <= named
    assert named - {"keeps"} <= {*COMMANDS, *GROUPS}


def test_files_that_are_there_are_not_written_over(folder: Path):
    (folder / "AGENTS.md").write_text("our own rules")

    refused = run(folder, "taskyard", "skills", "install", ".")
    assert refused.returncode == 2
    assert "AGENTS.md" in refused.stderr
    assert (folder / "AGENTS.md").read_text() == "our own rules"
    assert run(folder, "taskyard", "skills", "install", ".", "--replace").returncode == 0
    assert "Taskyard" in (folder / "AGENTS.md").read_text()
