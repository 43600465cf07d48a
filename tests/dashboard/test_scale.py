"""A big yard stays quick to look at.

The usual run has a tenth of the tasks that are promised; `TASKYARD_DASHBOARD_TASKS=100000` has all of them. What the
browser works is told by its own trace, in processor time, which others on the machine do not add to. How long something
is waited for is given some slack for them: `TASKYARD_DASHBOARD_SLACK=1` gives none.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Request

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit

TASKS = int(os.environ.get("TASKYARD_DASHBOARD_TASKS", "10000"))
SLACK = float(os.environ.get("TASKYARD_DASHBOARD_SLACK", "5"))
NODES = 1000
SCROLLED = 1000  # rows
LONGEST_TASK = 50  # milliseconds of the browser's main thread: what a frame may take
SLOWEST_ANSWER = 300  # milliseconds
SLOWEST_GRAPH = 2.0  # seconds
LOWEST = """() => Math.min(...[...document.querySelectorAll("[role=grid] a")]
  .map(each => /^Task (\\d+)$/.exec(each.textContent.trim())).filter(Boolean).map(found => Number(found[1])))"""


def given_many_tasks(yard: SyncYard, number: int) -> None:
    for start in range(0, number, 1000):
        some = range(start, start + 1000)
        yard.enqueue_many([{"type": f"type {each % 5}", "title": f"Task {each}", "prompt": "x" * 200} for each in some])


@contextmanager
def traced(visit: Visit) -> Generator[list[float]]:
    """How long each piece of work of the page's main thread took, in milliseconds of processor time."""
    browser = visit.page.context.browser
    assert browser is not None
    took: list[float] = []
    browser.start_tracing(page=visit.page, categories=["toplevel"])
    yield took
    events: list[dict[str, Any]] = json.loads(browser.stop_tracing())["traceEvents"]
    main = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    took += [each.get("tdur", 0) / 1000 for each in events if (each["pid"], each["tid"]) in main and each["ph"] == "X"]


def test_a_long_list_is_scrolled_without_a_hitch(visit: Visit, yard: SyncYard):
    given_many_tasks(yard, TASKS)
    waited: list[float] = []
    visit.page.on("requestfinished", lambda request: waited.extend(_waited(request)))
    visit.open("/tasks", "Tasks")
    visit.sees(f"Task {TASKS - 1}")

    visit.main.get_by_role("grid", name="Tasks, newest first").hover()
    until = time.monotonic() + 60
    with traced(visit) as took:
        while visit.page.evaluate(LOWEST) > TASKS - SCROLLED and time.monotonic() < until:
            visit.page.mouse.wheel(0, 800)

    assert visit.page.evaluate(LOWEST) <= TASKS - SCROLLED
    assert 0 < max(took) <= LONGEST_TASK
    assert 0 < max(waited) <= SLOWEST_ANSWER * SLACK


def _waited(request: Request) -> list[float]:
    """How long a page of the list was waited for."""
    timing = request.timing
    return [timing["responseStart"] - timing["requestStart"]] if "/api/tasks?" in request.url else []


def test_a_graph_of_a_thousand_tasks_is_drawn_soon(visit: Visit, yard: SyncYard):
    tasks = [
        {
            "name": str(number),
            "type": "code",
            "title": f"Node {number}",
            "depends_on": [str((number - 1) // 3)] if number else [],
        }
        for number in range(NODES)
    ]
    dag = yard.submit({"title": "A big graph", "tasks": tasks})
    visit.open("/dags", "DAGs")
    visit.sees("A big graph")

    began = time.monotonic()
    visit.open(f"/dags/{dag.id}", "A big graph")
    visit.sees("Node 0")
    took = time.monotonic() - began

    assert took <= SLOWEST_GRAPH * SLACK
