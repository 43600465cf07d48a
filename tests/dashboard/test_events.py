"""The tail of the log: live, narrowed down, stopped, and gone on with."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit


def lines(visit: Visit, text: str) -> Locator:
    return visit.main.get_by_role("list", name="Events").get_by_role("listitem").filter(has_text=text)


def test_events_come_by_themselves_and_say_all_they_know(visit: Visit, yard: SyncYard):
    yard.enqueue("code", title="Before")
    visit.open("/events", "Events")
    expect(lines(visit, "task.created")).to_have_count(1)
    visit.sees("live")

    yard.queues.pause("gpu\u202e", by="human:ada")
    expect(lines(visit, "queue.paused")).to_contain_text("gpu\\u202e")
    lines(visit, "queue.paused").get_by_role("button").click()
    expect(lines(visit, "queue.paused").get_by_role("region")).to_contain_text('"by": "human:ada"')


def test_what_came_while_the_tail_was_stopped_is_read_when_it_goes_on(visit: Visit, yard: SyncYard):
    visit.open("/events?event=queue.*", "Events")
    visit.sees("Nothing has happened yet")
    yard.queues.pause("first")
    expect(lines(visit, "first")).to_have_count(1)
    visit.button("Stop").click()
    visit.sees("stopped")
    yard.enqueue("code")
    yard.queues.pause("second")
    yard.queues.pause("third")
    visit.page.keyboard.press(".")

    expect(lines(visit, "queue.paused")).to_have_count(3)
    expect(lines(visit, "task.created")).to_have_count(0)
    expect(lines(visit, "").first).to_contain_text("third")


def test_a_filter_of_the_address_is_the_filter_of_the_command(visit: Visit, yard: SyncYard):
    yard.enqueue("code")
    yard.enqueue("write")
    visit.open("/events", "Events")
    expect(lines(visit, "task.created")).to_have_count(2)
    field = visit.main.get_by_label("Type of task")
    field.fill("write")
    field.press("Enter")

    expect(lines(visit, "task.created")).to_have_count(1)
    visit.button("Newest first as a command").click()
    visit.sees("taskyard events --follow --type write")
