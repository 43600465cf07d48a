"""The table of limits of time in the guide to operating is what the code has, and names every limit that it has."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from taskyard.core.units import SECOND

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "taskyard"
GUIDE = ROOT / "docs" / "guides" / "operating.md"
ROW = re.compile(r"^\| .+? \| ([\d.]+) (?:s|× `call`) \| .*?\| `([a-z0-9_.]+)\.([A-Z_]+)` \|$", re.MULTILINE)
ROWS = [(module, name, float(said)) for said, module, name in ROW.findall(GUIDE.read_text(encoding="utf-8"))]

CONSTANT = re.compile(r"_?[A-Z][A-Z_]+")
NAMED_AS_A_LIMIT = re.compile(r"_?([A-Z]+_)*(WITHIN|TIMEOUT|PATIENCE|GRACE|TRIED_FOR|PARTING|LEAVING)")
LIMITING = {"timeout", "timeout_at", "wait_for", "Timeout"}  # functions that end what takes longer than they are given
# What a wait is ended by without anything being given up, and what is no time.
NO_LIMITS = {
    ("core.units", "SECOND"),
    ("cli.programs.bench", "PATIENCE"),
    ("features.approvals.rules", "TIMEOUT"),
    ("server.routes.artifacts", "SLOWEST"),
    ("server.server", "TICK"),
    ("stores.postgres.connection.notify_channel", "_POLL_EVERY"),
    ("stores.shared.timeouts", "LEAST_CALL_TIMEOUT"),
    ("stores.shared.timeouts", "MOST_CALL_TIMEOUT"),
    ("tui.terminal_app", "RENEWED_WITHIN"),
    ("worker.process.supervisor", "AGAIN"),
    ("worker.triggers.file_watcher", "AGAIN_AFTER"),
    ("worker.triggers.listener", "AGAIN_AFTER"),
}


def test_every_row_of_the_table_is_looked_at():
    table = GUIDE.read_text(encoding="utf-8").partition("## Limits of time")[2].partition("## ")[0]

    assert len(ROWS) == table.count("\n| ") - 2


@pytest.mark.parametrize(("module", "name", "said"), ROWS)
def test_a_limit_is_as_the_table_says(module: str, name: str, said: float):
    found = getattr(import_module(f"taskyard.{module}"), name)

    assert (found / SECOND if isinstance(found, int) and found > 1000 else found) == said


def limits_of(module: str, code: str) -> set[tuple[str, str]]:
    """The constants of a module that a wait is limited by, or that are named so; each with the module that has it."""
    tree = ast.parse(code)
    imported = {
        alias.name: (node.module.removeprefix("taskyard."), alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }
    own = {node.id for each in tree.body for node in _assigned(each)}
    used = {
        node.id
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for argument in _limits_in(call)
        for node in ast.walk(argument)
        if isinstance(node, ast.Name) and CONSTANT.fullmatch(node.id)
    }
    return {imported.get(name, (module, name)) for name in used | set(filter(NAMED_AS_A_LIMIT.fullmatch, own))}


def _assigned(node: ast.stmt) -> Iterator[ast.Name]:
    match node:
        case ast.Assign(targets=targets):
            yield from (each for each in targets if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name() as name):
            yield name
        case _:
            pass


def _limits_in(call: ast.Call) -> Iterator[ast.expr]:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in LIMITING:
            yield from call.args[1:] if name == "wait_for" else call.args
        case _:
            pass
    yield from (each.value for each in call.keywords if re.search("timeout|within|silence|patience", each.arg or ""))


def test_every_limit_of_the_code_is_in_the_table():
    found = {
        limit
        for path in sorted(PACKAGE.rglob("*.py"))
        for limit in limits_of(".".join(path.relative_to(PACKAGE).with_suffix("").parts), path.read_text("utf-8"))
    }
    listed = {(module, name) for module, name, _ in ROWS}

    assert sorted(found - listed - NO_LIMITS) == []
    assert found >= NO_LIMITS


@pytest.mark.parametrize(
    "code",
    [
        "async def ask():\n    async with asyncio.timeout(FOUR): ...",
        "async def ask(): await asyncio.wait_for(answer, 2 * FOUR)",
        "async def ask(): await asyncio.wait(answers, timeout=min(FOUR, left))",
        "from taskyard.outbound.mail import FOUR\ndef ask(): return client(timeout=FOUR)",
        "FOUR_WITHIN = 4.0",
    ],
)
def test_a_limit_that_is_not_in_the_table_is_found(code: str):
    assert [name.removesuffix("_WITHIN") for _, name in limits_of("outbound.mail", code)] == ["FOUR"]
