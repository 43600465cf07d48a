"""Runs workers of an earlier commit and of this one side by side on one yard: python -m scripts.rolling_upgrade COMMIT

The earlier ones make the yard and begin; the later ones join while these work, which migrates the yard. After some
seconds the earlier ones leave, as in a rolling upgrade, and then the later ones. Every worker puts tasks in and works
off whatever it gets. Nothing may be lost or done twice, no call may fail, and `verify` must find the history sound.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import taskyard
from tests import servers
from tests.graphs import happened
from tests.processes.crew import Member
from tests.processes.ledger import Ledger, all_listen
from tests.redis_servers import RedisServer

ROOT = Path(__file__).parents[1]
WORKERS = 2  # of each release
ENOUGH = 20  # tasks that each completes before others join or leave


def check_out(commit: str, folder: Path) -> Path:
    """The sources and workers of a commit, in a folder of their own."""
    packed = subprocess.run(["git", "archive", commit, "src", "tests"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
    return folder


async def start(tree: Path, url: str, agent: str) -> Ledger:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.processes.steadfast", url, agent),
        cwd=tree,
        env=os.environ | {"PYTHONPATH": f"{tree / 'src'}:{tree}"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    member = Member(process)
    assert await member.hear() == {"up": True}
    return Ledger(member)


def register(tree: Path, url: str, agents: Sequence[str]) -> None:
    """By a process of this release: the first one makes the yard."""
    program = """
import asyncio, sys, taskyard
async def main(url, *agents):
    async with taskyard.connect(url, sweeps=False) as yard:
        for agent in agents:
            await yard.agents.register(agent, max_concurrent_tasks=100)
asyncio.run(main(*sys.argv[1:]))
"""
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}:{tree}"}
    subprocess.run([sys.executable, "-c", program, url, *agents], cwd=tree, env=environment, check=True)


async def upgrade(old: Path, url: str, seconds: float) -> str:
    agents = {tree: [f"{name}-{number}" for number in range(WORKERS)] for tree, name in ((old, "old"), (ROOT, "new"))}
    register(old, url, agents[old])
    earlier = [await start(old, url, agent) for agent in agents[old]]
    await all_listen(earlier, lambda ledger: len(ledger.completed) >= ENOUGH)
    register(ROOT, url, agents[ROOT])
    later = [await start(ROOT, url, agent) for agent in agents[ROOT]]
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    beside = {ledger: len(ledger.completed) for ledger in earlier}
    await all_listen([*earlier, *later], lambda _: loop.time() > until)
    await asyncio.gather(*(ledger.listen_to_the_end() for ledger in earlier))
    await asyncio.gather(*(ledger.listen_to_the_end() for ledger in later))

    ledgers = [*earlier, *later]
    stored = sorted(task_id for ledger in ledgers for task_id in ledger.stored)
    completed = sorted(task_id for ledger in ledgers for task_id in ledger.completed)
    assert stored == completed, f"{len(stored)} tasks were put in, {len(completed)} completed"
    assert sum(ledger.repeated for ledger in ledgers) == 0, "calls failed"
    async with taskyard.connect(url, sweeps=False) as yard:
        assert await happened(yard, "task.completed") == dict.fromkeys(stored, 1)
        verified = await yard.verify()
    assert verified.ok, str(verified)
    by_old = sum(len(ledger.completed) - beside[ledger] for ledger in earlier)
    by_new = sum(len(ledger.completed) for ledger in later)
    sides = f"side by side {by_old} by the earlier, {by_new} by the later"
    return f"{len(stored)} tasks, each completed once; {sides}; {verified}"


async def on_each_store(old: Path, stores: Sequence[str], seconds: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for store in stores:
            server = RedisServer("--appendonly", "yes").start() if store == "redis" else None
            urls = {
                "sqlite": lambda: f"sqlite:///{quote(str(folder / 'yard.db'))}",
                "postgres": lambda: servers.postgres_yard(16, folder),
                "redis": lambda server=server: server.url if server else "",
            }
            print(f"{store}: {await upgrade(old, urls[store](), seconds)}")
            if server is not None:
                server.end()


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.rolling_upgrade")
    parser.add_argument("commit", help="the earlier one")
    parser.add_argument("--stores", default="sqlite,postgres,redis")
    parser.add_argument("--seconds", type=float, default=5, help="that both work side by side")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        old = check_out(given.commit, Path(folder))
        asyncio.run(on_each_store(old, given.stores.split(","), given.seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
