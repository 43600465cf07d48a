"""Moving a yard from SQLite to PostgreSQL with the commands that people use: what each takes of processor and memory.

The yard has finished tasks with their history, waiting ones, graphs and artifacts. Each command is a process of its
own, so that what it took is the kernel's count: `export`, `import` with its `verify`, and `compare`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.growing.__main__ import yards_of
from bench.growing.growth import AGENT, BATCH, drain, put_in
from bench.yards import a_yard
from taskyard.yard import Yard

FINISHED = 0.8  # of all tasks
GRAPH = 10  # tasks: one, eight that wait for it, and one that waits for these
ARTIFACTS = 200
MOST_MICROS = 3_000  # of processor time for a task, of all three commands together
MOST_MEGABYTES = 512  # of any of them


def arguments() -> Namespace:
    parser = ArgumentParser("bench.moving", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results", help="a folder")
    return parser.parse_args()


class Run(NamedTuple):
    """One command: what it answered, and what it took."""

    command: str
    answer: Any
    processor: float  # seconds
    megabytes: float  # at most resident

    @property
    def line(self) -> str:
        return f"{self.command:8} {self.processor:8.1f} s {self.megabytes:8.0f} MB"


def run(url: str, artifacts: str, *words: str) -> Run:
    """`taskyard` in a process of its own. A command that fails ends the measurement."""
    out, into = os.pipe()
    program = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "taskyard", "--url", url, *words, "--json"],
        {**os.environ, "TASKYARD_ARTIFACTS": artifacts},
        file_actions=[(os.POSIX_SPAWN_DUP2, into, 1), (os.POSIX_SPAWN_CLOSE, out)],
    )
    os.close(into)
    with os.fdopen(out) as said:
        text = said.read()
    _, status, used = os.wait4(program, 0)
    if status:
        raise SystemExit(f"{words[0]} failed: {text}")
    return Run(words[0], json.loads(text), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


async def fill(yard: Yard, number: int) -> None:
    await yard.agents.register(AGENT, max_concurrent_tasks=BATCH)
    finished = int(number * FINISHED)
    await put_in(yard, finished)
    await drain(yard, finished)
    graphs = (number - finished) // (2 * GRAPH)
    middle = [{"name": f"m{each}", "type": "noop", "depends_on": ["first"]} for each in range(GRAPH - 2)]
    last = {"name": "last", "type": "noop", "depends_on": [each["name"] for each in middle]}
    for _ in range(graphs):
        await yard.submit({"tasks": [{"name": "first", "type": "noop"}, *middle, last]})
    await put_in(yard, number - finished - graphs * GRAPH)
    for each in range(ARTIFACTS):
        await yard.artifacts.put(f"report-{each}.txt", f"report {each}".encode() * 100)


def main() -> int:
    given = arguments()
    with TemporaryDirectory(ignore_cleanup_errors=True) as name, yards_of("postgres", Path(name)) as urls:
        folder = Path(name)
        here, there, file = f"sqlite:///{folder / 'here.db'}", urls("there"), str(folder / "yard.jsonl")
        artifacts = (folder / "artifacts").as_uri()
        os.environ["TASKYARD_ARTIFACTS"] = artifacts
        asyncio.run(_filled(here, given.tasks))
        runs = [
            run(here, artifacts, "export", file),
            run(there, artifacts, "import", file),
            run(here, artifacts, "compare", there),
        ]
        size = Path(file).stat().st_size
    exported, imported, compared = runs
    assert exported.answer["counts"] == imported.answer["counts"], "the counts of both sides"
    assert exported.answer["counts"]["task"] == given.tasks, "every task"
    assert (imported.answer["problems"], compared.answer["ok"]) == ([], True), "verify and compare"
    print("\n".join(each.line for each in runs))
    print(f"{exported.answer['counts']}, {size / 1e6:.0f} MB in the file")
    micros = sum(each.processor for each in runs) * 1e6 / given.tasks
    print(f"{micros:.0f} µs of processor time for each task (at most {MOST_MICROS})")
    given.results.mkdir(parents=True, exist_ok=True)
    (given.results / "moving.json").write_text(json.dumps([each._asdict() for each in runs], indent=2) + "\n")
    return 0 if micros <= MOST_MICROS and all(each.megabytes <= MOST_MEGABYTES for each in runs) else 1


async def _filled(url: str, number: int) -> None:
    async with a_yard(url) as yard:
        await fill(yard, number)


if __name__ == "__main__":
    sys.exit(main())
