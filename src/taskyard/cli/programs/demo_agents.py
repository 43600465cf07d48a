"""The agents of `taskyard demo`: they behave as agents with models do, without any model.

Each is run by a process of its own. What goes wrong in them goes wrong on purpose.
"""

from __future__ import annotations

import asyncio
from typing import Any

from taskyard.worker.context import Context
from taskyard.worker.control import Fail
from taskyard.worker.handlers import Agent

PACE = 0.35  # seconds that a piece of work takes

researcher = Agent("researcher", capabilities={"web"}, max_concurrent_tasks=3)
designer = Agent("designer", capabilities={"design"})
coder = Agent("coder", capabilities={"python", "html"})
reviewer = Agent("reviewer", capabilities={"judgement"}, max_concurrent_tasks=2)


@researcher.handles("research")
async def research(task: Context) -> dict[str, Any]:
    """Find out about the competitors; a question comes up that is a task of its own."""
    # In a step, because the handler begins anew when its subtask is done: what is paid for once is done once.
    await task.step("read", lambda: _work(task, "reading three competitors' pages", cost=0.04))
    prices = await task.spawn("investigate", title="their prices", prompt="What do they charge?", wait=True)
    await _work(task, "writing it up", cost=0.03)
    return {"competitors": ["Acme", "Globex", "Initech"], "prices": prices["prices"]}


@researcher.handles("investigate")
async def investigate(task: Context) -> dict[str, Any]:
    await _work(task, "comparing price lists", cost=0.02)
    return {"prices": {"Acme": 29, "Globex": 49, "Initech": 19}}


@designer.handles("design")
async def design(task: Context) -> dict[str, Any]:
    """The first draft forgets the palette, which the task's JSON Schema asks for."""
    await _work(task, "drawing a wireframe", cost=0.05)
    if task.attempt == 1:
        return {"sections": ["hero", "prices"]}
    return {"sections": ["hero", "prices", "contact"], "palette": ["#102a43", "#f0b429"]}


@coder.handles("synthesis")
async def synthesis(task: Context) -> dict[str, Any]:
    """The process is killed after its first step; whoever goes on finds that step done."""
    outline = await task.step("outline", lambda: _outline(task.attempt))
    await task.progress(0.5, f"outline by attempt {outline['by_attempt']}")
    if task.attempt == 1:
        await asyncio.Event().wait()  # the demo kills this process here
    inputs = await task.inputs()
    await _work(task, f"putting {len(inputs)} inputs together", cost=0.06)
    return {"requirements": outline["points"], "outline_by_attempt": outline["by_attempt"]}


@coder.handles("code")
async def code(task: Context) -> dict[str, Any]:
    """The provider refuses the first call: that is nobody's failure, and uses up no attempt."""
    await _work(task, "writing index.html", cost=0.08)
    if task.attempt == 1:
        raise Fail("rate_limit", "HTTP 429 Too Many Requests. Retry-After: 2")
    await _work(task, "writing style.css", cost=0.07)
    return {"files": ["index.html", "style.css"], "lines": 212}


@coder.handles("polish")
async def polish(task: Context) -> dict[str, Any]:
    await _work(task, "polishing", cost=2)
    return {"shine": True}


@reviewer.handles("test")
async def test(task: Context) -> dict[str, Any]:
    for done in range(1, 5):
        await _work(task, f"test {done} of 4", cost=0.01, fraction=done / 4)
    return {"passed": 4, "failed": 0}


@reviewer.handles("review")
async def review(task: Context) -> dict[str, Any]:
    """A person has the last word; nothing is held while it is awaited."""
    verdict = await task.step("read", lambda: "looks right")
    approval = await task.wait_for("approve", timeout=60)
    return {"verdict": verdict, "approved_by": approval["by"]}


async def _work(task: Context, note: str, *, cost: float, fraction: float | None = None) -> None:
    await task.progress(fraction, note)
    await asyncio.sleep(PACE)
    await task.spend(cost, input_tokens=900, output_tokens=200, model="demo-model")


def _outline(attempt: int) -> dict[str, Any]:
    return {"points": ["one page", "three prices", "a form"], "by_attempt": attempt}
