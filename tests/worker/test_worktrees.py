"""Worktrees of command agents: one for each task, kept over its attempts, cleaned by policy."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import taskyard
from taskyard import Agent, Status
from taskyard.app import Yard
from taskyard.core.errors import InvalidInput
from taskyard.features.tasks.views import Details
from taskyard.worker.command import Command, command_agent
from taskyard.worker.isolation.git import GitFailed, opened
from taskyard.worker.isolation.task_worktrees import (
    Keep,
    Worktrees,
    WorktreeTaken,
    clean,
    listed,
    name_of,
    seen,
)
from tests.worker.repositories import a_repository, branches, git

TASK = "task_01M7KVSMHZEBBCZRSVN4AXE92D"
HOSTILE_IDS = ("../../etc", "-b", "--force", "a/../b", ".git", "a b", "x\ny", "é" * 300, "A", "a.lock", "", "@{-1}")
COMMITS = (
    "import subprocess as s; open('made', 'w').write('x'); s.run(['git', 'add', '-A'], check=True);"
    "s.run(['git', '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'work'], check=True)"
)


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with taskyard.connect("memory://") as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the worker keeps its files."""
    return tmp_path / ".taskyard"


def agent(repository: Path, folder: Path, program: str, keep: Keep = Keep.FAILED, **how: Any) -> Agent:
    worktrees = Worktrees(repository=opened(repository), keep=keep, folder=folder)
    words = [sys.executable, "-c", program]
    return command_agent(Agent("coder", **how), Command(words=words, worktrees=worktrees))


async def outcome(yard: Yard, worker: Agent, **fields: Any) -> Details:
    fields.setdefault("max_attempts", 1)
    task = await yard.enqueue("code", **fields)
    await yard.drain(worker)
    return await yard.get(task.id)


@pytest.mark.parametrize("bare", [False, True], ids=["with files", "bare"])
async def test_a_task_works_on_a_branch_of_its_own_and_the_branch_has_its_work(
    yard: Yard, tmp_path: Path, folder: Path, bare: bool
):
    repository = a_repository(tmp_path / "r", bare=bare)

    details = await outcome(yard, agent(repository, folder, f"{COMMITS}; import os; print(os.getcwd())"))

    assert details.status is Status.COMPLETED
    assert details.result == str(folder / "worktrees" / details.id)
    assert git(repository, "show", f"taskyard/{details.id}:made") == "x"
    assert listed(folder) == []
    assert len(opened(repository).worktrees()) == 1
    assert not (repository / "made").exists()


async def test_a_retry_finds_what_the_attempt_before_left_uncommitted(yard: Yard, tmp_path: Path, folder: Path):
    program = "import os, sys; sys.exit(0) if os.path.exists('half') else (open('half', 'w').write('x'), sys.exit(1))"
    worker = agent(a_repository(tmp_path), folder, program)

    details = await outcome(yard, worker, max_attempts=2, retry={"strategy": "immediate"})

    assert [each.reason for each in details.attempts] == ["agent_error", None]
    assert git(tmp_path / "made", "show", f"taskyard/{details.id}:half") == "x"  # it was committed with the clean-up


@pytest.mark.parametrize(
    ("keep", "status", "stays"),
    [
        (Keep.NEVER, 0, False),
        (Keep.NEVER, 1, False),
        (Keep.FAILED, 0, False),
        (Keep.FAILED, 1, True),
        (Keep.ALWAYS, 0, True),
    ],
)
async def test_the_policy_says_which_worktrees_stay(yard: Yard, tmp_path: Path, keep: Keep, status: int, stays: bool):
    repository, folder = a_repository(tmp_path), tmp_path / ".taskyard"
    worker = agent(repository, folder, f"open('new', 'w').write('x'); exit({status})", keep)

    details = await outcome(yard, worker)

    found = [await seen(yard, each) for each in listed(folder)]
    assert [each.task for each in found] == ([details.id] if stays else [])
    assert not any(each.is_left for each in found)
    assert branches(repository) == {f"taskyard/{details.id}"}
    if not stays:
        assert git(repository, "show", f"taskyard/{details.id}:new") == "x"


