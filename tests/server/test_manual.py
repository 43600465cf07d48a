"""The page at /docs."""

import re

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
    links = re.findall(r"""(?:href|src)="?([^"> ]*)""", answer.text)
    places = {f"#{name}" for name in re.findall(r"""id="?([^"> ]*)""", answer.text)}
    assert set(links) - places == {"/openapi.json", "data:,"}
    assert answer.headers["content-security-policy"].startswith("default-src 'none';")


async def test_the_manual_shows_what_a_call_takes_and_answers(yard: Yard):
    async with calling(yard) as client:
        page = (await client.get("/docs")).text
        shapes = (await client.get("/openapi.json")).json()["components"]["schemas"]

    call = page.partition("<code>POST /api/tasks</code>")[2].partition("</details>")[0]
    assert '<h3>Body</h3><table><tr><td>application/json<td><a href="#shape-TaskDraft">' in call
    assert '<td>201 application/json<td><a href="#shape-Created">' in call
    for name, shape in shapes.items():
        shown = page.partition(f'<div id="shape-{name}">')[2].partition("</details>")[0]
        assert [field for field in shape.get("properties", {}) if f"<code>{field}</code>" not in shown] == []
