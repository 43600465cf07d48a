"""What axe finds wrong with a page: nothing, in either theme and either language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from scripts.build_dashboard import SOURCES
from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter
from tests.dashboard.scenes import Scene, given_a_scene

AXE = Path(SOURCES / "node_modules/axe-core/axe.min.js")
# The rules of axe's usual ones that look at colours: all that the other theme of the same page could break.
COLOURS: dict[str, Any] = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
SWITCHES = {"dark": "Use the dark theme", "light": "Use the light theme"}  # the buttons
RUN = """async (rules) => {
  let moving;  // colours change step by step, and those of an element inside another begin after it
  while ((moving = document.getAnimations()).length) await Promise.allSettled(moving.map(each => each.finished));
  const found = await axe.run(document, { resultTypes: ["violations"], ...rules });
  return found.violations.map(({ id, help, nodes }) => ({ id, help, where: nodes.slice(0, 3).map(each => each.html) }));
}"""


def paths(scene: Scene) -> list[str]:
    """Every page. No two that follow each other have the same heading."""
    return [
        *("/", "/tasks", "/dags", "/dead-letters", "/approvals", "/agents", "/queues", "/schedules", "/spend"),
        *("/tasks/new", "/dags/new"),
        *("/audit", "/events", "/deliveries", "/waits", "/scores", "/batches"),
        *("/board", "/reports", "/board?lanes=agent", "/reports?by=day&by=type"),
        *(f"/tasks/{scene.dead}", f"/tasks/{scene.running}", f"/dags/{scene.dag}"),
    ]


def faults(visit: Visit, **rules: object) -> list[dict[str, Any]]:
    if not visit.page.evaluate("'axe' in window"):
        # By the browser's own hand, which no policy of the page holds back.
        visit.page.evaluate(AXE.read_text() + "; undefined")
    return visit.page.evaluate(RUN, rules)


def walked(visit: Visit, scene: Scene) -> Iterator[str]:
    """Every page, one after the other, as links lead there: to load each by its address is most of the work."""
    heading, before = visit.main.get_by_role("heading", level=1), ""
    for path in paths(scene):
        if before:
            visit.follow(path)
            expect(heading).not_to_have_text(before)
        else:
            visit.open(path)
        visit.sees_heading("")
        expect(visit.page.locator("[aria-busy=true], .skeleton")).to_have_count(0)
        before = heading.inner_text()
        yield path


def test_nothing_is_wrong_with_any_page_in_either_theme(enter: Enter, yard: SyncYard):
    scene = given_a_scene(yard)
    visit = enter(color_scheme="dark")
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    theme, other = "dark", "light"
    for path in walked(visit, scene):
        expect(visit.page.locator("html")).to_have_attribute("data-theme", theme)
        found[path, theme] = faults(visit)
        visit.page.get_by_role("button", name=SWITCHES[other]).click()
        expect(visit.page.locator("html")).to_have_attribute("data-theme", other)
        found[path, other] = faults(visit, runOnly=COLOURS)
        theme, other = other, theme

    assert {place: wrong for place, wrong in found.items() if wrong} == {}


def test_nothing_is_wrong_with_any_german_page(enter: Enter, yard: SyncYard):
    scene = given_a_scene(yard)
    visit = enter(locale="de")
    others = {rule: {"enabled": False} for rule in COLOURS["values"]}  # which no language changes
    found = {path: faults(visit, rules=others) for path in walked(visit, scene)}

    expect(visit.page.locator("html")).to_have_attribute("lang", "de")
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_nothing_is_wrong_with_a_dialog_or_with_signing_in(enter: Enter, yard: SyncYard):
    scene = given_a_scene(yard)
    visit = enter()
    visit.open(f"/tasks/{scene.dead}")
    visit.button("Edit and retry").click()
    dialog = faults(visit)
    visit.page.keyboard.press("Escape")
    visit.page.goto(f"{visit.address}/login")

    assert (dialog, faults(visit)) == ([], [])
