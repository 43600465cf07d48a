"""Prints how the code is shaped: what a newcomer has to read and follow. Run it before and after a rebuilding.

python -m scripts.shape [--json]
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple

import httpx

from taskyard.app import connect
from taskyard.server.server import served
from taskyard.yard import Yard

PACKAGE = Path(__file__).parent.parent / "src/taskyard"
GRID = (
    "client",
    "server/routes",
    "cli/commands",
    "mcp/tools",
)  # a module for each noun of features/, which has its name
OF_A_NOUN = frozenset({"rules", "service", "views", "checks"})  # what a noun's folder has; checks: for verify
# Each store has the same parts (claims, commits, queries, schema, …): a part means the same in every store.
STORES = frozenset({"memory", "sqlite", "postgres", "redis"})
# taskyard.Yard is the yard of yard.py with workers; so is SyncYard.
SAME_IDEA = frozenset({"Yard", "SyncYard"})
HTTP_FOLDERS = ("api", "client")  # with the views: each answer is described once, where its feature is
FEW_ROUNDS = 3  # of each walk before it is followed: what is done once in a process is not part of it
FOLLOWED = 3  # times


class Figure(NamedTuple):
    name: str
    now: str
    wanted: str


class Walk(NamedTuple):
    """What one call passes through on its way: the functions of ours, and their files."""

    functions: int
    files: int

    def __str__(self) -> str:
        return f"{self.functions} / {self.files}"


# Files


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def lines_of(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def fullest_folder() -> str:
    """The folder that holds most modules directly, beside core and the grid. What only opens a package is none."""
    held = Counter(path.parent for path in modules() if path.stem != "__init__" and not is_in("core", *GRID, path=path))
    folder, number = held.most_common(1)[0]
    return f"{number} ({folder.relative_to(PACKAGE.parent)})"


def class_names_used_twice(sources: Mapping[str, ast.AST]) -> dict[str, list[str]]:
    """The class names that mean more than one thing, with the modules that have them. Sources are by path."""
    found = (
        (node.name, path)
        for path, tree in sources.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name not in SAME_IDEA
    )
    return _repeated(found)


def module_names_used_twice(paths: Iterable[str]) -> dict[str, list[str]]:
    """The module names that mean more than one thing. Those of the grid mean one."""
    own = (Path(path) for path in paths if str(Path(path).parent) not in GRID)
    return _repeated((path.stem, str(path)) for path in own if path.stem[:2] != "__" and path.stem not in OF_A_NOUN)


def _repeated(found: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """What is at more than one place; all stores are one place."""
    places: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, path in found:
        places[name][_place(path)].append(path)
    return {name: sorted(chain(*each.values())) for name, each in places.items() if len(each) > 1}


def _place(path: str) -> str:
    folder, *rest = Path(path).parts
    return folder if folder == "stores" and rest[0] in STORES else path


def is_in(*folders: str, path: Path) -> bool:
    return str(path.parent.relative_to(PACKAGE)) in folders


def uses_of(name: str, sources: Mapping[str, ast.AST], folder: str = "") -> int:
    """How often a name stands in the code of a folder, apart from where it is imported."""
    trees = (tree for path, tree in sources.items() if path.startswith(folder))
    return sum(isinstance(node, ast.Name) and node.id == name for tree in trees for node in ast.walk(tree))


# The yard


def depth_of(kind: type) -> int:
    return 0 if kind is object else 1 + max(map(depth_of, kind.__bases__))


def public_methods(kind: object) -> int:
    """What can be called on it, verbs of its features that it binds included."""
    return sum(not name.startswith("_") for name, _ in inspect.getmembers(kind, inspect.isroutine))


# Walks


class Follower:
    """Notes the functions of ours that are called, in every thread that begins after it was installed."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str, int]] = set()
        threading.setprofile(self.look)
        sys.setprofile(self.look)

    def stop(self) -> None:
        threading.setprofile(None)
        sys.setprofile(None)

    def look(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and not code.co_name.startswith("<"):
            self.seen.add((code.co_filename, code.co_name, code.co_firstlineno))

    async def walk(self, call: Callable[[], Awaitable[Any]]) -> Walk:
        """What every one of some calls passes: a timer that fires beside one of them is no part of it."""
        for _ in range(FEW_ROUNDS):
            await call()
        rounds: list[set[tuple[str, str, int]]] = []
        for _ in range(FOLLOWED):
            self.seen.clear()
            await call()
            rounds.append(self.seen.copy())
        passed = rounds[0].intersection(*rounds[1:])
        return Walk(len(passed), len({file for file, _, _ in passed}))


@asynccontextmanager
async def _yard() -> AsyncGenerator[Yard]:
    """A yard on SQLite that does nothing by itself."""
    with TemporaryDirectory() as folder:
        async with connect(f"sqlite:///{folder}/yard.db", sweeps=False) as yard:
            yield yard


async def walks() -> dict[str, Walk]:
    follower = Follower()
    async with AsyncExitStack() as stack:
        stack.callback(follower.stop)
        yard = await stack.enter_async_context(_yard())
        await yard.agents.register("worker", max_concurrent_tasks=100)
        for _ in range(FEW_ROUNDS + FOLLOWED):
            await yard.enqueue("code")
        held = iter(await yard.claim("worker", count=FEW_ROUNDS + FOLLOWED, start=True))

        async def complete() -> None:
            one = next(held)
            await yard.complete(one.id, one.lease, "done")

        completing = await follower.walk(complete)
        enqueueing = await follower.walk(lambda: yard.enqueue("code"))
        return {"enqueue": enqueueing, "complete": completing, "HTTP enqueue": await _over_http(yard, follower)}


async def _over_http(yard: Yard, follower: Follower) -> Walk:
    async with served(yard) as server, httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as client:
        return await follower.walk(lambda: client.post("/api/tasks", json={"type": "code"}))


# The table


def figures() -> list[Figure]:
    sources = {str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8")) for path in modules()}
    classes, files = len(class_names_used_twice(sources)), len(module_names_used_twice(sources))
    http = [path for folder in HTTP_FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))]
    http += sorted((PACKAGE / "features").rglob("*views.py"))
    found = asyncio.run(walks())
    return [
        Figure(
            "classes in Yard / depth / public methods on it",
            f"{len(Yard.__mro__) - 1} / {depth_of(Yard)} / {public_methods(connect('memory://'))}",
            "1 / 2 / 30",
        ),
        Figure("modules in one flat folder", fullest_folder(), "15"),
        Figure(f"lines of {' and '.join(HTTP_FOLDERS)}", str(lines_of(http)), "4200"),
        Figure("lines of Python in all", str(lines_of(modules())), "40000"),
        Figure("class names / module names used twice", f"{classes} / {files}", "15 / 12"),
        Figure("cast / Any in core", f"{uses_of('cast', sources)} / {uses_of('Any', sources, 'core/')}", "60 / 40"),
        *(
            Figure(f"{name}: functions / files", str(walk), wanted)
            for (name, walk), wanted in zip(found.items(), ("90 / 22", "80 / 20", "160 / 40"), strict=True)
        ),
    ]


def main(arguments: list[str]) -> int:
    table = figures()
    if "--json" in arguments:
        sys.stdout.write(json.dumps({figure.name: figure.now for figure in table}, indent=2) + "\n")
        return 0
    for name, now, wanted in table:
        sys.stdout.write(f"{name:50} {now:>34}   at most {wanted}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
