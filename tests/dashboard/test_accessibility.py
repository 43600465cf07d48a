"""What axe finds wrong with a page: nothing, in either theme."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from scripts.build_dashboard import SOURCES
from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter
from tests.dashboard.scenes import Scene, given_a_scene

AXE = Path(SOURCES / "node_modules/axe-core/axe.min.js")
RUN = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.map(({ id, help, nodes }) => ({ id, help, where: nodes.slice(0, 3).map(each => each.html) }));
}"""


def paths(scene: Scene) -> list[str]:
    return [
        *("/", "/tasks", "/dags", "/dead-letters", "/approvals", "/agents", "/queues", "/schedules", "/spend"),
        *("/tasks/new", "/dags/new"),
        *("/audit", "/events", "/deliveries", "/waits", "/scores"),
        *("/board", "/board?lanes=agent", "/reports", "/reports?by=day&by=type"),
        *(f"/tasks/{scene.dead}", f"/tasks/{scene.running}", f"/dags/{scene.dag}"),
    ]


def faults(visit: Visit) -> list[dict[str, Any]]:
    # By the browser's own hand, which no policy of the page holds back.
    visit.page.evaluate(AXE.read_text() + "; undefined")
    return visit.page.evaluate(RUN)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_wrong_with_any_page(enter: Enter, yard: SyncYard, theme: str):
    scene = given_a_scene(yard)
    visit = enter(color_scheme=theme, reduced_motion="reduce")
    found: dict[str, list[dict[str, Any]]] = {}
    for path in paths(scene):
        visit.page.goto(visit.address + path)  # and not by a link: the heading is then of no page before
        visit.sees_heading("")
        expect(visit.page.locator("[aria-busy=true]")).to_have_count(0)
        if wrong := faults(visit):
            found[path] = wrong

    assert found == {}


def test_nothing_is_wrong_with_a_dialog_or_with_signing_in(enter: Enter, yard: SyncYard):
    scene = given_a_scene(yard)
    visit = enter(reduced_motion="reduce")
    visit.open(f"/tasks/{scene.dead}")
    visit.button("Edit and retry").click()
    dialog = faults(visit)
    visit.page.keyboard.press("Escape")
    visit.page.goto(f"{visit.address}/login")

    assert (dialog, faults(visit)) == ([], [])
