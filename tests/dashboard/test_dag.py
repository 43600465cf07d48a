"""A DAG's page: what decides how long it takes, what runs, and sub-graphs that are folded."""

from __future__ import annotations

from playwright.sync_api import expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit

LONG = 40


def test_the_critical_path_says_what_it_took_and_cost(visit: Visit, yard: SyncYard):
    tasks = [{"name": "a", "type": "code", "title": "First"}, {"name": "b", "type": "code", "depends_on": ["a"]}]
    dag = yard.submit({"title": "Costly", "tasks": tasks})
    yard.agents.register("coder")
    (held,) = yard.claim("coder", start=True)
    yard.complete(held.id, held.lease, {}, cost_usd="0.25")
    visit.open(f"/dags/{dag.id}", "Costly")

    summary = visit.main.locator(".dag-figures")
    expect(summary).to_contain_text("2 tasks, $0.25")


def test_the_gantt_chart_has_a_bar_for_what_each_task_worked(visit: Visit, yard: SyncYard):
    tasks = [
        {"name": "a", "type": "code", "title": "First"},
        {"name": "b", "type": "code", "title": "Second", "depends_on": ["a"]},
        {"name": "c", "type": "code", "title": "Third", "depends_on": ["b"]},
    ]
    dag = yard.submit({"title": "Timed", "tasks": tasks})
    yard.agents.register("coder")
    (held,) = yard.claim("coder", start=True)
    yard.complete(held.id, held.lease, {})
    yard.claim("coder", start=True)
    visit.open(f"/dags/{dag.id}?view=gantt", "Timed")

    chart = visit.main.get_by_role("region", name="Tasks over time")
    first, second, third = (
        chart.get_by_role("button", name=name).locator(".gantt-bar:not(.waiting)")
        for name in ("First", "Second", "Third")
    )
    expect(first).to_have_count(1)
    expect(second).to_have_count(1)
    expect(third).to_have_count(0)
    begun = [bar.evaluate("bar => parseFloat(bar.style.left)") for bar in (first, second)]
    assert begun == sorted(set(begun))


def test_what_a_task_spawned_and_long_chains_are_folded_and_unfolded(visit: Visit, yard: SyncYard):
    chain = [
        {
            "name": str(each),
            "type": f"kind {each}",
            "title": f"Link {each}",
            "depends_on": [str(each - 1)] if each else [],
        }
        for each in range(5)
    ]
    dag = yard.submit({"title": "Foldable", "tasks": [*chain, {"name": "plan", "type": "plan", "title": "Planner"}]})
    yard.agents.register("planner", types=["plan"])
    (held,) = yard.claim("planner", start=True)
    yard.tasks.spawn(held.id, held.lease, [{"type": "ask", "title": "Spawned one"}], name="ask")
    visit.open(f"/dags/{dag.id}", "Foldable")
    visit.sees("Link 4")

    visit.button("Fold 2 sub-graphs").click()
    expect(visit.main.locator(".graph-box")).to_have_count(2)
    expect(visit.main.locator(".graph-box").filter(has_text="Planner")).to_contain_text("+ 1")
    visit.main.locator(".graph-box").filter(has_text="Link 0").click()
    visit.sees("Link 4")
    visit.button("Unfold all").click()
    visit.sees("Spawned one")


def test_what_runs_is_kept_in_view_until_the_graph_is_moved(visit: Visit, yard: SyncYard):
    tasks = [
        {
            "name": str(each),
            "type": f"kind {each}",
            "title": f"Link {each}",
            "depends_on": [str(each - 1)] if each else [],
        }
        for each in range(LONG)
    ]
    dag = yard.submit({"title": "Long", "tasks": tasks})
    yard.agents.register("coder")
    visit.open(f"/dags/{dag.id}", "Long")
    follow = visit.button("Follow")
    expect(follow).to_have_attribute("aria-pressed", "true")

    (held,) = yard.claim("coder", start=True)
    first = visit.main.locator(".graph-canvas:not(.far) .graph-box").filter(has_text="Link 0")
    expect(first).to_be_in_viewport()
    yard.complete(held.id, held.lease, {})
    (held,) = yard.claim("coder", start=True)
    expect(visit.main.locator(".graph-box").filter(has_text="Link 1").first).to_be_in_viewport()

    visit.main.locator(".react-flow__pane").hover(position={"x": 30, "y": 30})
    visit.page.mouse.down()
    visit.page.mouse.move(400, 400, steps=5)
    visit.page.mouse.up()
    expect(follow).to_have_attribute("aria-pressed", "false")
