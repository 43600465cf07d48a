"""The rules about the code are themselves tested: each must catch what it is there to catch."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = ROOT / "pyproject.toml"
CORE = ROOT / "src/taskyard/core"
STORES = ROOT / "src/taskyard/stores"

# A yard of empty modules, one or two for each layer, including those that are not built yet.
MODULES = (
    *("__main__", "tui", "cli", "cli.commands", "cli.programs", "cli.invocation", "cli.main", "app"),
    *("server", "worker", "mcp", "a2a", "sync", "client", "integrations"),
    *("yard", "portal", "host", "workspaces", "outbox", "sweeper", "workspace", "verbs"),
    *("features", "features.tasks", "features.tasks.lookup", "features.tasks.lookup.why", "outbound", "api", "ledger"),
    *("stores", "stores.contract", "stores.memory", "stores.sqlite", "stores.sqlite.store"),
    *("stores.postgres", "stores.redis", "core", "core.task", "definition", "visible_text", "plugins"),
    *(
        f"definition.{name}"
        for name in ("cache", "codec", "definition", "fields", "names", "json_schema", "traceparent")
    ),
)

POINTS_DOWN = "Imports point down only"
ONLY_APP = "Only app names a concrete store"
APART = "Stores never import each other"
PURE = "The core is pure"
NO_PYDANTIC = "Features know nothing of pydantic"
SCREENS = "Screens use only the manner of the command line"


def module_file(folder: Path, name: str) -> Path:
    return folder.joinpath("taskyard", *name.split("."), "__init__.py")


@pytest.fixture
def yard(tmp_path: Path) -> Path:
    for name in ("", *MODULES):
        file = module_file(tmp_path, name)
        file.parent.mkdir(parents=True)
        file.touch()
    # As in the true package: the public names come from the composition root, and that names the stores.
    module_file(tmp_path, "").write_text("import taskyard.app\n")
    module_file(tmp_path, "app").write_text(
        "import taskyard.stores.memory\nimport taskyard.stores.sqlite.store\n"
        "import taskyard.stores.postgres\nimport taskyard.stores.redis\n"
    )
    return tmp_path


def broken_contracts(yard: Path) -> set[str]:
    """The contracts that import-linter, run on this yard, says are broken."""
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo", "--config", PYPROJECT]
    ran = subprocess.run(command, cwd=yard, capture_output=True, text=True, check=False)
    verdicts = dict(line.rsplit(" ", 1) for line in ran.stdout.splitlines() if line.endswith((" KEPT", " BROKEN")))
    assert set(verdicts) == {POINTS_DOWN, ONLY_APP, APART, PURE, NO_PYDANTIC, SCREENS}, ran.stdout + ran.stderr
    broken = {name for name, verdict in verdicts.items() if verdict == "BROKEN"}
    assert ran.returncode == (1 if broken else 0)
    return broken


def test_the_contracts_hold_for_a_yard_that_keeps_them(yard: Path):
    assert broken_contracts(yard) == set()


@pytest.mark.parametrize(
    ("importer", "line", "broken"),
    [
        ("core.task", "import taskyard.stores.contract", POINTS_DOWN),
        ("core.task", "from taskyard import app", POINTS_DOWN),
        ("stores.contract", "import taskyard.features.tasks.lookup.why", POINTS_DOWN),
        ("stores.contract", "import taskyard.ledger", POINTS_DOWN),
        ("ledger", "import taskyard.features.tasks.lookup.why", POINTS_DOWN),
        ("core.task", "import taskyard.definition.fields", POINTS_DOWN),
        ("definition.fields", "import taskyard.stores.contract", POINTS_DOWN),
        ("features.tasks.lookup.why", "import taskyard.client", POINTS_DOWN),
        ("features.tasks.lookup.why", "import taskyard.api", POINTS_DOWN),
        ("outbound", "import taskyard.api", POINTS_DOWN),
        ("worker", "import taskyard.server", POINTS_DOWN),
        ("worker", "import taskyard.integrations", POINTS_DOWN),
        ("server", "import taskyard.app", POINTS_DOWN),
        ("app", "import taskyard.cli", POINTS_DOWN),
        ("features.tasks.lookup.why", "import taskyard.stores.sqlite.store", ONLY_APP),
        ("features.tasks.lookup.why", "import taskyard.stores.memory", ONLY_APP),
        ("cli", "import taskyard.stores.memory", ONLY_APP),
        ("stores.sqlite.store", "import taskyard.stores.memory", APART),
        ("stores.memory", "from taskyard.stores import sqlite", APART),
        ("core.task", "import asyncio", PURE),
        ("core.task", "from time import monotonic", PURE),
        ("core.task", "import os.path", PURE),
        ("core.task", "import apsw", PURE),
        ("definition.fields", "import time", PURE),
        ("features.tasks.lookup.why", "import pydantic", NO_PYDANTIC),
        ("definition.fields", "from pydantic import BaseModel", NO_PYDANTIC),
        ("tui", "import taskyard.cli.commands", SCREENS),
    ],
)
def test_a_forbidden_import_breaks_its_contract(yard: Path, importer: str, line: str, broken: str):
    with module_file(yard, importer).open("a") as file:
        file.write(f"{line}\n")

    assert broken in broken_contracts(yard)


def test_a_module_outside_the_layers_is_refused(yard: Path):
    module_file(yard, "utils").parent.mkdir()
    module_file(yard, "utils").touch()

    assert broken_contracts(yard) == {POINTS_DOWN}


def test_every_concrete_store_is_under_the_contracts():
    contracts: list[dict[str, Any]] = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"]
    named = {contract["name"]: contract for contract in contracts}
    packages = {path.parent.name for path in STORES.glob("*/__init__.py")}
    stores = {f"taskyard.stores.{name}" for name in packages - {"shared"}}

    assert set(named[ONLY_APP]["protected_modules"]) == stores
    assert set(named[APART]["modules"]) == stores


def imported_packages(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield module.partition(".")[0]
            case _:
                pass


def reading_order() -> list[str]:
    """The modules of the core, in the order in which its README lists them."""
    return re.findall(r"^\d+\. `(\w+)`", (CORE / "README.md").read_text(), re.MULTILINE)


def core_imports(source: str) -> Iterator[str]:
    """The modules of the core that a source imports, for types or at run time."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="taskyard.core", names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module)) if module.startswith("taskyard.core."):
                yield module.split(".")[2]
            case _:
                pass


