"""Everything can be done with the keyboard alone."""

from __future__ import annotations

from playwright.sync_api import expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.scenes import given_a_scene

# In the dialog, or with the browser itself, which comes after the last stop.
NOT_BEHIND_IT = "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"


def reach(visit: Visit, name: str, *, most: int = 60) -> None:
    """Press Tab until what is so called has the focus."""
    for _ in range(most):
        visit.page.keyboard.press("Tab")
        focused = visit.page.evaluate(
            "(document.activeElement.getAttribute('aria-label') || document.activeElement.textContent || '').trim()"
        )
        if focused.startswith(name):
            return
    raise AssertionError(f"{name} is not reached with Tab")


def test_a_dead_letter_is_decided_without_a_mouse(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open("/", "Overview")

    reach(visit, "Dead letters")
    visit.page.keyboard.press("Enter")
    visit.sees_heading("Dead letters")
    visit.sees("it fell over")
    reach(visit, "Retry")
    visit.page.keyboard.press("Enter")
    expect(visit.dialog).to_be_visible()
    reach(visit, "Retry", most=10)
    visit.page.keyboard.press("Enter")
    expect(visit.dialog).to_have_count(0)

    assert yard.get(scene.dead).status == "ready"


def test_a_dialog_keeps_the_focus_and_gives_it_back(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/agents", "Agents")
    visit.button("Drain").focus()
    visit.page.keyboard.press("Enter")
    expect(visit.dialog).to_be_visible()

    for _ in range(12):
        visit.page.keyboard.press("Tab")
        assert visit.page.evaluate(NOT_BEHIND_IT)
    visit.page.keyboard.press("Escape")

    expect(visit.dialog).to_have_count(0)
    expect(visit.button("Drain")).to_be_focused()


def test_the_list_is_walked_and_a_task_opened(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/tasks", "Tasks")
    visit.sees("Waiting one")

    for key in ("j", "j", "o"):
        visit.page.keyboard.press(key)

    expect(visit.main.get_by_role("heading", name="Facts")).to_be_visible()
    for key in ("g", "q"):
        visit.page.keyboard.press(key)
    visit.sees_heading("Queues")


def test_the_first_stop_leads_past_the_navigation(visit: Visit):
    visit.open("/", "Overview")

    visit.page.keyboard.press("Tab")

    expect(visit.page.get_by_role("link", name="Skip to the page")).to_be_focused()
