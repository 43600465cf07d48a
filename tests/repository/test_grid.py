"""The grid: each noun has its places in every layer, and the folders of the grid have modules of nouns alone."""

import re
from pathlib import Path

import pytest

from taskyard.api.calls import CALLS
from taskyard.cli.main import LoadedCommands
from tests.architecture_page import PACKAGE, ROOT, leads_nowhere, rows_of

NONE = "–"
REMOTE_BASE = {"host", "remote"}  # what the nouns in client/ are made on
READ_BY_OTHERS = {"metrics"}  # than our client: by Prometheus


def test_every_feature_has_its_row():
    folders = {path.parent.name for path in (PACKAGE / "features").glob("*/__init__.py")}

    assert {row[0] for row in rows_of("The grid")} == folders


@pytest.mark.parametrize("row", rows_of("The grid"), ids=lambda row: row[0])
def test_a_row_of_the_grid_says_where_things_are(row: list[str]):
    noun, path, command, page, tests, guide = row
    if path != NONE:
        assert makes_a_call(PACKAGE / f"server/routes/{noun}.py", path.strip("`"))
        assert noun in READ_BY_OTHERS or makes_a_call(PACKAGE / f"client/{noun}.py", path.strip("`"))
    assert command == NONE or f"taskyard.cli.commands.{noun}" in modules_of(command)
    assert page == NONE or (ROOT / "dashboard/src/pages" / page).is_dir()
    assert leads_nowhere(tests) == []
    assert guide.startswith("[")


@pytest.mark.parametrize("noun", [row[0] for row in rows_of("The grid")])
def test_every_feature_has_tests_of_its_own(noun: str):
    assert list((ROOT / "tests/features" / noun).glob("test_*.py")) != []


def test_a_folder_of_tests_is_that_of_a_feature():
    folders = {path.parent.name for path in (ROOT / "tests/features").glob("*/test_*.py")}

    assert folders == {row[0] for row in rows_of("The grid")}


@pytest.mark.parametrize("folder", ["server/routes", "client", "cli/commands"])
def test_a_folder_of_the_grid_has_modules_of_nouns_alone(folder: str):
    modules = {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__", *REMOTE_BASE}

    assert modules <= {row[0] for row in rows_of("The grid")}


def modules_of(command: str) -> set[str]:
    """Where a command is written, or those of its group."""
    built = LoadedCommands()[command]
    return {each.callback.__module__ for each in getattr(built, "commands", {"": built}).values() if each.callback}


def makes_a_call(file: Path, path: str) -> bool:
    """Whether the module uses a call of the table whose path begins so."""
    named = re.findall(r"\bcalls\.([A-Z_]+)\b", file.read_text(encoding="utf-8"))
    return any(CALLS[name].path.startswith(path) for name in named if name in CALLS)
