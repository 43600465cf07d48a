"""A yard with one of everything, for pages to show."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import taskyard
from taskyard.core.json_value import Json
from taskyard.portal import Portal
from taskyard.sync import SyncYard
from tests.dashboard.browsing import PATIENCE


class Scene(NamedTuple):
    """The ids of what is there."""

    dead: str
    done: str
    asking: str
    running: str
    lease: str  # of the one that runs
    waiting: str
    dag: str
    first: str  # of the graph


def given_a_scene(yard: SyncYard) -> Scene:
    yard.agents.register("coder", capabilities=["python"], max_concurrent_tasks=5, budget_usd=5, models=["opus"])
    dead = _held(yard, "code", title="Dead one", prompt="Fix the bug", max_attempts=1)
    yard.fail(dead.id, dead.lease, "crash", "it fell over", cost_usd="0.10", model="opus")
    done = _held(yard, "write", title="Done one", prompt="Write it")
    report: Json = {"why": "it was the shortest way"}
    yard.complete(done.id, done.lease, {"diff": "+1"}, cost_usd="0.50", model="opus", decision_report=report)
    asking = _held(yard, "ship", title="Asking one", prompt="Ship it")
    yard.attempts.wait_for(asking.id, asking.lease, "may I", "approve", timeout_sec=3600)
    running = _held(yard, "long", title="Running one", prompt="Take your time")
    yard.progress(running.id, running.lease, {"fraction": 0.4, "message": "half way"})
    tasks = [
        {"name": "plan", "type": "plan", "title": "Plan it", "required_capabilities": ["judgement"]},
        {"name": "build", "type": "build", "title": "Build it", "depends_on": ["plan"]},
        {"name": "sell", "type": "sell", "title": "Sell it", "depends_on": ["build"]},
    ]
    dag = yard.submit({"title": "A graph", "budget_ceiling_usd": 3, "tasks": tasks})
    waiting = yard.enqueue("code", title="Waiting one", required_capabilities=["rust"], payload={"needle": "hay"})
    return Scene(dead.id, done.id, asking.id, running.id, running.lease, waiting.id, dag.id, dag.tasks["plan"].id)


def _held(yard: SyncYard, type_: str, **fields: Any) -> Any:
    yard.enqueue(type_, **fields)
    (held,) = yard.claim("coder", start=True)
    return held


def count_events(url: str, is_counted: Callable[[], object]) -> None:
    """Let reports have what happened, at once: the server's sweep counts events every five seconds."""
    portal, until = Portal(), time.monotonic() + PATIENCE / 1000
    try:
        while not is_counted():  # again where the server counted at the same moment
            assert time.monotonic() < until, "nothing was counted"
            portal.call(_follow(url))
    finally:
        portal.close()


async def _follow(url: str) -> None:
    async with taskyard.connect(url, sweeps=False) as yard:
        await yard.on_store.sweeper.follow()
