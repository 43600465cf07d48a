"""The page at /docs."""

from taskyard.api.calls import CALLS, OIDC_CALLBACK, OIDC_START
from taskyard.yard import Yard
from tests.server.calling import calling

FOR_BROWSERS = (OIDC_START, OIDC_CALLBACK)  # they are sent there and back by a sign-in: no program calls these


async def test_the_manual_names_every_call_and_asks_no_other_site_for_anything(yard: Yard):
    async with calling(yard) as client:
        answer = await client.get("/docs")

    assert answer.status_code == 200
    calls = [call for call in CALLS.values() if call.path.startswith("/api/") and call.method != "WEBSOCKET"]
    shown = [call for call in calls if call not in FOR_BROWSERS]
    assert [call.path for call in shown if f"<code>{call.method} {call.path}</code>" not in answer.text] == []
    assert "<script" not in answer.text
    assert "//" not in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none';")
