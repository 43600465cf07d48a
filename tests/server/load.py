"""A thousand listeners to a server in a process of its own: load.py EACH prints what it took for each to hear so much.

`python -m tests.server.load 1000` makes a million deliveries.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import taskyard
from taskyard.features.tasks.views import Held
from taskyard.yard import Yard
from tests.processes.child import say
from tests.server.crowd import Member, join
from tests.yards import given_a_running_task

ROOT = Path(__file__).parents[2]
LISTENERS = 1000
TASKS = 10
AHEAD = 200  # messages of a task that may be on their way
HEARING = 60  # seconds that it may take all of them to hear what was said
ENDING = 30  # seconds that the server has to end in
FILTERS = (("task.*", "task_id"), ("task.message", "task_id"), ("task.*", "dag_id"), ("task.message", "dag_id"))


class Figures(NamedTuple):
    deliveries: int
    faults: list[str]  # what was skipped, came out of order, or did not come
    seconds: float
    bytes_of_a_listener: int  # for being there
    bytes_grown: int  # while all of them heard everything


class Host:
    """A server in a process of its own."""

    def __init__(self, pid: int, port: int) -> None:
        self._pid = pid
        self.port = port

    def resident(self) -> int:
        """Bytes of memory that the process has now."""
        pages = Path(f"/proc/{self._pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def hosted(url: str) -> AsyncGenerator[Host]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.server.host", url),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Host(process.pid, json.loads(await process.stdout.readline())["port"])
    finally:
        process.stdin.close()
        async with asyncio.timeout(ENDING):
            assert await process.wait() == 0


async def measured(url: str, each: int) -> Figures:
    async with taskyard.connect(url, sweeps=False) as yard, hosted(url) as host:
        tasks = [await given_a_running_task(yard) for _ in range(TASKS)]
        empty = host.resident()
        crowd = await gathered(host, tasks)
        full, began = host.resident(), time.monotonic()
        await asyncio.gather(*(speak(yard, held, crowd[held.id], each) for held in tasks))
        everybody = [member for listeners in crowd.values() for member in listeners]
        return Figures(
            sum(member.heard for member in everybody),
            [fault for member in everybody for fault in member.faults],
            time.monotonic() - began,
            (full - empty) // LISTENERS,
            host.resident() - full,
        )


async def gathered(host: Host, tasks: Sequence[Held]) -> dict[str, list[Member]]:
    """The listeners of each task, who want its messages in one of several ways."""
    crowd: dict[str, list[Member]] = {held.id: [] for held in tasks}
    for number in range(LISTENERS):
        held, (event, field) = tasks[number % TASKS], FILTERS[number // TASKS % len(FILTERS)]
        of = held.id if field == "task_id" else held.id.replace("task_", "dag_")
        crowd[held.id].append(await join(host.port, event=event, **{field: of}))
    return crowd


async def speak(yard: Yard, held: Held, listeners: Sequence[Member], each: int) -> None:
    """Say so much, and be no further ahead of the listeners than the feed remembers."""
    for number in range(each):
        await yard.attempts.message(held.id, held.lease, {"number": number, "text": "x" * 100})
        await have_heard(listeners, number - AHEAD)
    await have_heard(listeners, each)


async def have_heard(listeners: Sequence[Member], number: int) -> None:
    until = time.monotonic() + HEARING
    while behind := sum(member.heard < number and not member.faults for member in listeners):
        assert time.monotonic() < until, f"{behind} listeners did not hear {number} messages within {HEARING} s"
        await asyncio.sleep(0.05)  # a listener only counts, and sets no event


async def main(each: int) -> None:
    with TemporaryDirectory() as folder:
        say(**(await measured(f"sqlite:///{folder}/yard.db", each))._asdict())


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
