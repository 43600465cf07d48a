"""Nothing that an agent has made is thrown away with its worktree, and no other repository is touched."""

import asyncio
from pathlib import Path

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.worker.isolation.git import GitFailed, opened
from taskyard.worker.isolation.task_worktrees import Worktree, Worktrees, clean, listed
from tests.worker.repositories import a_repository, branches, git

TASK = "task_01M7KVSMHZEBBCZRSVN4AXE92D"
BRANCH = f"taskyard/{TASK}"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "my repository")


@pytest.fixture
def place(repository: Path, tmp_path: Path) -> Path:
    """The worktree of a task, in which nobody works."""
    return entered(repository, tmp_path).place


def entered(repository: Path, folder: Path) -> Worktree:
    held = asyncio.run(Worktrees(repository=opened(repository), folder=folder / ".taskyard").enter(TASK))
    held.leave()
    return held


def commit(place: Path, name: str, text: str = "x") -> str:
    (place / name).write_text(text)
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", name)
    return git(place, "rev-parse", "HEAD")


@pytest.mark.parametrize("setting", ["status.showUntrackedFiles=no", "core.quotePath=false"])
def test_a_new_file_is_kept_however_the_repository_is_configured(repository: Path, place: Path, setting: str) -> None:
    git(repository, "config", *setting.split("="))
    Path(place, b"caf\xe9".decode("utf-8", "surrogateescape")).write_text("x")

    assert clean(place) == BRANCH
    assert git(repository, "rev-list", "--objects", "--no-object-names", f"main..{BRANCH}").count("\n") == 2


def test_commits_on_no_branch_are_on_the_tasks_branch(repository: Path, place: Path) -> None:
    git(place, "checkout", "--quiet", "--detach")
    commit(place, "made")
    (place / "half").write_text("x")

    assert clean(place) == BRANCH
    assert git(repository, "ls-tree", "--name-only", BRANCH).split() == ["README", "half", "made"]


def test_a_rebase_that_was_stopped_leaves_both_lines_of_work(repository: Path, place: Path) -> None:
    git(repository, "branch", "before")
    commit(place, "README", "theirs")
    git(place, "checkout", "--quiet", "-b", "other", "before")
    ours = commit(place, "README", "ours")
    git(place, "checkout", "--quiet", "--detach", BRANCH)
    git(place, "reset", "--quiet", "--hard", ours)
    git(place, "branch", "--delete", "--force", "other")
    stopped_at = commit(place, "more")

    kept = clean(place)

    assert kept == f"{BRANCH}, {BRANCH}-{stopped_at[:12]}"
    assert git(repository, "show", f"{BRANCH}:README") == "theirs"
    assert git(repository, "show", f"{BRANCH}-{stopped_at[:12]}:README") == "ours"


def test_looking_at_an_older_commit_makes_no_branch(repository: Path, place: Path) -> None:
    git(place, "checkout", "--quiet", "--detach")

    assert clean(place) is None
    assert branches(repository) == set()


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_worktree_with_a_repository_of_its_own_inside_stays(tmp_path: Path, place: Path, is_committed: bool) -> None:
    git(place, "init", "--quiet", "inner")
    commit(place / "inner", "made")
    if is_committed:
        git(place, "add", "--all")
        git(place, "commit", "--quiet", "--message", "with the inner one")

    with pytest.raises(GitFailed, match="inner is a git repository of its own"):
        clean(place)
    assert (place / "inner" / "made").read_text() == "x"
    assert clean(place, discard=True) == (BRANCH if is_committed else None)
    assert listed(tmp_path / ".taskyard") == []


def test_a_submodule_that_was_only_checked_out_does_not_hold_its_worktree_back(tmp_path: Path) -> None:
    inner, outer = a_repository(tmp_path / "inner"), a_repository(tmp_path / "outer")
    allowed = ("-c", "protocol.file.allow=always", "submodule", "--quiet")
    git(outer, *allowed, "add", str(inner), "a part")
    git(outer, "commit", "--quiet", "--message", "with a part")
    place = entered(outer, tmp_path).place
    git(place, *allowed, "update", "--init")
    assert (place / "a part" / "README").exists()

    assert clean(place) is None


def test_a_worktree_that_is_none_any_more_is_not_taken_for_the_repository_around_it(tmp_path: Path) -> None:
    around = a_repository(tmp_path)  # the worker was started in it
    place = entered(around, around).place
    (around / "draft").write_text("not for a commit")
    (place / ".git").unlink()
    (place / "made").write_text("x")

    assert clean(place) == BRANCH
    assert git(around, "show", f"{BRANCH}:made") == "x"
    assert git(around, "log", "--format=%s") == "first"
    assert "?? draft" in git(around, "status", "--porcelain")


def test_a_repository_that_an_agent_made_instead_of_its_worktree_stays(place: Path) -> None:
    (place / ".git").unlink()
    git(place, "init", "--quiet")
    commit(place, "made")

    with pytest.raises(GitFailed, match="is not a worktree of"):
        clean(place)
    assert (place / "made").exists()
    assert clean(place, discard=True) is None
    assert not place.exists()


def test_a_branch_in_the_way_of_those_of_tasks_is_refused_at_the_start(repository: Path) -> None:
    git(repository, "branch", "taskyard")

    with pytest.raises(InvalidInput, match="has a branch taskyard"):
        opened(repository)
