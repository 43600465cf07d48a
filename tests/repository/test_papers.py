"""What is written here stands alone: nothing refers to a paper, a number or a section that a reader cannot open."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WRITTEN = ("src", "tests", "bench", "docs", "examples", "scripts", "dashboard/src", "dashboard/tests")
PAPERS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "pyproject.toml")
SUFFIXES = frozenset({".py", ".md", ".sql", ".lua", ".sh", ".ts", ".tsx", ".toml", ".css"})
ELSEWHERE = re.compile(
    r"\b(?:PRODUCT|GUARANTEES|FINDINGS|LAYOUT2|AGENT-DOORS)\b"
    r"|\b(?:DESIGN|STYLE|HOUSE|MOVES|PERFORMANCE)(?:\.md\b| (?:\d|asks|says|section))"
    r"|\bseed 00\d\b"
    r"|(?<![\w%/.])I\d{1,2}(?= [a-z]|[:,)])"  # numbers of invariants
    r"|\b[Ff]indings? [ABC]\d{1,2}\b|(?<![\w%/.\"'])[ABC]\d{1,2}: "  # and of findings
)


def files() -> Iterator[Path]:
    for folder in WRITTEN:
        yield from (each for each in (ROOT / folder).rglob("*") if each.suffix in SUFFIXES and each.is_file())
    yield from (ROOT / name for name in PAPERS)


def cited(text: str) -> list[str]:
    return [found[0] for found in ELSEWHERE.finditer(text)]


def test_no_file_cites_a_paper_that_is_not_here():
    found = {
        str(file.relative_to(ROOT)): words
        for file in files()
        if file != Path(__file__) and (words := cited(file.read_text(encoding="utf-8")))
    }

    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "PRODUCT 4.5: what a failed attempt leads to",
        "see GUARANTEES section 2",
        "DESIGN asks that claiming and running overlap",
        "as STYLE.md has it",
        "in the words of seed 002",
        "I12: what a task waits for is outstanding",
        "I3 versions have no gap",
        "closes finding A7",
        "B22: a barrier drops no message",
    ],
)
def test_a_citation_is_found(text: str):
    assert cited(text)


@pytest.mark.parametrize(
    "text",
    ["slack://T1/B1/xyz", "filename*=UTF-8''%C3%84", "the product of both", "seed 7", "docs/performance.md", "I am"],
)
def test_other_words_are_left_alone(text: str):
    assert not cited(text)
