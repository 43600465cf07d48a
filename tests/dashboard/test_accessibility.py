"""What axe finds wrong with a page: nothing, in either theme and either language."""

from __future__ import annotations

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.scenes import given_a_scene
from tests.dashboard.survey import Found, faults

IN_STEPS = """[...document.querySelectorAll("*")].map((each) => getComputedStyle(each).transitionDuration)
  .filter((duration) => !/^0s(, 0s)*$/.test(duration))"""


def test_nothing_is_wrong_with_any_page_in_either_theme(english_pages: dict[str, Found]):
    wrong = {(path, theme): each for path, page in english_pages.items() for theme, each in page.faults.items() if each}

    assert wrong == {}
    assert all(page.faults.keys() == {"dark", "light"} for page in english_pages.values())


def test_nothing_is_wrong_with_any_german_page(german_pages: dict[str, Found]):
    assert {path: page.faults for path, page in german_pages.items() if any(page.faults.values())} == {}
    assert {page.language for page in german_pages.values()} == {"de"}


def test_nothing_is_wrong_with_a_dialog_or_with_signing_in(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open(f"/tasks/{scene.dead}")
    visit.button("Edit and retry").click()
    dialog = faults(visit)
    visit.page.keyboard.press("Escape")
    visit.page.goto(f"{visit.address}/login")

    assert (dialog, faults(visit)) == ([], [])


def test_nothing_changes_step_by_step_for_who_wants_less_motion(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/", "Overview")
    visit.sees("Running one")

    assert visit.page.evaluate(IN_STEPS) == []