def test_the_readme_of_the_core_lists_every_module_once():
    assert sorted(reading_order()) == sorted(path.stem for path in CORE.glob("*.py") if path.stem != "__init__")


def test_each_module_of_the_core_imports_only_what_stands_before_it():
    order = reading_order()
    later = {
        f"{name} imports {other}"
        for place, name in enumerate(order)
        for other in core_imports((CORE / f"{name}.py").read_text())
        if other not in order[:place]
    }
    assert later == set()


def test_the_core_imports_only_the_standard_library_and_itself():
    sources = {path: path.read_text() for path in CORE.rglob("*.py")}
    assert sources
    strangers = {
        f"{path.relative_to(ROOT)}: {package}"
        for path, source in sources.items()
        for package in imported_packages(source)
        if package not in sys.stdlib_module_names | {"taskyard"}
    }
    assert strangers == set()


@pytest.fixture
def working_tree(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "src").mkdir()
    return tmp_path


def check_lengths(tree: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts/check_lengths.py"]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["long.py", "long.sql", "long.lua"])
def test_a_file_of_501_lines_is_too_long_and_is_named(working_tree: Path, name: str):
    (working_tree / "src" / name).write_text("-\n" * 501)

    checked = check_lengths(working_tree)

    assert checked.returncode == 1
    assert f"src/{name}: 501 lines" in checked.stderr


def test_a_file_of_500_lines_and_an_ignored_one_are_let_pass(working_tree: Path):
    (working_tree / ".gitignore").write_text("ignored.py\n")
    (working_tree / "src/ignored.py").write_text("\n" * 501)
    (working_tree / "src/full.py").write_text("\n" * 500)

    checked = check_lengths(working_tree)

    assert (checked.returncode, checked.stdout) == (0, "1 files measured, 0 too long\n")
