"""Worktrees that were left behind: the doctor finds them, and a command removes them."""

import asyncio
from pathlib import Path
from typing import Any

from taskyard.worker.isolation.git import opened
from taskyard.worker.isolation.task_worktrees import Keep, Worktrees
from tests.cli.conftest import Command
from tests.worker.repositories import a_repository, branches, git


def given_a_worktree(taskyard: Command, repository: Path, keep: Keep) -> str:
    """Of a new task, with a file that is not committed."""
    task = taskyard("enqueue", "code", "--json").json["id"]
    held = asyncio.run(Worktrees(repository=opened(repository), keep=keep).enter(task))
    (held.place / "half").write_text("x")
    held.leave()
    return task


def verdict(taskyard: Command) -> dict[str, Any]:
    (found,) = [each for each in taskyard("doctor", "--json").json["checks"] if each["check"] == "worktrees"]
    return found


def test_what_no_policy_keeps_is_found_by_the_doctor_and_cleaned(taskyard: Command, tmp_path: Path):
    repository = a_repository(tmp_path / "r")
    left, kept, waiting = (
        given_a_worktree(taskyard, repository, each) for each in (Keep.FAILED, Keep.ALWAYS, Keep.NEVER)
    )
    assert verdict(taskyard)["ok"]

    taskyard("cancel", left)
    taskyard("cancel", kept)
    found = verdict(taskyard)
    assert (found["ok"], found["finding"]) == (False, f"{left} left: taskyard worktrees clean")
    shown = {each["task"]: each["why"] for each in taskyard("worktrees", "ls", "--json").json}
    assert shown == {left: "left", kept: "kept (always)", waiting: "for the next attempt"}

    done = taskyard("worktrees", "clean", "--json")
    assert done.status == 0
    assert {each["task"] for each in done.json} == {left, kept}
    assert [each["task"] for each in taskyard("worktrees", "ls", "--json").json] == [waiting]
    assert git(repository, "show", f"taskyard/{left}:half") == "x"
    assert verdict(taskyard)["ok"]


def test_uncommitted_changes_are_thrown_away_only_where_that_is_asked_for(taskyard: Command, tmp_path: Path):
    repository = a_repository(tmp_path / "r")
    task = given_a_worktree(taskyard, repository, Keep.ALWAYS)

    refused = taskyard("worktrees", "clean", task, "--json")
    assert (refused.status, refused.json[0]["error"]) == (1, "the task has not ended")
    taskyard("cancel", task)
    assert taskyard("worktrees", "clean", task, "--discard").status == 0
    assert branches(repository) == set()
    assert taskyard("worktrees", "clean", task).status == 3


def test_a_worker_refuses_a_worktree_that_it_cannot_give(taskyard: Command, tmp_path: Path):
    (tmp_path / "empty").mkdir()

    assert "must be a git repository" in taskyard("work", "--exec", "true", "--worktree", "empty").out
    assert (
        "must come with --exec"
        in taskyard("work", "--judge", "http://127.0.0.1:9", "--judge-model", "m", "--worktree", "empty").out
    )