async def test_a_branch_with_nothing_new_goes_with_its_worktree(yard: Yard, tmp_path: Path, folder: Path):
    repository = a_repository(tmp_path)

    await outcome(yard, agent(repository, folder, "print('looked')"))

    assert branches(repository) == set()


async def test_tasks_at_the_same_time_have_worktrees_of_their_own(yard: Yard, tmp_path: Path, folder: Path):
    repository = a_repository(tmp_path)
    tasks = [await yard.enqueue("code", max_attempts=1) for _ in range(6)]

    await yard.drain(agent(repository, folder, f"{COMMITS}; import os; print(os.getcwd())", max_concurrent_tasks=6))

    found = [await yard.get(task.id) for task in tasks]
    assert {each.status for each in found} == {Status.COMPLETED}
    assert len({each.result for each in found}) == len(tasks)
    assert branches(repository) == {f"taskyard/{task.id}" for task in tasks}


async def test_what_a_program_leaves_running_in_its_worktree_ends_with_it(yard: Yard, tmp_path: Path, folder: Path):
    program = "import subprocess as s, sys; s.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); print('x')"

    details = await outcome(yard, agent(a_repository(tmp_path), folder, program))

    assert (details.status, details.result) == (Status.COMPLETED, "x")
    assert listed(folder) == []


async def test_a_session_of_another_task_does_not_bring_its_folder_along(yard: Yard, tmp_path: Path, folder: Path):
    program = "import json, os, sys; print(json.load(sys.stdin)['session']['work_dir'] == os.getcwd())"
    worker = agent(a_repository(tmp_path), folder, program)

    details = await outcome(yard, worker)

    assert details.result == "True"
    session = cast(dict[str, Any], details.attempts[0].session)
    assert session["work_dir"] == str(folder / "worktrees" / details.id)


