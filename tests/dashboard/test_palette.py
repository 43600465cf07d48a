"""The command palette, settings, twins of panels, and how much script is loaded first."""

from __future__ import annotations

import gzip
import re
import shlex

from playwright.sync_api import Response, expect

from taskyard.cli.main import COMMANDS, GROUPS
from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter
from tests.dashboard.scenes import given_a_scene

MOST_SCRIPT = 300_000  # bytes, compressed, of the first page
MOST_FILES = 9  # of script: each is a request that the browser and the server work for


def choose(visit: Visit, *words: str) -> None:
    visit.page.keyboard.press("Control+k")
    box = visit.dialog.get_by_role("combobox")
    expect(box).to_be_focused()
    box.fill(" ".join(words))


def test_the_palette_goes_to_pages_tasks_and_actions(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open("/", "Overview")
    choose(visit, "go", "dead")
    visit.page.keyboard.press("Enter")
    visit.sees_heading("Dead letters")
    choose(visit, "Done one")
    visit.dialog.get_by_role("option", name=re.compile("Done one")).click()
    visit.sees_heading("Done one")
    choose(visit, scene.dead)
    expect(visit.dialog.get_by_role("option", name=re.compile("Dead one"))).to_be_visible()
    visit.page.keyboard.press("Enter")
    visit.sees_heading("Dead one")
    choose(visit, "new", "dag")
    visit.page.keyboard.press("Enter")
    visit.sees_heading("New DAG")
    choose(visit, "dark")
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_zone_and_a_language_are_chosen_and_kept(enter: Enter, yard: SyncYard):
    scene = given_a_scene(yard)
    visit = enter(locale="en-US", timezone_id="America/New_York")
    visit.open(f"/tasks/{scene.done}", "Done one")
    choose(visit, "settings")
    visit.page.keyboard.press("Enter")
    visit.dialog.get_by_label("Time zone").fill("Nowhere/Else")
    expect(visit.dialog.get_by_text("There is no such zone.")).to_be_visible()
    visit.dialog.get_by_label("Time zone").fill("Asia/Kathmandu")
    visit.dialog.get_by_label("Dates and numbers").select_option("de-DE")
    visit.dialog.get_by_role("button", name="Use these").click()
    visit.sees_heading("Done one")

    expect(visit.main.locator("time[title*='GMT+5:45']").first).to_be_attached()
    visit.sees("0,50")


def test_every_panel_shows_a_command_and_a_call_that_answer(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    pages = {
        "/tasks?status=ready&sort=oldest": "Tasks",
        "/dags?q=graph": "DAGs",
        "/schedules": "Schedules and triggers",
    }
    for path, heading in pages.items():
        visit.open(path, heading)
        expect(visit.page.locator("[aria-busy=true], .skeleton")).to_have_count(
            0
        )  # a panel may be drawn anew until then
        twins = visit.main.get_by_role("button", name=re.compile("as a command$"))
        expect(twins.first).to_be_visible()
        for twin in twins.all():
            twin.click()
            shown = visit.main.locator(".twin-panel:visible code")
            expect(shown).to_have_count(2)
            command, call = (shlex.split(text) for text in shown.all_inner_texts())
            twin.click()

            assert command[0] == "taskyard"
            assert command[1] in COMMANDS.keys() | GROUPS.keys()
            assert visit.page.request.get(call[-1]).ok


def test_the_first_page_loads_less_script_than_it_may(enter_anew: Enter):
    visit = enter_anew()
    scripts: dict[str, bytes] = {}

    def note(response: Response) -> None:
        if response.request.resource_type == "script":
            scripts[response.url] = response.body()

    visit.listen("response", note)
    visit.open("/", "Overview")
    visit.page.wait_for_load_state("networkidle")

    assert 0 < sum(len(gzip.compress(body)) for body in scripts.values()) <= MOST_SCRIPT
    assert len(scripts) <= MOST_FILES
