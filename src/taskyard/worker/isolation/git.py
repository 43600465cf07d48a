"""Git, for worktrees: a repository, and the few commands that are run in it. No hook runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from taskyard.core.errors import InvalidInput
from taskyard.visible_text import visible

FIELD = "--worktree"
PREFIX = "taskyard"  # of the branches of tasks
CEILING = "GIT_CEILING_DIRECTORIES"  # git's variable: folders in which it does not look for a repository
# A hook or a monitor would run with the worker's rights, and a signature would ask a person for a key.
_QUIETLY = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false")
_AUTHOR = ("-c", "user.name=taskyard", "-c", "user.email=taskyard@localhost")
_INNER = "160000"  # the mode of a repository inside of another
_LEFT = "What the agent left uncommitted"


class GitFailed(Exception):
    """Git refused; the message is what git printed."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository, bare or not, by the folder that all of its worktrees share."""

    git_dir: Path

    def has_branch(self, branch: str) -> bool:
        return self.tip(branch) is not None

    def tip(self, branch: str) -> str | None:
        """The commit that the branch is at; None where there is no such branch."""
        try:
            return self._git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
        except GitFailed:
            return None

    def head(self) -> str:
        return self._git("rev-parse", "--verify", "HEAD^{commit}")

    def worktrees(self) -> dict[Path, str | None]:
        """Every worktree that the repository knows, with the branch that is checked out in it."""
        found: dict[Path, str | None] = {}
        place = Path()
        for word in self._git("worktree", "list", "--porcelain", "-z").split("\0"):
            name, _, value = word.partition(" ")
            if name == "worktree":
                place = Path(value)
                found[place] = None
            elif name == "branch":
                found[place] = value.removeprefix("refs/heads/")
        return found

    def add_worktree(self, place: Path, branch: str, base: str | None) -> None:
        """Check the branch out into a new folder. With a base, the branch is new and begins there."""
        new = ("-b", branch, os.fspath(place), base) if base is not None else (os.fspath(place), branch)
        # Twice: also where the repository still has an entry for this folder, which was deleted.
        self._git("worktree", "add", "--quiet", "--force", "--force", *new)

    def remove_worktree(self, place: Path) -> None:
        """Delete the folder and what the repository knows of it."""
        if place.exists():
            shutil.rmtree(place)
        if place in self.worktrees():  # git takes what is left of one whose folder is gone, whatever was in that
            self._git("worktree", "remove", "--force", "--force", os.fspath(place))

    def delete_branch(self, branch: str) -> None:
        self._git("branch", "--quiet", "-D", "--", branch)

    def save(self, place: Path, branch: str, base: str) -> str | None:
        """Have branches keep all work in a worktree; what git does not ignore there is committed first.

        Says which further branch has it, where the task's own cannot. Refused where the work is another repository's.
        """
        if not (place / ".git").exists():
            with suppress(GitFailed):  # it says what was wrong, whether that is repaired or not
                self._git("worktree", "repair", os.fspath(place))
        found = Path(_run_in(place, "rev-parse", "--path-format=absolute", "--git-common-dir"))
        if found.resolve() != self.git_dir.resolve():
            raise GitFailed(f"{place} is not a worktree of {self.git_dir} any more: delete it yourself")
        # Asked for in so many words: a repository may be configured to show neither.
        is_dirty = bool(_run_in(place, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=none"))
        if is_dirty:
            _run_in(place, "add", "--all")
        if (inner := _inner_repository(place, base)) is not None:
            raise GitFailed(f"{visible(inner)} is a git repository of its own, whose work no branch here would have")
        if is_dirty:
            _run_in(place, *_AUTHOR, "commit", "--quiet", "--no-verify", "--message", _LEFT)
        return self._keep_head(place, branch)

    def _keep_head(self, place: Path, branch: str) -> str | None:
        """Give a branch to commits that were made on none: they would go with the worktree."""
        if _run_in(place, "branch", "--show-current"):
            return None
        head, tip = _run_in(place, "rev-parse", "HEAD"), self.tip(branch)
        if self._git("for-each-ref", "--count=1", f"--contains={head}", "refs/heads", "refs/tags", "refs/remotes"):
            return None
        if tip is None or self._git("rev-list", "--count", f"{head}..{tip}") == "0":
            self._git("update-ref", f"refs/heads/{branch}", head)
            return None
        further = f"{branch}-{head[:12]}"
        self._git("update-ref", f"refs/heads/{further}", head)
        return further

    def _git(self, *words: str) -> str:
        return _run("--git-dir", os.fspath(self.git_dir), *words)


def opened(path: str | Path) -> Repository:
    """The repository that this folder is, or is in. Refused where no worktree of it can be made."""
    if shutil.which("git") is None:
        raise InvalidInput(FIELD, "needs git, which is not installed on this machine")
    if not Path(path).is_dir():
        raise InvalidInput(FIELD, f"{path} is not a folder")
    try:
        found = _run("-C", os.fspath(path), "rev-parse", "--path-format=absolute", "--git-common-dir")
        repository = Repository(Path(found).resolve())
        repository.worktrees()
    except GitFailed as error:
        raise InvalidInput(FIELD, f"{path} must be a git repository: {error}") from None
    try:
        repository.head()
    except GitFailed:
        raise InvalidInput(FIELD, f"{path} has no commit yet, from which a branch could begin") from None
    if repository.has_branch(PREFIX):
        raise InvalidInput(FIELD, f"{path} has a branch {PREFIX}, so git can make no branch {PREFIX}/TASK: rename it")
    return repository


def _inner_repository(place: Path, base: str) -> str | None:
    """A repository inside of a worktree whose commit is not that of the base: a clone, or a submodule with changes."""
    changed = _run_in(place, "diff-index", "--raw", "-z", "--ignore-submodules=none", base).split("\0")
    pairs = zip(changed[::2], changed[1::2], strict=False)
    return next((path for facts, path in pairs if facts.split(" ")[1] == _INNER), None)


def _run_in(place: Path, *words: str) -> str:
    """Run git in a worktree. One that is none any more does not stand for a repository that it happens to be in."""
    return _run("-C", os.fspath(place), *words, ceiling=os.fspath(place.parent))


def _run(*words: str, ceiling: str = "") -> str:
    done = subprocess.run(
        _words(words), stdin=subprocess.DEVNULL, capture_output=True, env=_environment(ceiling), check=False
    )
    if done.returncode:
        raise GitFailed(done.stderr.decode("utf-8", "replace").strip() or f"git ended with status {done.returncode}")
    return os.fsdecode(done.stdout).rstrip("\n")  # names of files are any bytes


def _words(words: Sequence[str]) -> list[str]:
    return ["git", *_QUIETLY, *words]


def _environment(ceiling: str) -> dict[str, str]:
    """Without what points git at another repository: a worker may be started by a hook."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", CEILING: ceiling}
