"""The page speaks the reader's language, and no language, time zone or number format of a browser breaks it."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Browser, expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit, log_in, started, visiting
from tests.dashboard.conftest import Enter, Place
from tests.dashboard.scenes import Scene, given_a_scene
from tests.dashboard.survey import Found

BROKEN = re.compile("This page broke|Auf dieser Seite ist ein Fehler")
NAMES_ITSELF = """
for (const [name, value] of [["language", %s], ["languages", [%s]]])
  Object.defineProperty(navigator, name, { value, configurable: true });
"""


@pytest.mark.parametrize("language", ["en-US@posix", "C", "", "x-klingon", "de-CH"])
def test_any_text_may_be_the_language_of_the_browser(enter_anew: Enter, yard: SyncYard, language: str):
    scene = given_a_scene(yard)
    visit = enter_anew()
    text = json.dumps(language)
    visit.page.context.add_init_script(NAMES_ITSELF % (text, text))

    _every_kind_of_page_is_shown(visit, scene, GERMAN if language == "de-CH" else ENGLISH)


@pytest.mark.parametrize(
    ("language", "zone"), [("ar-EG", "Asia/Kathmandu"), ("de-CH", "Pacific/Apia"), ("hi-u-nu-deva", "Etc/GMT+12")]
)
def test_pages_are_shown_in_every_time_zone_and_number_format(enter: Enter, yard: SyncYard, language: str, zone: str):
    scene = given_a_scene(yard)

    headings = GERMAN if language == "de-CH" else ENGLISH
    _every_kind_of_page_is_shown(enter(locale=language, timezone_id=zone), scene, headings)


def test_pages_are_shown_where_the_machine_has_no_time_zone(browser: Browser, place: Place, yard: SyncYard):
    scene = given_a_scene(yard)
    strange = started(browser.browser_type, TZ="Garbage/Zone", LC_ALL="xx_YY.UTF-8")
    try:
        with visiting(strange, place.address) as visit:
            log_in(visit, yard.tokens.create("olga", "admin").text)
            _every_kind_of_page_is_shown(visit, scene)
    finally:
        strange.close()


def test_a_german_browser_shows_german_words_and_says_so(enter: Enter, yard: SyncYard):
    given_a_scene(yard)
    visit = enter(locale="de-AT")
    visit.open("/tasks", "Aufgaben")

    expect(visit.page.locator("html")).to_have_attribute("lang", "de")
    expect(visit.main.get_by_role("link", name="Neue Aufgabe")).to_be_visible()
    # What many pages share is said in German too: it must not be loaded before the words are.
    expect(visit.main.get_by_role("gridcell", name="bereit").first).to_be_visible()
    assert visit.page.title() == "Aufgaben · Taskyard"


def test_a_language_is_chosen_in_the_settings_and_kept(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/spend", "Spend")
    _choose_language(visit, "Settings", "Language", "Deutsch", "Use these")
    visit.sees_heading("Ausgaben")
    visit.page.reload()
    visit.sees_heading("Ausgaben")
    expect(visit.main.get_by_text("0,60 $").first).to_be_visible()

    _choose_language(visit, "Einstellungen", "Sprache", "English", "Übernehmen")
    visit.sees_heading("Spend")
    expect(visit.page.locator("html")).to_have_attribute("lang", "en")


def test_who_reads_english_loads_no_other_language(enter: Enter):
    loaded: list[str] = []
    for language in ("en-US", "de-DE"):
        visit = enter(locale=language)
        visit.listen("request", lambda request: loaded.append(request.url))
        visit.open("/approvals")
        visit.page.wait_for_load_state("networkidle")
        found = [url for url in loaded if "/german-" in url]
        assert len(found) == (1 if language == "de-DE" else 0)


def test_a_page_without_its_words_is_in_english_and_not_broken(enter: Enter, yard: SyncYard):
    given_a_scene(yard)
    visit = enter(locale="de-DE")
    visit.page.route("**/german-*.js", lambda route: route.abort())

    visit.open("/tasks", "Tasks")

    expect(visit.page.locator("html")).to_have_attribute("lang", "en")


ENGLISH_WORDS = re.compile(
    r"\b(the|is|are|were|of|and|with|not|no|this|what|which|when|while|it|its|them)\b", re.IGNORECASE
)
SAID_BY_OTHERS = re.compile(
    r"Dead one|Done one|Asking one|Running one|Waiting one|Plan it|Build it|Sell it|A graph|Fix the bug|Write it|"
    r"Ship it|Take your time|it fell over|half way|shortest way|may I|needle|Taskyard"
)


def test_no_english_sentence_is_left_on_a_german_page(german_pages: dict[str, Found]):
    left: dict[str, set[str]] = {}
    for path, page in german_pages.items():
        found = {text for text in page.texts if ENGLISH_WORDS.search(SAID_BY_OTHERS.sub("", text))}
        if found:
            left[path] = found

    assert left == {}
    assert all(page.texts for page in german_pages.values())


def _choose_language(visit: Visit, settings: str, field: str, language: str, confirm: str) -> None:
    visit.page.get_by_role("button", name=settings).click()
    visit.dialog.get_by_label(field, exact=True).select_option(label=language)
    visit.dialog.get_by_role("button", name=confirm).click()


ENGLISH = {"/": "Overview", "/spend": "Spend", "/tasks": "Tasks", "/schedules": "Schedules"}
GERMAN = {"/": "Übersicht", "/spend": "Ausgaben", "/tasks": "Aufgaben", "/schedules": "Zeitpläne"}


def _every_kind_of_page_is_shown(visit: Visit, scene: Scene, headings: dict[str, str] = ENGLISH) -> None:
    """Those with charts, with money, with times and with a graph."""
    named = {f"/tasks/{scene.done}": "Done one", f"/dags/{scene.dag}": "A graph"}
    for path, heading in (headings | named).items():
        visit.open(path, heading)
        expect(visit.page.get_by_text(BROKEN)).to_have_count(0)
