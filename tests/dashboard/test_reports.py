"""The report builder: asked by clicks, kept in the address, shown as a table and a chart, and exported."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter, Place
from tests.dashboard.scenes import count_events, given_a_scene


def test_a_report_is_asked_by_clicks_and_stands_in_the_address(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/reports", "Reports")
    expect(visit.main.get_by_role("cell", name="write", exact=True)).to_be_visible()

    visit.main.get_by_role("checkbox", name="type", exact=True).click()
    visit.main.get_by_role("checkbox", name="model", exact=True).click()
    expect(visit.page).to_have_url(re.compile("by=model"))
    expect(visit.main.get_by_role("columnheader", name="model")).to_be_visible()
    expect(visit.main.get_by_role("cell", name="opus", exact=True)).to_be_visible()
    expect(visit.main.locator("tbody").last).to_contain_text("$0.60")
    visit.main.get_by_role("checkbox", name="Wait p90").click()
    expect(visit.main.get_by_role("columnheader", name="Wait p90")).to_be_visible()
    visit.page.reload()
    expect(visit.main.get_by_role("columnheader", name="Wait p90")).to_be_visible()
    visit.button("Reports as a command").click()
    visit.sees("taskyard report --by model")


def test_a_report_by_day_is_a_chart_over_time_and_filters_narrow_it_down(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/reports?by=day&by=type&measure=cost", "Reports")
    expect(visit.main.get_by_role("img", name="Cost, sum by day")).to_be_visible()
    expect(visit.main.locator("tbody").last).to_contain_text("$0.50")

    visit.main.get_by_label("Type", exact=True).fill("code")
    visit.main.get_by_label("Type", exact=True).press("Enter")
    expect(visit.page).to_have_url(re.compile("type=code"))

    expect(visit.main.locator("tbody").last).not_to_contain_text("$0.50")
    expect(visit.main.locator("tbody").last).to_contain_text("$0.10")


def test_stored_days_are_read_and_refuse_what_they_do_not_store(visit: Visit, place: Place, yard: SyncYard):
    given_a_scene(yard)
    count_events(place.url, lambda: _models_of_stored_days(yard) >= {"opus"})
    visit.open("/reports?by=model", "Reports")
    visit.button("Stored days").click()
    expect(visit.page).to_have_url(re.compile("source=days"))
    expect(visit.main.get_by_role("cell", name="opus", exact=True)).to_be_visible()
    expect(visit.main.locator("tbody").last).to_contain_text("$0.60")

    visit.main.get_by_role("checkbox", name="tag", exact=True).click()

    visit.sees("the figures of days do not have it; ask for source attempts")


def _models_of_stored_days(yard: SyncYard) -> set[str | None]:
    return {row.group[0] for row in yard.reports.make(by="model", measures="cost", source="days").rows}


def test_a_report_is_exported_and_saved_for_everybody(enter: Enter, yard: SyncYard, tmp_path: Path):
    given_a_scene(yard)
    visit = enter()
    visit.open("/reports?by=model&measure=cost", "Reports")
    expect(visit.main.get_by_role("cell", name="opus", exact=True)).to_be_visible()

    for name in ("CSV", "JSON"):
        with visit.page.expect_download() as download:
            visit.button(name).click()
        download.value.save_as(tmp_path / name)
    visit.button("Save this view").click()
    visit.confirm("Save it", Name="By model")

    assert (tmp_path / "CSV").read_text() == "model,cost\nopus,0.6\n,0\n"
    assert json.loads((tmp_path / "JSON").read_text())["total"]["values"] == [0.6]
    assert [(view.page, view.query) for view in yard.saved_views.list()] == [("reports", "by=model&measure=cost")]


def test_a_report_fits_a_telephone(enter: Enter, yard: SyncYard):
    given_a_scene(yard)
    visit = enter(viewport={"width": 390, "height": 780})
    visit.open("/reports?by=day&by=type", "Reports")
    expect(visit.main.locator("tbody tr").first).to_be_visible()

    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
