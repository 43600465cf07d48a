"""Brings a coding agent's command line from npm, as its users have it, for the test that has one work through MCP.

Of those that npm has, Continue's is the smallest that speaks MCP and takes any endpoint as its model: 65 MB in eleven
packages, plain JavaScript. It is unpacked into .tools/coding_agent, from a lock file.
"""

import shutil
import sys
from pathlib import Path

from scripts.node import NodeFailed, install

ROOT = Path(__file__).parent.parent
LOCKED = ROOT / "scripts/coding_agent"
OWN = ROOT / ".tools/coding_agent"
PROGRAM = OWN / "node_modules/@continuedev/cli/dist/cn.js"
LOCK = "package-lock.json"


def is_there() -> bool:
    """Whether the locked one is."""
    copied = OWN / LOCK
    return PROGRAM.exists() and copied.exists() and copied.read_bytes() == (LOCKED / LOCK).read_bytes()


def bring() -> None:
    if is_there():
        return
    coming = OWN.with_name(f"{OWN.name}.new")
    shutil.rmtree(coming, ignore_errors=True)
    shutil.copytree(LOCKED, coming)
    install(coming)
    shutil.rmtree(OWN, ignore_errors=True)
    coming.rename(OWN)


def main() -> None:
    if not is_there():
        print("bringing a coding agent for the tests of MCP (.tools/coding_agent)", flush=True)
    try:
        bring()
    except NodeFailed as error:
        sys.exit(f"no coding agent can be brought: {error}")


if __name__ == "__main__":
    main()