async def test_nobody_enters_a_worktree_that_is_in_use(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taskyard.worker.isolation.task_worktrees.PATIENCE", 0.0)
    worktrees = Worktrees(repository=opened(a_repository(tmp_path)), folder=folder)
    held = await worktrees.enter(TASK)

    with pytest.raises(WorktreeTaken):
        await worktrees.enter(TASK)
    with pytest.raises(WorktreeTaken):
        clean(held.place)
    held.leave()
    (await worktrees.enter(TASK)).leave()


@pytest.mark.parametrize("differs", ["task", "repository"])
async def test_nobody_enters_the_worktree_of_another_task_or_repository(
    tmp_path: Path, folder: Path, differs: str
) -> None:
    """Two repositories that share a folder have the same names there, and a record counts for more than a name."""
    mine = Worktrees(repository=opened(a_repository(tmp_path / "mine")), folder=folder)
    held = await mine.enter(TASK)
    other = "task_of_somebody" if differs == "task" else TASK
    held.write(replace(held.record, task=other))
    (held.place / "half").write_text("theirs")
    held.leave()
    theirs = opened(a_repository(tmp_path / "theirs"))
    entering = mine if differs == "task" else Worktrees(repository=theirs, folder=folder)

    with pytest.raises(GitFailed, match=f"is of the task {other} in "):
        await entering.enter(TASK)

    (kept,) = listed(folder)
    assert kept.record is not None
    assert (kept.record.task, kept.is_held) == (other, False)
    assert (kept.place / "half").read_text() == "theirs"


@pytest.mark.parametrize("task_id", HOSTILE_IDS)
async def test_no_id_of_a_task_leads_out_of_the_folder(tmp_path: Path, folder: Path, task_id: str) -> None:
    repository = a_repository(tmp_path)
    held = await Worktrees(repository=opened(repository), folder=folder).enter(task_id)
    held.leave()

    assert held.place.parent == folder / "worktrees"
    assert branches(repository) == {f"taskyard/{held.place.name}"}
    assert len({name_of(each) for each in HOSTILE_IDS}) == len(HOSTILE_IDS)


async def test_what_a_crash_left_of_a_worktree_is_made_anew(tmp_path: Path, folder: Path) -> None:
    worktrees = Worktrees(repository=opened(a_repository(tmp_path)), folder=folder)
    held = await worktrees.enter(TASK)
    held.write(replace(held.record, made=False))
    (held.place / "README").unlink()
    held.leave()

    again = await worktrees.enter(TASK)
    again.leave()
    assert (again.place / "README").read_text() == "first\n"


async def test_another_runtime_goes_on_from_what_is_committed(tmp_path: Path, folder: Path) -> None:
    repository = a_repository(tmp_path)
    first = await Worktrees(repository=opened(repository), folder=folder).enter(TASK)
    (first.place / "made").write_text("x")
    git(first.place, "add", "--all")
    git(first.place, "commit", "--quiet", "--message", "work")
    first.leave()

    second = await Worktrees(repository=opened(repository), folder=tmp_path / "other").enter(TASK)
    second.leave()
    assert (second.place / "made").exists()
    assert len(branches(repository)) == 2


async def test_a_task_that_is_done_again_goes_on_from_its_branch(tmp_path: Path, folder: Path) -> None:
    repository = a_repository(tmp_path)
    worktrees = Worktrees(repository=opened(repository), folder=folder)
    held = await worktrees.enter(TASK)
    (held.place / "half").write_text("x")
    held.leave()
    assert clean(held.place) == f"taskyard/{TASK}"

    again = await worktrees.enter(TASK)
    again.leave()
    assert (again.place / "half").exists()


async def test_what_is_discarded_is_gone(tmp_path: Path, folder: Path) -> None:
    repository = a_repository(tmp_path)
    held = await Worktrees(repository=opened(repository), folder=folder).enter(TASK)
    (held.place / "half").write_text("x")
    held.leave()

    assert clean(held.place, discard=True) is None
    assert branches(repository) == set()
    assert listed(folder) == []


async def test_the_worktree_of_a_task_that_was_cancelled_while_it_waited_is_removed(
    yard: Yard, tmp_path: Path, folder: Path
):
    repository = a_repository(tmp_path)
    worktrees = Worktrees(repository=opened(repository), folder=folder)
    task = await yard.enqueue("code")
    (await worktrees.enter(task.id)).leave()
    await yard.cancel(task.id)

    await worktrees.tidy(yard, "task_another")

    assert listed(folder) == []


@pytest.mark.parametrize("keep", [Keep.NEVER, Keep.FAILED])
async def test_the_worktree_of_a_task_that_has_not_ended_stays(yard: Yard, tmp_path: Path, folder: Path, keep: Keep):
    worktrees = Worktrees(repository=opened(a_repository(tmp_path)), keep=keep, folder=folder)
    task = await yard.enqueue("code")
    held = await worktrees.enter(task.id)
    (held.place / "half").write_text("x")
    held.leave()

    for _ in range(2):  # all worktrees, and then that of the task
        await worktrees.tidy(yard, task.id)

    (kept,) = [await seen(yard, each) for each in listed(folder)]
    assert (kept.task, kept.is_left) == (task.id, False)
    assert (held.place / "half").read_text() == "x"


async def test_a_cancelled_attempt_lets_go_of_the_worktree_that_is_being_made(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worktrees = Worktrees(repository=opened(a_repository(tmp_path)), folder=folder)
    entering = asyncio.create_task(worktrees.enter(TASK))
    await asyncio.sleep(0)
    entering.cancel()
    with suppress(asyncio.CancelledError):
        await entering
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))  # git goes on until it is done

    monkeypatch.setattr("taskyard.worker.isolation.task_worktrees.PATIENCE", 0.0)
    (await worktrees.enter(TASK)).leave()


def test_a_repository_without_a_commit_or_none_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="git repository"):
        opened(tmp_path)
    with pytest.raises(InvalidInput, match="not a folder"):
        opened(tmp_path / "nowhere")
    git(tmp_path, "init", "--quiet")
    with pytest.raises(InvalidInput, match="no commit"):
        opened(tmp_path)


def test_a_machine_without_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(InvalidInput, match="needs git"):
        opened(tmp_path)
