"""Agents as people know them: by type, with the money of the type and the workers that there are of it."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from taskyard.core.agent import Period
from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit

MANY = 200


def crew(visit: Visit, type_: str) -> Locator:
    return visit.main.get_by_role("region", name=type_, exact=True)


def test_the_workers_of_a_type_are_folded_under_it(visit: Visit, yard: SyncYard):
    for number in range(MANY):
        yard.agents.register(f"swarm-{number}", "swarm", max_concurrent_tasks=2)
    yard.agents.register("solo")
    visit.open("/agents", "Agents")

    expect(crew(visit, "swarm")).to_contain_text(f"{MANY} here")
    expect(crew(visit, "swarm")).to_contain_text(f"0 of {2 * MANY}")
    expect(visit.main.locator("article")).to_have_count(1)  # the one of the type that has one
    crew(visit, "swarm").get_by_text(f"{MANY} workers").click()
    expect(crew(visit, "swarm").locator("article")).to_have_count(MANY)


def test_each_worker_has_its_name_also_where_it_is_that_of_its_type(visit: Visit, yard: SyncYard):
    yard.agents.register("solo")
    yard.agents.register("coder-1", "coder")
    visit.open("/agents", "Agents")

    expect(crew(visit, "solo").get_by_role("heading")).to_have_text(["solo", "solo"])
    expect(crew(visit, "coder").get_by_role("heading")).to_have_text(["coder", "coder-1"])
    expect(crew(visit, "solo").get_by_role("article", name="solo")).to_be_visible()


def test_a_budget_is_set_on_the_type_with_its_period_and_says_who_set_it(visit: Visit, yard: SyncYard):
    yard.agents.register("coder-1", "coder", budget_usd=5)
    yard.agents.register("coder-2", "coder", budget_usd=5)
    visit.open("/agents", "Agents")
    expect(crew(visit, "coder")).to_contain_text("in all, as its code says")

    crew(visit, "coder").get_by_role("button", name="Budget").click()
    visit.dialog.get_by_role("combobox").select_option("each day (UTC)")
    visit.confirm("Set it", All_its_workers_together="12")

    expect(crew(visit, "coder")).to_contain_text("$12.00")
    expect(crew(visit, "coder")).to_contain_text("each day (UTC), set by an operator")
    assert [(view.budget, view.budget_per) for view in yard.agents.list()] == [(12_000_000, Period.DAY)] * 2
    crew(visit, "coder").get_by_role("button", name="Take back").click()
    visit.confirm("Take back")
    expect(crew(visit, "coder")).to_contain_text("as its code says")


def test_the_bar_of_a_budget_is_of_what_is_left(visit: Visit, yard: SyncYard):
    yard.agents.register("coder", budget_usd=5)
    yard.enqueue("code")
    (held,) = yard.claim("coder", start=True)
    yard.complete(held.id, held.lease, {}, cost_usd=1)
    visit.open("/agents", "Agents")

    bar = crew(visit, "coder").get_by_role("meter", name="Left of the budget")

    expect(bar).to_have_attribute("aria-valuenow", "4")
    filled, whole = bar.locator("span").bounding_box(), bar.bounding_box()
    assert filled is not None
    assert whole is not None
    assert round(filled["width"] / whole["width"], 1) == 0.8


def test_the_budget_of_a_type_is_among_the_caps(visit: Visit, yard: SyncYard):
    yard.agents.register("coder", budget_usd=5, budget_per="day")
    visit.open("/spend", "Spend")

    visit.sees("agents, each day")
    expect(visit.main.get_by_role("meter", name="Used of type-day")).to_have_attribute("aria-valuemax", "5")
