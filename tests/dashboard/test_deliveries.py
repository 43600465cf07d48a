"""What goes out and comes in: what was given up is looked at, sent again, or let go."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import Locator, expect

import taskyard
from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.notice import Notice
from taskyard.features.notifications.rules import PARKED, Notification
from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit
from tests.dashboard.conftest import Place


async def give_up(place: Place, workspace: str, id_: str) -> None:
    """A notification that was tried for a day, past the server."""
    async with taskyard.connect(place.url, workspace=workspace, sweeps=False) as yard:
        parked = Notification(
            id=id_,
            notifier="ops",
            notice=Notice.DEAD_LETTER,
            title=f"{id_} \u202edied",
            text="",
            task_id=None,
            dag_id=None,
            facts={"why": "crash"},
            at=yard.now(),
            tries=9,
            error="the target answered 500",
        )
        change = RecordChange(PARKED, workspace, id_, 0, parked.body())
        await yard.local.ledger.commit_set(ChangeSet(records=(change,), at=yard.now()))


def given_up(place: Place, yard: SyncYard, id_: str) -> None:
    with ThreadPoolExecutor(1) as beside:  # Playwright has a loop in this thread
        beside.submit(asyncio.run, give_up(place, yard.workspace, id_)).result()


def row(visit: Visit, text: str) -> Locator:
    return visit.main.get_by_role("listitem").filter(has_text=text)


def test_what_was_given_up_is_inspected_sent_again_or_let_go(visit: Visit, place: Place, yard: SyncYard):
    given_up(place, yard, "first")
    given_up(place, yard, "second")
    visit.open("/deliveries", "Deliveries")

    expect(row(visit, "first")).to_contain_text("9 tries")
    expect(row(visit, "first")).to_contain_text("the target answered 500")
    row(visit, "first").get_by_role("button", name="first \\u202edied").click()
    expect(row(visit, "first").get_by_role("region")).to_contain_text('"why": "crash"')
    row(visit, "second").get_by_role("button", name="Let go").click()
    visit.confirm("Let go")
    expect(row(visit, "dismissed")).to_have_count(1)
    row(visit, "first").get_by_role("button", name="Send again").click()
    visit.confirm("Send it")
    expect(row(visit, "resent")).to_contain_text("by human:olga")
    assert yard.notifications.deliveries(parked=True) == []


def test_what_came_to_a_hook_is_listed_with_what_it_made(visit: Visit, yard: SyncYard):
    yard.triggers.add("reviews", "webhook", settings={"scheme": "github"}, ready_made="json")
    made = yard.triggers.fire("reviews", {"body": {"type": "code", "title": "Made by a hook"}})
    visit.open("/deliveries", "Deliveries")

    expect(row(visit, "reviews")).to_contain_text(made.outcome.value)
