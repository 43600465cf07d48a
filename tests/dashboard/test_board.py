"""The agent board: cards in columns and lanes, as they move in the yard and as somebody moves them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Enter
from tests.dashboard.scenes import given_a_scene


def column(visit: Visit, name: str) -> Locator:
    return visit.main.get_by_role("list", name=name, exact=True)


def names(visit: Visit, name: str) -> Locator:
    return column(visit, name).locator(".board-card-name")


def given_ready(yard: SyncYard, *priorities: int, **fields: Any) -> list[str]:
    titles = "ABCDEFGH"
    return [
        yard.enqueue("code", title=f"Card {titles[index]}", priority=priority, **fields).id
        for index, priority in enumerate(priorities)
    ]


def drag(visit: Visit, card: Locator, to: Locator, *, below: bool = False) -> None:
    """By a mouse, in steps as a hand does it, on the upper or the lower half of another card."""
    start, end = card.bounding_box(), to.bounding_box()
    assert start is not None
    assert end is not None
    mouse = visit.page.mouse
    mouse.move(start["x"] + 20, start["y"] + start["height"] - 4)
    mouse.down()
    mouse.move(end["x"] + 22, end["y"] + end["height"] * (0.8 if below else 0.2), steps=6)
    mouse.up()


def test_every_task_is_a_card_in_the_column_of_its_state(visit: Visit, yard: SyncYard):
    given_a_scene(yard)
    visit.open("/board", "Board")

    expect(names(visit, "Running")).to_have_text(["Running one"])
    expect(names(visit, "Done")).to_have_text(["Done one"])
    expect(names(visit, "Dead letters")).to_have_text(["Dead one"])
    expect(names(visit, "Ready")).to_have_text(["Plan it", "Waiting one"])
    expect(column(visit, "Running")).to_contain_text("half way")
    expect(column(visit, "Running").get_by_role("progressbar")).to_have_attribute("aria-valuenow", "40")
    expect(column(visit, "Done")).to_contain_text("$0.50")
    visit.button("Board as a command").click()
    visit.sees("taskyard board")


def test_cards_move_by_themselves_with_the_yard(visit: Visit, yard: SyncYard):
    yard.agents.register("coder")
    given_ready(yard, 50)
    visit.open("/board", "Board")
    expect(names(visit, "Ready")).to_have_text(["Card A"])

    [held] = yard.claim("coder", start=True)
    expect(names(visit, "Running")).to_have_text(["Card A"])
    expect(names(visit, "Ready")).to_have_count(0)
    yard.complete(held.id, held.lease, {})

    expect(names(visit, "Done")).to_have_text(["Card A"])


def test_a_card_that_is_dragged_gets_a_priority_between_its_neighbours(visit: Visit, yard: SyncYard):
    *_, last = given_ready(yard, 10, 30, 80)
    visit.open("/board", "Board")
    cards = column(visit, "Ready").locator(".board-card")
    expect(cards).to_have_count(3)

    drag(visit, cards.nth(2), cards.nth(1))

    expect(names(visit, "Ready")).to_have_text(["Card A", "Card C", "Card B"])
    expect(visit.page.locator(".toast")).to_contain_text(f"taskyard priority {last} 20")
    assert yard.get(last).priority == 20


def test_a_card_between_equals_goes_past_them_and_the_page_says_so(visit: Visit, yard: SyncYard):
    *_, last = given_ready(yard, 50, 50, 50)
    visit.open("/board", "Board")
    cards = column(visit, "Ready").locator(".board-card")
    expect(cards).to_have_count(3)

    drag(visit, cards.nth(2), cards.nth(1))

    expect(names(visit, "Ready")).to_have_text(["Card C", "Card A", "Card B"])
    expect(visit.page.locator(".toast")).to_contain_text("it goes past its equals")
    assert yard.get(last).priority == 49


def test_a_card_that_is_dropped_where_it_cannot_go_goes_back_and_hears_why(visit: Visit, yard: SyncYard):
    scene = given_a_scene(yard)
    visit.open("/board", "Board")
    card = column(visit, "Ready").locator(".board-card").first
    expect(card).to_contain_text("Plan it")

    drag(visit, card, column(visit, "Done").locator(".board-card").first)

    expect(visit.page.locator(".toast.tone-bad")).to_contain_text("goes to another column when its state changes")
    expect(names(visit, "Ready")).to_have_text(["Plan it", "Waiting one"])
    assert yard.get(scene.first).priority == 50


def test_a_card_is_moved_by_keys(visit: Visit, yard: SyncYard):
    first, *_ = given_ready(yard, 10, 30, 80)
    visit.open("/board", "Board")
    expect(names(visit, "Ready")).to_have_count(3)
    press = visit.page.keyboard.press

    press("j")
    expect(names(visit, "Ready").first).to_be_focused()
    press("m")
    status = visit.page.get_by_role("status").filter(has_text="Picked up, 1 of 3")
    expect(status).to_be_attached()
    press("ArrowRight")
    expect(visit.page.get_by_role("status").filter(has_text="when its state changes")).to_be_attached()
    press("ArrowDown")
    expect(visit.page.get_by_role("status").filter(has_text="2 of 3, priority")).to_be_attached()
    press("Escape")
    expect(names(visit, "Ready")).to_have_text(["Card A", "Card B", "Card C"])
    press("Enter")
    press("ArrowDown")
    press("Enter")

    expect(names(visit, "Ready")).to_have_text(["Card B", "Card A", "Card C"])
    # The page shows a move before the server has stored it.
    expect(visit.page.locator(".toast")).to_contain_text(f"taskyard priority {first}")
    assert 30 < yard.get(first).priority < 80


def test_lanes_and_filters_stand_in_the_address_and_are_saved(visit: Visit, yard: SyncYard):
    given_ready(yard, 50, subject="issue:1", tags=["x"])
    given_ready(yard, 50, 60, subject="issue:2")
    visit.open("/board", "Board")

    visit.button("Subject").click()
    expect(visit.page).to_have_url(re.compile("lanes=subject"))
    expect(names(visit, "Ready, issue:1")).to_have_count(1)
    expect(names(visit, "Ready, issue:2")).to_have_count(2)
    visit.main.get_by_text("Filter", exact=True).click()
    visit.main.get_by_label("Tag").fill("x")
    visit.main.get_by_label("Tag").press("Enter")
    expect(visit.page).to_have_url(re.compile("tag=x"))
    expect(names(visit, "Ready, issue:2")).to_have_count(0)
    visit.button("Save this view").click()
    visit.confirm("Save it", Name="Tagged")

    assert [(view.page, view.query) for view in yard.saved_views.list()] == [("board", "lanes=subject&tag=x")]


def test_a_card_cannot_change_its_lane(visit: Visit, yard: SyncYard):
    given_ready(yard, 50, subject="issue:1")
    given_ready(yard, 50, subject="issue:2")
    visit.open("/board?lanes=subject", "Board")
    card = column(visit, "Ready, issue:1").locator(".board-card")
    expect(card).to_have_count(1)

    drag(visit, card, column(visit, "Ready, issue:2").locator(".board-card"))

    expect(visit.page.locator(".toast.tone-bad")).to_contain_text("cannot give a task to another agent or subject")
    expect(names(visit, "Ready, issue:1")).to_have_count(1)


def test_who_may_only_look_moves_nothing(enter: Enter, yard: SyncYard):
    given_ready(yard, 50, 60)
    visit = enter("viewer")
    visit.open("/board", "Board")

    expect(names(visit, "Ready")).to_have_count(2)
    expect(visit.main.get_by_role("button", name="Move Card A")).to_have_count(0)
    visit.sees("You are signed in as viewer")


def test_thousands_of_tasks_are_counted_and_the_first_are_shown(visit: Visit, yard: SyncYard):
    yard.enqueue_many([{"type": "code", "title": f"Task {number}"} for number in range(1000)])
    yard.enqueue_many([{"type": "code", "title": f"Task {number}", "priority": 20} for number in range(1000)])
    first = yard.enqueue("code", title="Last and most urgent", priority=1)
    visit.open("/board", "Board")

    expect(visit.main.get_by_role("heading", name="Ready 2,001")).to_be_visible()
    expect(names(visit, "Ready").first).to_have_text("Last and most urgent")
    expect(column(visit, "Ready").locator(".board-card")).to_have_count(20)
    visit.main.get_by_role("link", name="1,981 more").click()
    expect(visit.page).to_have_url(re.compile(r"/tasks\?status=ready"))
    visit.sees("Last and most urgent")
    assert first.status == "ready"


@pytest.mark.parametrize("query", ["", "?lanes=agent"])
def test_a_board_fits_a_telephone(enter: Enter, yard: SyncYard, query: str):
    given_a_scene(yard)
    visit = enter(viewport={"width": 390, "height": 780}, has_touch=True)
    visit.open(f"/board{query}", "Board")
    visit.sees("Running one")

    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    frame = visit.main.get_by_role("region", name="Board")
    assert frame.evaluate("each => each.scrollWidth > each.clientWidth")
