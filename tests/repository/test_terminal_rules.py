"""Only one module makes the texts and consoles of commands and screens: the one in which nothing is obeyed."""

import ast
from pathlib import Path

import taskyard.cli
import taskyard.tui

FOLDER = Path(taskyard.cli.__file__).parent
SCREENS = Path(taskyard.tui.__file__).parent
MAKER = "terminal.py"
PRINTERS = ("print", "typer.echo", "typer.secho", "sys.stdout.write")


def imported(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_no_other_module_makes_a_text_or_a_console_of_its_own():
    forbidden = {"rich", "rich.text", "rich.text.Text", "rich.console.Console", "rich.print", "rich.markup"}
    files = [*FOLDER.glob("*.py"), *SCREENS.glob("*.py")]
    guilty = {file.name: imported(file) & forbidden for file in files if file.name != MAKER}

    assert {name: found for name, found in guilty.items() if found} == {}


def test_nothing_is_printed_past_them():
    calls = {
        f"{file.name}:{node.lineno}"
        for file in FOLDER.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("print", "typer.echo", "typer.secho", "sys.stdout.write")
        and "visible(" not in ast.unparse(node)
        and "SCHEMA" not in ast.unparse(node)
    }

    assert calls == set()
