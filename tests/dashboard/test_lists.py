"""Lists are sorted, narrowed down and kept by the store; their addresses and saved views show the same to others."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter
from tests.dashboard.scenes import given_a_scene


def test_a_list_is_sorted_by_a_press_on_its_head(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/tasks", "Tasks")
    visit.sees("Waiting one")

    visit.main.get_by_role("columnheader", name="Cost").get_by_role("button").click()
    expect(visit.page).to_have_url(re.compile("sort=cost"))
    expect(visit.main.get_by_role("grid", name="Tasks, dearest first")).to_be_visible()
    expect(visit.main.locator(".tasks-row.task a").first).to_have_text("Done one")
    visit.main.get_by_label("Sorted by").select_option("oldest")

    expect(visit.main.locator(".tasks-row.task a").first).to_have_text("Dead one")


def test_a_list_is_narrowed_down_by_reason_and_time_with_suggestions(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/tasks", "Tasks")
    visit.button("Filter").click()
    field = visit.main.get_by_label("Failed for")
    field.press_sequentially("cra")
    expect(visit.main.locator("datalist option[value=crash]")).to_be_attached()
    field.fill("crash")
    field.press("Enter")

    expect(visit.page).to_have_url(re.compile("reason=crash"))
    visit.sees("Dead one")
    expect(visit.main.get_by_role("link", name="Done one")).to_have_count(0)
    visit.button("Last hour").click()
    expect(visit.page).to_have_url(re.compile("since="))
    visit.sees("Dead one")
    visit.main.get_by_label("until", exact=True).fill("2020-01-01T00:00")
    visit.sees("No task matches")


def test_columns_are_chosen_and_stand_in_the_address(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/tasks", "Tasks")
    visit.button("Filter").click()
    visit.main.get_by_role("checkbox", name="Queue").click()
    expect(visit.main.get_by_role("columnheader", name="Queue")).to_be_visible()
    visit.main.get_by_role("checkbox", name="Agent").click()

    expect(visit.main.get_by_role("columnheader", name="Queue")).to_be_visible()
    expect(visit.main.get_by_role("columnheader", name="Agent")).to_have_count(0)
    visit.page.reload()
    expect(visit.main.get_by_role("columnheader", name="Queue")).to_be_visible()


def test_a_view_is_saved_for_everybody_and_removed(enter: Enter, yard: SyncYard):
    given_a_scene(yard)
    mine, theirs = enter(), enter("viewer")
    mine.open("/tasks?status=dead_lettered&sort=oldest", "Tasks")
    mine.button("Save this view").click()
    mine.confirm("Save it", Name="What died")

    theirs.open("/tasks", "Tasks")
    theirs.main.get_by_role("combobox", name="Saved view").select_option("What died")
    expect(theirs.page).to_have_url(re.compile("status=dead_lettered"))
    theirs.sees("Dead one")
    expect(theirs.main.get_by_role("link", name="Waiting one")).to_have_count(0)
    assert [view.name for view in yard.saved_views.list()] == ["What died"]
    mine.act("Remove the view What died", confirm="Remove")
    assert yard.saved_views.list() == []


def test_dags_are_filtered_by_the_server(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    cancelled = yard.submit({"title": "Given up", "tags": ["old"], "tasks": [{"type": "code"}]})
    yard.dags.cancel(cancelled.id)
    visit.open("/dags", "DAGs")
    visit.sees("A graph")

    visit.button("cancelled").click()
    expect(visit.main.get_by_role("link", name="A graph", exact=True)).to_have_count(0)
    visit.sees("Given up")
    visit.button("cancelled").click()
    visit.main.get_by_role("searchbox", name="Search titles and ids").fill("grap")

    expect(visit.main.get_by_role("link", name="Given up", exact=True)).to_have_count(0)
    visit.sees("A graph")
