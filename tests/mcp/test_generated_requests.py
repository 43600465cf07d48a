"""Requests that were made up: none is a fault of the server's, and none shows what belongs to another workspace."""

import asyncio
import json
from random import Random
from typing import Any

import httpx
from mcp.types import INTERNAL_ERROR

from taskyard.mcp.catalogue import TOOLS
from tests.mcp.clients import serving
from tests.mcp.raw import Raw
from tests.mcp.test_roles import HIDDEN, a_scene, sound
from tests.yards import OpenYard

REQUESTS = 200
METHODS = (
    *("tools/call", "tools/list", "resources/read", "resources/list", "resources/templates/list", "prompts/list"),
    *("prompts/get", "completion/complete", "tasks/get", "tasks/update", "tasks/cancel", "server/discover", "ping"),
    *("resources/subscribe", "initialize", "logging/setLevel", "tasks/list", "tasks/result", "nonsense", ""),
)
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**63, 1e308, 0.5, "", " ", "\0", "\ud800", "..", "%00", "ü" * 300, "x" * 10_000),
    *([], [[]], {}, {"a": {"b": [1, None]}}, "yard://tasks/../x", "yard://overview", "{id}", "lease_x.1", ["\0"]),
)


class Chance:
    """Made-up requests, the same in every run."""

    def __init__(self, names: dict[str, str], seed: int) -> None:
        self._dice, self._names = Random(seed), names

    def value(self) -> Any:
        return self._dice.choice([*ODD, *self._names.values()])

    def arguments(self, tool: str) -> dict[str, Any]:
        """Sound ones, of which some were spoiled."""
        given = sound(tool, self._names)
        for name in [*TOOLS[tool].listed.input_schema["properties"], "unknown"]:
            if self._dice.random() < 0.25:
                given[name] = self.value()
        return {**given, **({"wait_sec": 0} if "wait_sec" in given else {})}

    def request(self) -> tuple[str, dict[str, Any]]:
        if self._dice.random() < 0.7:
            tool = self._dice.choice(list(TOOLS))
            return "tools/call", {"name": tool, "arguments": self.arguments(tool)}
        names = ("name", "uri", "taskId", "inputResponses", "arguments", "ref", "argument", "cursor")
        return self._dice.choice(METHODS), {name: self.value() for name in names if self._dice.random() < 0.4}


async def test_a_request_that_was_made_up_is_answered_and_shows_nothing(open_yard: OpenYard):
    here, there = await open_yard(), await open_yard(workspace="there")
    names = await a_scene(here)
    token = (await there.tokens.create("stranger", "admin")).text
    before = (await here.get(names["task_id"])).version
    chance, wrong = Chance(names, 7), list[str]()
    async with serving(here) as url, httpx.AsyncClient(timeout=60) as client:
        raw = Raw(url, token)
        for _ in range(REQUESTS):
            method, params = chance.request()
            answer = await _sent(raw, client, method, params)
            if answer is None:
                continue
            is_fault = answer.status_code >= 500 or f'"code":{INTERNAL_ERROR}' in answer.text.replace(" ", "")
            if is_fault or HIDDEN in answer.text:
                wrong.append(f"{method} {json.dumps(params)[:300]}: {answer.status_code} {answer.text[:200]}")

    assert wrong == []
    assert (await here.get(names["task_id"])).version == before


async def _sent(raw: Raw, client: httpx.AsyncClient, method: str, params: dict[str, Any]) -> httpx.Response | None:
    """None: it cannot even be sent, as half a character in a header."""
    try:
        async with asyncio.timeout(60):
            return await client.send(raw.request(client, method, **params))
    except (UnicodeEncodeError, httpx.LocalProtocolError):
        return None


async def test_a_body_that_was_made_up_is_refused_by_its_sender_and_not_by_us(open_yard: OpenYard):
    yard, dice = await open_yard(), Random(3)
    sound_body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {}}}).encode()
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    versions = [{}, {"mcp-protocol-version": "2026-07-28"}, {"mcp-protocol-version": "2025-11-25"}]
    async with serving(yard) as url, httpx.AsyncClient(timeout=60) as client:
        statuses: set[int] = set()
        for _ in range(REQUESTS // 4):
            body = bytearray(sound_body)
            for _ in range(dice.randint(1, 8)):
                body[dice.randrange(len(body))] = dice.randrange(256)
            cut = bytes(body[: dice.randint(0, len(body))])
            more = {**headers, **dice.choice(versions), "mcp-method": "tools/list"}
            statuses.add((await client.post(url, content=cut, headers=more)).status_code)

    assert statuses <= {200, 202, 400, 404, 406, 413, 415, 422}
