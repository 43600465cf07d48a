"""The page of provider batches: what was gathered and sent, and what is still to come."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from taskyard.features.provider_batches.rules import TYPE
from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit


def given_a_batch(yard: SyncYard, group: str, calls: int) -> str:
    """Tasks whose calls wait in one batch, which nobody has sent; its id."""
    yard.agents.register("reader-1", "reader", types=["read"], max_concurrent_tasks=20)
    yard.agents.register("sender-1", "reader", types=[TYPE])
    for number in range(calls):
        yard.enqueue("read", title=f"Page {number}", service="batch")
        (held,) = yard.claim("reader-1", start=True)
        yard.provider_batches.join(
            held.id, held.lease, "call", provider="openai", group=group, request={"model": group}, gather_sec=0
        )
    return yard.provider_batches.list()[0].id


def given_a_sent_batch(yard: SyncYard, group: str, calls: int) -> str:
    batch = given_a_batch(yard, group, calls)
    (held,) = yard.claim("sender-1", start=True)
    assert held.id == batch
    yard.provider_batches.sent(
        held.id, held.lease, f"{held.id}.1", provider_id="batch_abc123", calls=calls, expires_at="2099-01-01T00:00:00Z"
    )
    return batch


def row(visit: Visit, text: str) -> Locator:
    return visit.main.get_by_role("row").filter(has_text=text)


def test_batches_are_listed_with_what_was_sent_and_what_is_outstanding(visit: Visit, yard: SyncYard):
    sent = given_a_sent_batch(yard, "gpt-4o", 3)
    visit.open("/batches", "Batches")

    found = row(visit, "batch_abc123")
    expect(found).to_contain_text("gpt-4oopenai, by reader")
    expect(found.get_by_role("cell").nth(3)).to_have_text("3")
    expect(found.get_by_role("cell").nth(4)).to_have_text("3")
    expect(found).to_contain_text("expires in")

    given_a_batch(yard, "gpt-4o-mini", 2)
    expect(row(visit, "gpt-4o-mini")).to_contain_text("not sent yet")  # the page hears of it

    row(visit, "batch_abc123").get_by_role("link").click()
    expect(visit.page).to_have_url(f"{visit.address}/tasks/{sent}")


def test_a_yard_without_batches_says_how_one_begins(visit: Visit):
    visit.open("/batches", "Batches")
    visit.sees("taskyard enqueue TYPE --service batch")
