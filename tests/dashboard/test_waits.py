"""What work waits for: throttles, breakers and providers, with countdowns and the way to end each."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from taskyard.sync import SyncYard
from tests.dashboard.browsing import Visit


def test_a_throttle_counts_down_and_is_lifted(visit: Visit, yard: SyncYard):
    yard.agents.register("coder")
    yard.enqueue("code", title="Turned away")
    (held,) = yard.claim("coder", start=True)
    yard.fail(held.id, held.lease, "rate_limit", retry_after_sec=1_200)
    visit.open("/waits", "Waits")

    throttle = visit.main.get_by_role("listitem").filter(has_text="any model")
    expect(throttle).to_contain_text(re.compile(r"in 9m \d+s"))
    expect(visit.main.get_by_role("listitem").filter(has_text="Turned away")).to_contain_text(re.compile(r"in 19m"))
    visit.act("Lift", confirm="Lift it")
    visit.sees("Nothing is slowed down")
    assert yard.queues.throttles() == []


def test_a_breaker_is_opened_counts_down_and_is_closed(visit: Visit, yard: SyncYard):
    visit.open("/waits", "Waits")
    visit.sees("Every breaker is closed")
    visit.button("Open one").click()
    visit.confirm("Open it", Type_of_task="code", Why="it burns")

    breaker = visit.main.get_by_role("listitem").filter(has_text="it burns")
    expect(breaker).to_contain_text(re.compile(r"probe in \d+ s"))
    breaker.get_by_role("button", name="Close").click()
    visit.confirm("Close it")
    visit.sees("Every breaker is closed")
    assert [each.state for each in yard.breakers.list()] == ["closed"]
