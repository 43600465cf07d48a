"""What coding agents read: skills install."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from taskyard.cli.invocation import AsJson, show
from taskyard.cli.terminal import Text
from taskyard.core.errors import InvalidInput

NAMES = ("SKILL.md", "AGENTS.md", "llms.txt")

app = typer.Typer(help="Files that tell coding agents how to use Taskyard.", no_args_is_help=True)


@app.callback()
def skills() -> None:
    """Files that tell coding agents how to use Taskyard."""


@app.command()
def install(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to write them, such as .claude/skills/taskyard or the project.")
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Write over files that are there and differ.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write SKILL.md, AGENTS.md and llms.txt into a folder. A file that is there and differs is left, and refused."""
    texts = {name: (files("taskyard.cli") / "skill_files" / name).read_text(encoding="utf-8") for name in NAMES}
    different = [name for name, text in texts.items() if _differs(folder / name, text)]
    if different and not replace:
        raise InvalidInput("DIR", f"has another {', '.join(different)}; use --replace, or another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    show(as_json, {"written": [str(folder / name) for name in NAMES]}, Text(f"{folder}: {', '.join(NAMES)}"))


def _differs(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8", errors="replace") != text
