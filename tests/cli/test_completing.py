"""What the shell offers when Tab is pressed."""

import socket
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import taskyard
from taskyard.cli.main import app
from tests.cli.test_every_command import COMMANDS

HOSTILE = ("$(touch pwned)", "`touch pwned`", "a b", "x;y", "'", '"', "-rf", "[red]")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'yard.db'}"


def offered(url: str, *words: str, shell: str = "bash") -> list[str]:
    """What the program answers to the script that `--install-completion` puts in place."""
    line = ["taskyard", "--url", url, *words]
    asked = {"COMP_WORDS": " ".join(line), "COMP_CWORD": str(len(line) - 1), "_TYPER_COMPLETE_ARGS": " ".join(line)}
    asked["_TASKYARD_COMPLETE"] = f"complete_{shell}"
    run = CliRunner().invoke(app, [], env=asked, prog_name="taskyard")
    assert (run.exit_code, run.stderr) == (0, "")
    return run.stdout.split("\n") if shell == "zsh" else run.stdout.split()


def test_tasks_are_offered_by_the_end_of_their_ids_or_whole(url: str):
    with taskyard.connect_sync(url, sweeps=False) as yard:
        older, newer = yard.enqueue("code").id, yard.enqueue("code").id

    assert offered(url, "show", "") == [newer[-10:], older[-10:]]
    assert offered(url, "why", older[-10:-2].lower()) == [older[-10:].lower()]
    assert offered(url, "cancel", "task_") == [newer, older]


def test_dags_agents_types_and_queues_are_offered(url: str):
    with taskyard.connect_sync(url, sweeps=False) as yard:
        dag = yard.submit({"tasks": [{"type": "research"}, {"type": "code", "queue": "slow"}]}).id
        yard.agents.register("coder-1", "coder")

    assert offered(url, "tree", "d") == offered(url, "budget", "dag", "") == [dag]
    assert offered(url, "agents", "drain", "") == ["coder", "coder-1"]
    assert offered(url, "ls", "--type", "") == ["code", "research"]
    assert offered(url, "enqueue", "r") == ["research"]
    assert offered(url, "queues", "pause", "s") == ["slow"]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_name_that_a_shell_could_obey_is_not_offered(url: str, shell: str):
    with taskyard.connect_sync(url, sweeps=False) as yard:
        for name in (*HOSTILE, "plain"):
            yard.enqueue(name)

    shown = "\n".join(offered(url, "ls", "--type", "", shell=shell))

    assert "plain" in shown
    assert [each for each in ("touch", "x;y", "rf", "red") if each in shown] == []


def test_without_a_yard_nothing_is_offered_and_none_is_made(url: str, tmp_path: Path):
    assert offered(url, "show", "") == []
    assert offered("nonsense://", "show", "") == []
    assert list(tmp_path.iterdir()) == []


def test_a_yard_that_does_not_answer_keeps_no_line_waiting(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TASKYARD_CALL_TIMEOUT_SEC", "120")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()

        assert offered(f"http://127.0.0.1:{silent.getsockname()[1]}", "show", "") == []
    assert time.monotonic() - began < 60  # a call of any other command would wait for twice as long


def test_whatever_takes_a_task_agent_type_queue_or_dag_is_completed():
    names = {"task", "agent", "type", "queue", "dag", "identifier", "of_type", "type_", "task_type"}
    without = [
        f"{name}: {each.name}"
        for name, command in COMMANDS.items()
        for each in command.params
        if each.name in names and getattr(each, "_custom_shell_complete", None) is None
    ]
    documents = ("schedules add", "triggers add dag", "triggers add files", "triggers add rule", "hooks add")

    assert without == [f"{name}: {field}" for name in documents for field in ("task", "dag")]  # JSON and file names
