"""No language, time zone or number format of a browser breaks a page."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Browser, expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit, log_in, started, visiting
from tests.dashboard.conftest import Enter, Place
from tests.dashboard.scenes import Scene, given_a_scene

BROKEN = re.compile("This page broke")
NAMES_ITSELF = """
for (const [name, value] of [["language", %s], ["languages", [%s]]])
  Object.defineProperty(navigator, name, { value, configurable: true });
"""


@pytest.mark.parametrize("language", ["en-US@posix", "C", "", "x-klingon", "de-CH"])
def test_any_text_may_be_the_language_of_the_browser(enter: Enter, yard: SyncYard, language: str):
    scene = given_a_scene(yard)
    visit = enter()
    text = json.dumps(language)
    visit.page.context.add_init_script(NAMES_ITSELF % (text, text))

    _every_kind_of_page_is_shown(visit, scene)


@pytest.mark.parametrize(
    ("language", "zone"), [("ar-EG", "Asia/Kathmandu"), ("de-CH", "Pacific/Apia"), ("hi-u-nu-deva", "Etc/GMT+12")]
)
def test_pages_are_shown_in_every_time_zone_and_number_format(enter: Enter, yard: SyncYard, language: str, zone: str):
    scene = given_a_scene(yard)

    _every_kind_of_page_is_shown(enter(locale=language, timezone_id=zone), scene)


def test_pages_are_shown_where_the_machine_has_no_time_zone(browser: Browser, place: Place, yard: SyncYard):
    scene = given_a_scene(yard)
    strange = started(browser.browser_type, TZ="Garbage/Zone", LC_ALL="xx_YY.UTF-8")
    try:
        with visiting(strange, place.address) as visit:
            log_in(visit, yard.tokens.create("olga", "admin").text)
            _every_kind_of_page_is_shown(visit, scene)
    finally:
        strange.close()


def _every_kind_of_page_is_shown(visit: Visit, scene: Scene) -> None:
    """Those with charts, with money, with times and with a graph."""
    for path, heading in (
        ("/", "Overview"),
        ("/spend", "Spend"),
        ("/tasks", "Tasks"),
        (f"/tasks/{scene.done}", "Done one"),
        (f"/dags/{scene.dag}", "A graph"),
        ("/schedules", "Schedules"),
    ):
        visit.open(path, heading)
        expect(visit.page.get_by_text(BROKEN)).to_have_count(0)
