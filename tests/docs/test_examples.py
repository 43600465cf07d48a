"""The examples run as a reader would run them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.openai_endpoint import endpoint
from tests.object_servers import KEYS
from tests.object_servers import bucket as bucket_in

EXAMPLES = Path(__file__).parents[2] / "examples"
CLAUDE = Path(__file__).parents[1] / "integrations/claude_program.py"
BIN = Path(sys.executable).parent


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    yard = f"sqlite:///{tmp_path / 'yard.db'}"
    return {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "TASKYARD_URL": yard}


def run(environment: dict[str, str], *words: str | Path) -> str:
    return subprocess.run(words, env=environment, check=True, capture_output=True, text=True, timeout=60).stdout


def test_the_research_team_answers_and_leaves_a_sound_yard(environment: dict[str, str]) -> None:
    said = run(environment, sys.executable, EXAMPLES / "research_team.py")

    assert "'cheapest': 'Acme'" in said
    assert "verify: ok" in said


def test_the_orchestrator_answers_its_dead_letter_and_sees_its_graph_completed(environment: dict[str, str]) -> None:
    said = run(environment, sys.executable, EXAMPLES / "orchestrator.py").splitlines()

    assert said[0] == "told: dead_lettered code agent_error: which framework?"
    assert said[-2] == "told: ended completed"
    assert "verify: ok" in said[-1]


def test_the_landing_page_goes_from_a_webhook_to_an_object_store_and_a_notification(
    environment: dict[str, str], tmp_path: Path
) -> None:
    bucket, log = bucket_in("landing-page"), tmp_path / "log"
    story = EXAMPLES / "landing_page" / "story.py"

    said = run({**environment, **KEYS}, sys.executable, story, "--artifacts", bucket.url, "--log", log).splitlines()

    page = "<!doctype html><title>Acme Bicycles</title><main><h1>Acme Bicycles</h1></main>"
    assert said == [
        "webhook in: {'ok': True}",
        *("  research: completed", "  design: completed", "  synthesis: completed"),
        *("  code: invalid_output, completed", "  release: completed"),
        f"artifact: page.html, {len(page)} bytes: {page}",
        "planner was told: ended completed",
        "notification out: dag_completed - signature is good",
        said[-1],
    ], log.read_text()
    assert said[-1].startswith("verify: ok")
    assert [file.read_text() for file in bucket.folder.rglob("*") if file.is_file()] == [page]


def test_the_shell_agent_works_until_there_is_nothing_left(environment: dict[str, str]) -> None:
    run(environment, "taskyard", "enqueue", "count", "--prompt", "how many words is this")
    run(environment, "taskyard", "enqueue", "count", "--prompt", "three more words")

    run(environment, EXAMPLES / "shell_agent.sh")

    listed = json.loads(run(environment, "taskyard", "ls", "--json"))
    outputs = [json.loads(run(environment, "taskyard", "show", task["id"], "--json"))["output"] for task in listed]
    assert sorted(output["data"]["words"] for output in outputs) == [3, 5]


def test_the_dag_file_is_accepted_and_drawn(environment: dict[str, str]) -> None:
    dag_id = json.loads(run(environment, "taskyard", "submit", EXAMPLES / "landing_page.yaml", "--json"))["dag_id"]

    assert "requirements" not in run(environment, "taskyard", "tree", dag_id)  # names are for the file only
    assert "synthesis" in run(environment, "taskyard", "tree", dag_id)


def in_place_of_claude(folder: Path) -> dict[str, str]:
    """What makes the SDK start a program that says one line: Claude's own command line needs an account."""
    program, script = folder / "claude", folder / "script.json"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{CLAUDE}" "$@"\n')
    program.chmod(0o755)
    script.write_text('[{"say": "A line that waits."}]')
    names = {"CLAUDE_CLI": program, "CLAUDE_SCRIPT": script, "CLAUDE_CONFIG_DIR": folder / "home"}
    return {name: str(path) for name, path in names.items()}


@pytest.mark.parametrize(
    ("example", "lines"), [("pydantic_ai", 5), ("openai_agents", 4), ("openai", 5), ("langgraph", 5), ("claude", 5)]
)
def test_a_framework_is_a_worker_by_the_lines_that_are_numbered(
    environment: dict[str, str], tmp_path: Path, example: str, lines: int
) -> None:
    program = EXAMPLES / "frameworks" / f"{example}_worker.py"
    with endpoint("First, second.", "A line that waits.") as served:
        keys = {
            "openai": {"OPENAI_BASE_URL": served.url, "OPENAI_API_KEY": "none"},
            "claude": in_place_of_claude(tmp_path),
        }
        said = run({**environment, **keys.get(example, {})}, sys.executable, program).splitlines()

    numbers = [int(each) for each in re.findall(r"# (\d)", program.read_text())]
    assert (said[0], numbers) == ("A line that waits.", list(range(1, lines + 1)))
    if example == "claude":  # the guides of the others have programs of their own, which are run
        assert f"```\n{said[0]}\n```" in (EXAMPLES.parent / "docs/guides/claude.md").read_text()
