"""Reads docs/architecture.md, the map of the code: its sections, its tables, and where its pointers lead."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import taskyard

ROOT = Path(__file__).parents[1]
PACKAGE = Path(taskyard.__file__).parent
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
POINTER = re.compile(r"`([\w./-]+\.(?:py|ts|tsx|md|toml)|[\w./-]+/)(?::([\w.]+))?`")
ELSEWHERE = ("src/", "tests/", "docs/", "dashboard/", "pyproject.toml")


def place(path: str) -> Path:
    return ROOT / path if path.startswith(ELSEWHERE) else PACKAGE / path


@cache
def names_in(file: Path) -> frozenset[str]:
    """The classes, functions and values that a module defines, those of classes behind the name of the class."""
    return frozenset(_names(ast.parse(file.read_text(encoding="utf-8")), ""))


def _names(node: ast.AST, prefix: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield prefix + name
                yield from _names(child, f"{prefix}{name}.")
            case ast.Assign(targets=[ast.Name(id=name), *_]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name
            case _:
                pass


def leads_nowhere(text: str) -> list[str]:
    return [
        found[0]
        for found in POINTER.finditer(text)
        if not place(found[1]).exists() or (found[2] and found[2] not in names_in(place(found[1])))
    ]


def section(title: str) -> str:
    _, _, rest = PAGE.partition(f"# {title}\n")
    assert rest, title
    return re.split(r"^##+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def rows_of(title: str) -> list[list[str]]:
    table = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
