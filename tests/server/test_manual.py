"""The page at /docs, and what it says of answers."""

from typing import Any

import pytest

from taskyard.api.calls import CALLS
from taskyard.service.yard import Yard
from taskyard.wire import dashboard, showing
from tests.server.calling import calling


async def test_the_manual_names_every_call_and_asks_no_other_site_for_anything(yard: Yard):
    async with calling(yard) as client:
        answer = await client.get("/docs")

    assert answer.status_code == 200
    shown = [call for call in CALLS.values() if call.path.startswith("/api/") and call.method != "WEBSOCKET"]
    assert [call.path for call in shown if f"<code>{call.method} {call.path}</code>" not in answer.text] == []
    assert "<script" not in answer.text
    assert "//" not in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none';")


ANSWERS = [each for each in vars(showing).values() if hasattr(each, "_fields") and each.__module__ == showing.__name__]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.__name__)
def test_what_pages_are_made_of_is_described_as_it_is(answer: Any):
    described = getattr(dashboard, answer.__name__)

    assert sorted(described.model_fields) == sorted(answer._fields)
