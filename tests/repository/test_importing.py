"""What `import taskyard` loads, and that every public name is found."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import pytest

import taskyard

ROOT = Path(__file__).parents[2]
# Where a library is imported by another name than the one it is installed by.
IMPORTED_AS = {
    "a2a-sdk": "a2a",
    "google-re2": "re2",
    "openai-agents": "agents",
    "opentelemetry-api": "opentelemetry",
    "pydantic-ai-slim": "pydantic_ai",
    "pyyaml": "yaml",
}
# What comes with another: Starlette and Pydantic with FastAPI, the messages of LangChain with LangGraph.
ALONG = {"langchain_core", "pydantic", "starlette", "google"}
LATER = ("asyncio", "jsonschema_rs", "opentelemetry", "re2", "taskyard.app", "taskyard.client.host")
RARE = ("jsonschema_rs", "opentelemetry", "re2", "taskyard.client.host", "ulid")


def loaded_by(program: str) -> set[str]:
    """By a process that has loaded nothing else."""
    shown = f"{program}; import sys; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_an_import_alone_loads_nothing_of_weight():
    assert loaded_by("import taskyard").isdisjoint(LATER)


def test_a_yard_in_memory_does_without_what_only_some_need():
    assert loaded_by("import taskyard; taskyard.connect('memory://')").isdisjoint(RARE)


def test_a_command_loads_no_other_command_and_nothing_that_serves():
    loaded = loaded_by("from taskyard.cli.main import LoadedCommands; LoadedCommands()['claim']")

    assert {name for name in loaded if name.startswith("taskyard.cli.commands.")} == {"taskyard.cli.commands.attempts"}
    assert loaded.isdisjoint({"fastapi", "httpx", "pydantic", "taskyard.client.host", "taskyard.server"})


def declared() -> set[str]:
    """By the names that they are imported by, with those of the extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted: Iterable[str] = chain(project["dependencies"], *project["optional-dependencies"].values())
    names = {re.split(r"[^\w-]", each)[0] for each in wanted}
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_nothing_is_imported_that_is_not_installed_with_taskyard():
    files = (ROOT / "src").rglob("*.py")
    found = {name.partition(".")[0] for file in files for name in imported(ast.parse(file.read_text()))}

    assert found - set(sys.stdlib_module_names) - {"taskyard"} - declared() - ALONG == set()


@pytest.mark.parametrize("name", taskyard.__all__)
def test_a_public_name_is_found_and_listed(name: str):
    assert getattr(taskyard, name).__name__ == name
    assert name in dir(taskyard)


def test_a_name_that_is_not_public_is_not_found():
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        taskyard.conect  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
