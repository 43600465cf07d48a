"""A big yard stays quick to look at: a list of 100,000 rows, and a DAG of 10,000 tasks.

The list has a tenth of its rows in a usual run; `TASKYARD_DASHBOARD_ROWS=100000` scrolls through all, for minutes.

What the browser works is told by its own trace, in processor time of the main thread, which others on the machine do
not add to. How long something is waited for is given some slack for them: `TASKYARD_DASHBOARD_SLACK=1` gives none.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Request, expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit

SLACK = float(os.environ.get("TASKYARD_DASHBOARD_SLACK", "5"))
TASKS = int(os.environ.get("TASKYARD_DASHBOARD_ROWS", "10000"))
NODES = 10_000
# Milliseconds of the browser's main thread: what a frame may take. Beside the other processes of a whole run, a core
# takes up to half as long again for the same work, also by its processor time.
LONGEST_TASK = 50 * (1.5 if "PYTEST_XDIST_WORKER" in os.environ else 1)
SLOWEST_ANSWER = 300  # milliseconds
SLOWEST_GRAPH = 2.0  # seconds
HASTE = 7600  # pixels in each frame: two hundred rows, which is a page
PATIENCE = 240.0  # seconds: 500 pages are asked for, on a machine on which much else runs


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
    try:
        yield took
    finally:
        events: list[dict[str, Any]] = json.loads(browser.stop_tracing())["traceEvents"]
    main = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    took += [each.get("tdur", 0) / 1000 for each in events if (each["pid"], each["tid"]) in main and each["ph"] == "X"]


# Scrolls in every frame, as somebody does who pulls the scroll bar, until the oldest task is in sight.
SCROLL = """([haste, patience]) => new Promise((done, fail) => {
  const list = document.querySelector("[role=grid]");
  const until = performance.now() + patience * 1000;
  const step = () => {
    if ([...list.querySelectorAll("a")].some(each => each.textContent.trim() === "Task 0")) return done();
    if (performance.now() > until) return fail(new Error(`only ${list.scrollHeight} pixels were reached`));
    list.scrollBy(0, haste);
    requestAnimationFrame(step);
  };
  step();
})"""


@pytest.mark.timeout(PATIENCE + 60)
def test_every_row_of_a_long_list_is_scrolled_to_without_a_hitch(visit: Visit, yard: SyncYard):
    given_many_tasks(yard, TASKS)
    waited: list[float] = []
    visit.listen("requestfinished", lambda request: waited.extend(_waited(request)))
    visit.open("/tasks", "Tasks")
    visit.sees(f"Task {TASKS - 1}")

    with traced(visit) as took:
        visit.page.evaluate(SCROLL, [HASTE, PATIENCE])
    assert 0 < max(took) <= LONGEST_TASK
    assert 0 < max(waited) <= SLOWEST_ANSWER * SLACK

    # With all of them on the page, it follows what happens, and goes back to the top in one step.
    yard.agents.register("coder")
    with traced(visit) as took:
        (held,) = yard.claim("coder", start=True)
        first = visit.main.get_by_role("row").filter(has_text=held.title)
        expect(first).to_contain_text("running")
        visit.main.get_by_role("grid").press("Home")
        visit.sees(f"Task {TASKS - 1}")
    assert 0 < max(took) <= LONGEST_TASK


def _waited(request: Request) -> list[float]:
    """How long a page of the list was waited for."""
    timing = request.timing
    return [timing["responseStart"] - timing["requestStart"]] if "/api/tasks?" in request.url else []


def test_a_graph_of_ten_thousand_tasks_is_opened_followed_and_folded_without_a_hitch(visit: Visit, yard: SyncYard):
    dag = yard.submit({"title": "A big graph", "tasks": [_node(number) for number in range(NODES)]})
    yard.agents.register("coder")
    canvas = visit.main.locator(".graph-canvas")
    boxes = visit.main.locator(".graph-box")
    visit.open("/dags", "DAGs")
    visit.sees("A big graph")

    began = time.monotonic()
    with traced(visit) as opening:
        visit.open(f"/dags/{dag.id}", "A big graph")
        expect(boxes.first).to_be_visible()
    assert time.monotonic() - began <= SLOWEST_GRAPH * SLACK
    assert 0 < max(opening) <= LONGEST_TASK

    with traced(visit) as following:
        yard.claim("coder", start=True)
        expect(visit.main.locator(".graph-canvas:not(.far) .graph-box.tone-busy")).to_be_in_viewport()
    assert 0 < max(following) <= LONGEST_TASK

    with traced(visit) as folding:
        visit.button("Fold 1,000 sub-graphs").click()
        expect(boxes.filter(has_text="+ 9").first).to_be_attached()
        visit.button("Unfold all").click()
        expect(boxes.filter(has_text="+ 9")).to_have_count(0)
    assert 0 < max(folding) <= LONGEST_TASK

    with traced(visit) as drawing:
        visit.button("Draw all 10,000 tasks").click()
        expect(canvas.locator(".graph-drawing .graph-shapes")).to_be_attached()
        canvas.press("Home")
        expect(boxes.filter(has_text="Node 0").first).to_be_in_viewport()
    assert 0 < max(drawing) <= LONGEST_TASK

    with traced(visit) as listing:
        visit.open(f"/dags/{dag.id}?view=list", "A big graph")
        visit.sees("Node 0")  # before its rows are there, End leads to where they end now
        visit.main.locator(".dag-list").press("End")
        visit.sees(f"Node {NODES - 1}")
    assert 0 < max(listing) <= LONGEST_TASK


def _node(number: int) -> dict[str, object]:
    """One root, and behind it a thousand chains of ten."""
    before = [] if number == 0 else [str(number - 1 if (number - 1) % 10 else 0)]
    kind = ("plan", "code", "review", "test")[number % 4]
    return {"name": str(number), "type": kind, "title": f"Node {number}", "depends_on": before}
