"""A claim that is sent again because its answer was lost, by an agent that holds many tasks."""

import pytest

from taskyard.core import lease
from taskyard.features.attempts import claims
from taskyard.yard import Yard

OTHERS, ASKED = 300, 100


async def test_what_the_agent_holds_by_other_requests_is_not_looked_at(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    looked = 0

    def count(sealed: str) -> str:
        nonlocal looked
        looked += 1
        return lease.sealed_stem(sealed)

    monkeypatch.setattr(claims, "sealed_stem", count)
    await yard.agents.register("worker", max_concurrent_tasks=OTHERS + ASKED)
    await yard.enqueue_many([{"type": "code", "payload": number} for number in range(OTHERS + ASKED)])
    await yard.claim("worker", count=OTHERS)
    first = await yard.claim("worker", count=ASKED, request_id="r1")

    looked = 0
    again = await yard.claim("worker", count=ASKED, request_id="r1")

    assert [(held.id, held.lease) for held in again] == [(held.id, held.lease) for held in first]
    assert looked == ASKED
