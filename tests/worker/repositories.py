"""Git repositories for tests."""

import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main")


def git(place: Path, *words: str) -> str:
    done = subprocess.run(["git", *IDENTITY, *words], cwd=place, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def a_repository(folder: Path, *, bare: bool = False) -> Path:
    """With one commit, of a file called README."""
    made = folder / "made"
    made.mkdir(parents=True)
    git(made, "init", "--quiet")
    (made / "README").write_text("first\n")
    git(made, "add", "--all")
    git(made, "commit", "--quiet", "--message", "first")
    if not bare:
        return made
    git(folder, "clone", "--quiet", "--bare", str(made), "bare.git")
    return folder / "bare.git"


def branches(repository: Path) -> set[str]:
    return set(git(repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/taskyard").split())
