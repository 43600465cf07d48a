"""What the papers say is run: every program, and every link."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM = re.compile(r"```python\n(.*?)```\n+(?:prints(?: (nothing)\.|\n```\n(.*?)```))?", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


def programs() -> list[tuple[str, str, str | None]]:
    """Where each program stands, the program, and what it is said to print; None where nothing is said."""
    return [
        (f"{paper.relative_to(ROOT)} {number}", program, "" if nothing else printed or None)
        for paper in PAPERS
        for number, (program, nothing, printed) in enumerate(PROGRAM.findall(paper.read_text()), start=1)
        if "import " in program
    ]


def run(program: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("where", "program", "printed"), programs(), ids=[where for where, _, _ in programs()])
def test_every_program_in_the_documents_prints_what_is_stated_below_it(
    where: str, program: str, printed: str | None, tmp_path: Path
) -> None:
    assert printed is not None, f"{where}: say below it what it prints, or `prints nothing.`"
    assert run(program, tmp_path) == printed


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: str(paper.relative_to(ROOT)))
def test_every_link_leads_somewhere(paper: Path) -> None:
    dead = [link for link in LINK.findall(paper.read_text()) if not (paper.parent / link).exists()]

    assert dead == []


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 150
