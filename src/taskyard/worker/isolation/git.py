"""Git, for worktrees: a repository, and the few commands that are run in it. No hook runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from taskyard.core.errors import InvalidInput

FIELD = "--worktree"
# A hook or a monitor would run with the worker's rights, and a signature would ask a person for a key.
_QUIETLY = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false")
_AUTHOR = ("-c", "user.name=taskyard", "-c", "user.email=taskyard@localhost")
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
        if place in self.worktrees():
            self._git("worktree", "remove", "--force", "--force", os.fspath(place))
        if place.exists():
            shutil.rmtree(place)

    def delete_branch(self, branch: str) -> None:
        self._git("branch", "--quiet", "-D", "--", branch)

    def is_dirty(self, place: Path) -> bool:
        """Whether something is changed or new there that no commit has; what git ignores does not count."""
        return bool(_run("-C", os.fspath(place), "status", "--porcelain"))

    def commit_all(self, place: Path) -> None:
        """Commit everything that git does not ignore to the branch that is checked out there."""
        _run("-C", os.fspath(place), "add", "--all")
        _run("-C", os.fspath(place), *_AUTHOR, "commit", "--quiet", "--no-verify", "--message", _LEFT)

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
    return repository


def _run(*words: str) -> str:
    done = subprocess.run(
        _words(words), stdin=subprocess.DEVNULL, capture_output=True, env=_environment(), check=False, text=True
    )
    if done.returncode:
        raise GitFailed(done.stderr.strip() or f"git ended with status {done.returncode}")
    return done.stdout.rstrip("\n")


def _words(words: Sequence[str]) -> list[str]:
    return ["git", *_QUIETLY, *words]


def _environment() -> dict[str, str]:
    """Without what points git at another repository: a worker may be started by a hook."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
