"""Names are the field's own terms: words with a private meaning are in no name of the code and of its tests.

The list of exceptions says what is left today; an entry may get smaller or go, and never grow.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/taskyard"
PRIVATE = frozenset(
    {
        *("told", "said", "news", "spoken", "papers", "errand", "errands", "roster", "wary", "guest", "guests", "wave"),
        *("waves", "landed", "landing", "alike", "likeness", "unbeaten"),
    }
)
ORDINARY = frozenset({"alike", "landing"})  # in a sentence that names a test: no two ids are alike, a landing page
# By module: `told` is the name of a field in an answer over HTTP.
LEFT: Mapping[str, frozenset[str]] = {"server/routes/attempts.py": frozenset({"told"})}
IN_PROSE = re.compile(r"\b(?:told|errands?|unbeaten|likeness|roster|wary|spoken|guests?|news)\b", re.IGNORECASE)
ANYWHERE = re.compile("|".join(PRIVATE), re.IGNORECASE)
TITLE = re.compile(r"^# (\d+)\. [A-Z]")


def words_of(name: str) -> set[str]:
    """handed_out and HandedOut are both handed and out."""
    return set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))


def names_in(code: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.NAME:
            yield token.string


def may_have_private_words(code: str) -> bool:
    """Whether a private word is anywhere in it: to find out what is a name in thousands of files takes seconds."""
    return ANYWHERE.search(code) is not None


def private_names(code: str) -> set[str]:
    if not may_have_private_words(code):
        return set()
    return {name for name in names_in(code) if words_of(name) & PRIVATE}


def defined_in(code: str) -> Iterator[str]:
    """The functions and classes of a module of tests. What a test calls its values concerns that test alone."""
    if not may_have_private_words(code):
        return
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def test_no_name_in_the_code_has_a_private_word():
    sources = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    found = {path: private_names(code) - LEFT.get(path, frozenset()) for path, code in sources.items()}

    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("folder", ["tests", "scripts", "bench"])
def test_no_function_or_class_around_the_code_has_a_private_word(folder: str):
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / folder).rglob("*.py")
        for name in defined_in(path.read_text(encoding="utf-8"))
        if words_of(name) & PRIVATE - ORDINARY
    }

    assert found == set()


@pytest.mark.parametrize("suffix", ["sql", "lua"])
def test_no_query_has_a_private_word_in_its_name(suffix: str):
    found = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob(f"*.{suffix}")
        for name in re.findall(r"^-- name: (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        if words_of(name) & PRIVATE
    }

    assert found == set()


def prose_in(path: Path) -> Iterator[str]:
    """What a file says to people: pages, comments and docstrings, but no names that are stored or sent."""
    text = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".md":
            yield re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
        case ".sql" | ".lua":
            yield from re.findall(r"--.*", text)
        case _ if IN_PROSE.search(text):
            yield from comments_in(text)
        case _:
            return


def comments_in(code: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
            yield token.string


def private_prose(path: Path) -> set[str]:
    return {found.lower() for text in prose_in(path) for found in IN_PROSE.findall(text)}


def pages() -> Iterator[Path]:
    """What is read to learn: no decision of the past, no log of changes, no migration that was run already."""
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md"))
    yield from (path for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts)
    for suffix in ("py", "md", "sql", "lua"):
        yield from (path for path in PACKAGE.rglob(f"*.{suffix}") if "migrations" not in path.parts)


def test_no_page_and_no_comment_has_a_private_word():
    assert {str(path.relative_to(ROOT)): words for path in pages() if (words := private_prose(path))} == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "The parent is told."),
        ("a.py", "x = 1  # told twice"),
        ("a.py", '"""Runs errands."""'),
        ("a.sql", "-- So that a reader is told.\nselect 1"),
    ],
)
def test_a_private_word_in_prose_is_found(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text)

    assert private_prose(tmp_path / name)


@pytest.mark.parametrize(("name", "text"), [("a.md", 'Read `told`, or ```\n["news"]\n```.'), ("a.py", 'x = "told"')])
def test_what_is_stored_or_sent_is_no_prose(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text)

    assert not private_prose(tmp_path / name)


@pytest.mark.parametrize("code", ["told = 1", "class ErrandsRun: ...", "def news_of(): ...", "change.unbeaten"])
def test_a_private_word_is_found(code: str):
    assert private_names(code)


@pytest.mark.parametrize("code", ["# he told me", "'told'", "untold = 1", "landscape = 2"])
def test_other_words_are_let_pass(code: str):
    assert not private_names(code)


def is_title(title: str, number: int) -> bool:
    """`# 7. One indexed due time per task`: the number of the file, and what was decided."""
    found = TITLE.match(title)
    return found is not None and int(found[1]) == number


def test_titles_of_decisions_have_one_form():
    decisions = sorted((ROOT / "docs/decisions").glob("*.md"))
    titles = {path.name: path.read_text(encoding="utf-8").splitlines()[0] for path in decisions}

    assert {name for name, title in titles.items() if not is_title(title, int(name[:4]))} == set()
