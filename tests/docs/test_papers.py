"""What the papers say is run: every program, and every link.

What a newcomer runs first is started as they start it. A program of a guide is forked from a process that has loaded
the package, which is most of its work.
"""

import asyncio
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from tests import servers
from tests.processes.nursery import LOADED, Nursery

ROOT = Path(__file__).parents[2]
PAPERS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM = re.compile(r"```python\n(.*?)```\n+(?:prints(?: (nothing)\.|\n```\n(.*?)```))?", re.DOTALL)
FIRST = ("README.md", "docs/tutorial.md")
STRICT = ("-W", "error")
COMMON = ("httpx2", "genai_prices", "taskyard.integrations")  # that several guides load
PATIENCE = 60.0  # seconds
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


def programs() -> list[tuple[str, str, str | None]]:
    """Where each program stands, the program, and what it is said to print; None where nothing is said."""
    return [
        (f"{paper.relative_to(ROOT)} {number}", program, "" if nothing else printed or None)
        for paper in PAPERS
        for number, (program, nothing, printed) in enumerate(PROGRAM.findall(paper.read_text()), start=1)
        if "import " in program
    ]


@cache
def nursery() -> Nursery:
    """That of the guides, to which a warning is an error."""
    new = Nursery((*LOADED, *COMMON), options=STRICT)
    servers.at_the_end.callback(new.close)
    return new


async def start(program: str, folder: Path) -> str:
    """Run it by itself, and have what it prints."""
    words = (sys.executable, *STRICT, "-c", program)
    started = await asyncio.create_subprocess_exec(*words, cwd=folder, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(PATIENCE):
        printed, _ = await started.communicate()
    assert started.returncode == 0  # its complaint is on the standard error output
    return printed.decode()


async def fork(program: str, folder: Path) -> str:
    """The same, in a process that is forked."""
    await asyncio.to_thread((folder / "program.py").write_text, program)
    forked = await nursery().fork("program", folder=folder, first=folder)
    async with asyncio.timeout(PATIENCE):
        printed = await forked.stdout.read()
        assert await forked.wait() == 0
    return printed.decode()


@pytest.mark.parametrize(("where", "program", "printed"), programs(), ids=[where for where, _, _ in programs()])
async def test_every_program_in_the_documents_prints_what_is_stated_below_it(
    where: str, program: str, printed: str | None, tmp_path: Path
) -> None:
    run = start if where.startswith(FIRST) else fork

    assert printed is not None, f"{where}: say below it what it prints, or `prints nothing.`"
    assert await run(program, tmp_path) == printed


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: str(paper.relative_to(ROOT)))
def test_every_link_leads_somewhere(paper: Path) -> None:
    dead = [link for link in LINK.findall(paper.read_text()) if not (paper.parent / link).exists()]

    assert dead == []


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 150
