"""Variants beside each other, with intervals; and rates of queues and agents."""

from __future__ import annotations

from playwright.sync_api import expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter, Place
from tests.dashboard.scenes import count_events
from tests.dashboard.test_hostile import MARK

VARIANTS = [{"name": "plain", "share": 3}, {"name": "careful", "prompt": "Check each fact. {prompt}"}]


def given_a_comparison(yard: SyncYard, type_: str = "summary") -> None:
    yard.variants.set(type_, VARIANTS)
    yard.agents.register("writer", max_concurrent_tasks=50)
    for number in range(16):
        yard.enqueue(type_, variant=("plain", "careful")[number % 2])
        (held,) = yard.claim("writer", start=True)
        yard.complete(held.id, held.lease, {}, cost_usd=f"0.0{1 + number % 2}")
        yard.scores.add(held.id, "style", 0.3 + 0.4 * (number % 2) + number / 100, by="human:ann")


def test_the_variants_of_a_type_are_compared_with_intervals(visit: Visit, yard: SyncYard):
    given_a_comparison(yard)
    visit.open("/scores", "Scores and variants")

    table = visit.main.get_by_role("table").first
    expect(table.get_by_role("row").filter(has_text="plain")).to_contain_text("100% (67.6% to 100%)")
    expect(visit.main.locator("figure.intervals")).to_have_count(3)
    expect(visit.main.locator("figure.intervals").filter(has_text="style")).to_contain_text("careful")
    differing = visit.main.get_by_role("row").filter(has_text="style")
    expect(differing).to_contain_text("more than chance: higher")


def test_variants_are_set_with_the_command_that_does_the_same(visit: Visit, yard: SyncYard):
    given_a_comparison(yard)
    visit.open("/scores", "Scores and variants")
    visit.sees("careful")

    visit.button("Set variants").click()
    visit.dialog.get_by_label("Variants", exact=True).fill("no list")
    expect(visit.dialog).to_contain_text("This is no JSON list of objects.")
    visit.dialog.get_by_label("Variants", exact=True).fill('[{"name": "only"}]')
    expect(visit.dialog).to_contain_text("taskyard variants set summary")
    visit.confirm("Set them")

    (stored,) = yard.variants.list()
    assert [each.name for each in stored.variants] == ["only"]


def test_queues_and_agents_show_what_they_did_lately(enter: Enter, place: Place, yard: SyncYard):
    given_a_comparison(yard)
    count_events(place.url, lambda: yard.budgets.report(days=1).by_type)
    visit = enter()
    visit.open("/queues", "Queues")
    words = "16 tasks completed and 0 attempts failed in the last hour"

    expect(visit.main.get_by_role("img", name=words)).to_be_visible()
    visit.open("/agents", "Agents")
    expect(visit.main.get_by_role("region", name="writer").get_by_role("img", name=words)).to_be_visible()


def test_names_of_variants_and_scores_are_text(visit: Visit, yard: SyncYard):
    yard.variants.set("code", [{"name": f"a {MARK}"}])
    task = yard.enqueue("code")
    yard.scores.add(task.id, f"s {MARK}", 1, by="human:ann")
    visit.open("/scores", "Scores and variants")

    expect(visit.main.locator("figure.intervals").filter(has_text="a x\\u202ey")).to_have_count(3)
