"""The protocol of preset loki: put in, claim, complete and fail, from a script."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from taskyard.cli.invocation import COLLECT_AFTER
from tests.cli.conftest import Command, given_an_empty_yard

BIN = Path(sys.executable).parent
ENDING = """
import atexit, gc
from taskyard.cli.main import main

atexit.register(lambda: print("looked at and left alone:", len(gc.get_objects()), gc.get_freeze_count()))
main()
"""


def test_a_task_goes_in_is_claimed_and_completed(taskyard: Command) -> None:
    made = taskyard("enqueue", "code", "--prompt", "do it", "--payload", '{"n": 1}', "--json").json
    (claimed,) = taskyard("claim", "--agent", "me", "--json").json["tasks"]
    assert (claimed["id"], claimed["spec"]["payload"]) == (made["id"], {"n": 1})

    taskyard("progress", claimed["id"], "0.5", "--lease", claimed["lease"], "--note", "half way")
    done = taskyard("complete", claimed["id"], "--lease", claimed["lease"], "--output", '{"ok": true}', "--json").json

    assert done["status"] == "completed"
    assert taskyard("show", made["id"], "--json").json["output"]["data"] == {"ok": True}


def test_claiming_where_there_is_nothing_prints_nothing_and_says_so_by_its_status(taskyard: Command) -> None:
    assert taskyard("claim", "--agent", "me") == (1, "")


def test_a_failure_is_retried_and_then_waits_for_a_person(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--set", "max_attempts=1", "--json").json["id"]
    (claimed,) = taskyard("claim", "--agent", "me", "--json").json["tasks"]

    failed = taskyard("fail", task, "--lease", claimed["lease"], "--reason", "crash", "--error", "it broke").out
    assert "dead_lettered" in failed
    assert "it broke" in taskyard("dead", "ls").out

    taskyard("dead", "resolve", task, "modify_and_retry", "--spec", '{"prompt": "again"}', "--reason", "try so")
    assert taskyard("show", task, "--json").json["spec"]["prompt"] == "again"
    report = taskyard("dead", "report").out
    assert "modify_and_retry" in report
    assert "try so" in report


def test_a_stale_lease_is_refused_with_the_status_of_a_conflict(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--json").json["id"]
    taskyard("claim", "--agent", "me")

    said = taskyard("complete", task, "--lease", "lease_made_up.1")

    assert said.status == 4
    assert "lease is lost" in said.out


def test_a_task_that_was_given_back_can_be_claimed_again(taskyard: Command) -> None:
    task = taskyard("enqueue", "code", "--json").json["id"]
    (claimed,) = taskyard("claim", "--agent", "me", "--json").json["tasks"]

    taskyard("release", task, "--lease", claimed["lease"])

    (again,) = taskyard("claim", "--agent", "me", "--json").json["tasks"]
    assert (again["id"], again["attempts"]) == (task, 0)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["enqueue", "code", "--payload", "{"], 2, "--payload"),
        (["enqueue", " "], 2, "type"),
        (["enqueue", "code", "--priority", "101"], 2, "priority"),
        (["enqueue", "code", "--set", "colour=1"], 2, "colour"),
        (["show", "task_01J00000000000000000000000"], 3, "there is no task"),
        (["show", "ZZZZ"], 3, "there is no task ZZZZ"),
        (["dead", "resolve", "task_01J00000000000000000000000", "forget"], 2, "resolution"),
        (["submit", "missing.yaml"], 2, "cannot be read"),
    ],
)
def test_what_is_wrong_is_named_and_the_status_says_which_kind(
    taskyard: Command, words: list[str], status: int, said: str
) -> None:
    given_an_empty_yard(taskyard)

    result = taskyard(*words)

    assert result.status == status
    assert said in result.out


def test_the_script_in_the_guide_works_in_a_real_shell(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/command-agents.md").read_text()
    script = guide.split("```sh\n")[1].split("```")[0]
    # The guide uses jq, which a machine may not have: the same two look-ups in Python.
    pick = f"{sys.executable} -c 'import json,sys; print(json.load(sys.stdin)[\"tasks\"][0][sys.argv[1]])'"
    script = script.replace("jq -r '.tasks[0].id'", f"{pick} id").replace("jq -r '.tasks[0].lease'", f"{pick} lease")
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "TASKYARD_URL": f"sqlite:///{tmp_path / 'yard.db'}"}
    subprocess.run(["taskyard", "enqueue", "code"], env=env, check=True, capture_output=True)

    done = subprocess.run(["bash", "-euc", script], env=env, check=True, capture_output=True, text=True)

    assert "completed" in done.stdout


def test_the_program_ends_with_one_line_and_a_status(tmp_path: Path) -> None:
    env = {**os.environ, "TASKYARD_URL": f"sqlite:///{tmp_path / 'yard.db'}"}
    done = subprocess.run([BIN / "taskyard", "enqueue", " "], env=env, check=False, capture_output=True, text=True)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("invalid_input: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_command_does_not_look_for_garbage_when_it_ends() -> None:
    words = [sys.executable, "-c", ENDING, "--version"]
    shown = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout

    looked_at, left_alone = map(int, shown.rpartition(":")[2].split())
    assert left_alone > 20_000
    assert looked_at < left_alone / 20


def test_a_worker_does_not_look_for_garbage_at_every_turn(tmp_path: Path) -> None:
    """Its handler says what it finds, and tells the process to end when that is stored."""
    (tmp_path / "agents.py").write_text(
        "import gc, os, signal\n"
        "from taskyard import Agent\n"
        "one = Agent('one')\n"
        "@one.handles('look')\n"
        "async def look(_):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return [gc.get_threshold()[0], gc.get_freeze_count() > 0]\n"
    )
    env = {**os.environ, "TASKYARD_URL": f"sqlite:///{tmp_path / 'yard.db'}", "PYTHONPATH": str(tmp_path)}
    subprocess.run([BIN / "taskyard", "enqueue", "look"], env=env, check=True, capture_output=True)

    subprocess.run(
        [BIN / "taskyard", "work", "agents:one"], cwd=tmp_path, env=env, check=True, capture_output=True, timeout=30
    )

    shown = subprocess.run([BIN / "taskyard", "ls", "--json"], env=env, check=True, capture_output=True, text=True)
    (task,) = json.loads(shown.stdout)
    shown = subprocess.run([BIN / "taskyard", "show", task["id"], "--json"], env=env, check=True, capture_output=True)
    assert json.loads(shown.stdout)["output"]["data"] == [*COLLECT_AFTER, True]


def test_a_result_is_waited_for_and_printed(taskyard: Command):
    put_in = taskyard("enqueue", "code", "--key", "once", "--json").json["id"]
    assert taskyard("enqueue", "code", "--key", "once", "--wait", "0.05").status == 124

    held = taskyard("claim", "--agent", "worker", "--start", "--json").json["tasks"][0]
    taskyard("complete", held["id"], "--lease", held["lease"], "-o", '{"answer": 42}', "--input-tokens", "9")

    assert taskyard("enqueue", "code", "--key", "once", "--wait", "5", "--json").json == {
        "id": put_in,
        "status": "completed",
        "output": {"answer": 42},
    }
    shown = taskyard("show", put_in, "--json").json
    assert shown["tokens_used"]["input"] == 9


def test_a_worker_whose_limits_cannot_be_enforced_does_not_start(
    taskyard: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))

    refused = taskyard("work", "--exec", "true", "--no-network")
    assert (refused.status, "needs bubblewrap" in refused.out) == (2, True)
    assert "--exec: must be the words of a command" in taskyard("work", "--exec", "'true").out
    assert "must be a size" in taskyard("work", "--exec", "true", "--limit-memory", "2GB").out
    assert "must come with --exec" in taskyard("work", "--test-runner", "a=true", "--limit-cpu", "5").out
