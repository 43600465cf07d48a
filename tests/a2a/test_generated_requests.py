"""Requests that were made up: none is a fault of the server's, and none shows what belongs to another workspace."""

import asyncio
import json
from random import Random
from typing import Any

import httpx

from taskyard.features.tokens.rules import Role
from tests.a2a.clients import serving
from tests.yards import OpenYard

REQUESTS = 200
METHODS = (
    *("SendMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask", "GetExtendedAgentCard", "nonsense", ""),
    *("CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs"),
    *("DeleteTaskPushNotificationConfig", "message/send", "tasks/get", "tasks/cancel"),
)
PATHS = (
    *("POST /a2a/message:send", "GET /a2a/tasks", "GET /a2a/tasks/{}", "POST /a2a/tasks/{}:cancel"),
    *("GET /a2a/tasks/{}:subscribe", "POST /a2a/tasks/{}/pushNotificationConfigs", "GET /a2a/extendedAgentCard"),
    *("GET /a2a/tasks/{}/pushNotificationConfigs/{}", "DELETE /a2a/tasks/{}/pushNotificationConfigs/{}"),
    *("POST /a2a/{}", "GET /a2a/{}", "POST /a2a/v1/message:send", "GET /a2a/v1/tasks/{}", "POST /a2a"),
)
ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**63, 1e308, 0.5, "", " ", "\0", "..", "%00", "ü" * 300, "x" * 10_000, "x.2", "x.99999"),
    *([], [[]], {}, {"a": {"b": [1, None]}}, [None], "http://10.0.0.1/", "https://example.com", "2026-01-01T00:00:00Z"),
)
NAMES = (
    *("id", "taskId", "contextId", "pageSize", "pageToken", "status", "statusTimestampAfter", "historyLength", "url"),
    *("token", "authentication", "tenant", "message", "configuration", "metadata"),
)

# What the library says, as an internal error, to a name of 0.3 in a request that says 1.0.
ANOTHER_VERSION = "is not supported by this handler"


class Chance:
    """Made-up requests, the same in every run."""

    def __init__(self, names: list[str], seed: int) -> None:
        self._dice, self._names = Random(seed), names

    def value(self) -> Any:
        return self._dice.choice([*ODD, *self._names])

    def params(self) -> dict[str, Any]:
        part = self._dice.choice([{"text": "x"}, {"data": self.value()}, {"raw": "!!"}, {"url": self.value()}, {}])
        message: dict[str, Any] = {"messageId": str(self._dice.random()), "role": "ROLE_USER", "parts": [part]}
        for name in ("taskId", "contextId", "messageId", "role", "parts", "referenceTaskIds", "metadata"):
            if self._dice.random() < 0.15:
                message[name] = self.value()
        sound = {"message": message, "configuration": {"returnImmediately": True}, "id": self._names[0]}
        return {**sound, **{name: self.value() for name in NAMES if self._dice.random() < 0.15}}

    def request(self, network: httpx.AsyncClient) -> httpx.Request:
        versions = [{"a2a-version": "1.0"}] * 4 + [{}, {"a2a-version": "0.3"}, {"a2a-version": "nine"}]
        headers = self._dice.choice(versions)
        if self._dice.random() < 0.5:
            body = {"jsonrpc": "2.0", "id": self.value(), "method": self._dice.choice(METHODS), "params": self.params()}
            return network.build_request("POST", "/a2a", json=body, headers=headers)
        method, _, path = self._dice.choice(PATHS).partition(" ")
        while "{}" in path:
            path = path.replace("{}", httpx.QueryParams({"": str(self.value())[:300]}).__str__()[1:], 1)
        if method == "GET":
            named = {name: str(self.value())[:300] for name in NAMES if self._dice.random() < 0.3}
            return network.build_request(method, path, params=named, headers=headers)
        return network.build_request(method, path, json=self.params(), headers=headers)


async def test_a_request_that_was_made_up_is_answered_and_shows_nothing(open_yard: OpenYard):
    here, there = await open_yard(), await open_yard(workspace="there")
    for yard in (here, there):
        await yard.a2a.publish("code")
    secret = await here.enqueue("code", prompt="a secret", subject="a secret")
    names = [(await here.a2a.share(secret.id)).handle, (await there.a2a.share((await there.enqueue("code")).id)).handle]
    before = (await here.get(secret.id)).version
    token = (await there.tokens.create("stranger", Role.ADMIN)).text
    chance, wrong = Chance(names, 11), list[str]()
    headers = {"authorization": f"Bearer {token}"}
    async with serving(here) as url, httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as network:
        for _ in range(REQUESTS):
            request = chance.request(network)
            status, text = await _answer(network, request)
            is_fault = '"code":-32603' in text.replace(" ", "") and ANOTHER_VERSION not in text
            if status >= 500 or is_fault or "a secret" in text:
                wrong.append(f"{request.method} {request.url} {request.content[:300]!r}: {status} {text[:300]}")

    assert wrong == []
    assert (await here.get(secret.id)).version == before


async def _answer(network: httpx.AsyncClient, request: httpx.Request) -> tuple[int, str]:
    """The answer, or the beginning of one that goes on for as long as its task does."""
    text = ""
    answer = await network.send(request, stream=True)
    try:
        if "event-stream" in answer.headers.get("content-type", ""):
            async with asyncio.timeout(30):
                async for text in answer.aiter_lines():
                    if text:
                        break
        else:
            text = (await answer.aread()).decode()
    finally:
        await answer.aclose()
    return answer.status_code, text


async def test_a_body_that_was_made_up_is_refused_by_its_sender_and_not_by_us(open_yard: OpenYard):
    yard, dice = await open_yard(), Random(3)
    await yard.a2a.publish("code")
    sent = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
    params = {"message": sent, "configuration": {"returnImmediately": True}}
    sound = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}).encode()
    headers = {"content-type": "application/json", "a2a-version": "1.0"}
    async with serving(yard) as url, httpx.AsyncClient(base_url=url, timeout=60) as network:
        statuses: set[int] = set()
        for _ in range(REQUESTS // 4):
            body = bytearray(sound)
            for _ in range(dice.randint(1, 8)):
                body[dice.randrange(len(body))] = dice.randrange(256)
            cut = bytes(body[: dice.randint(0, len(body))])
            for path in ("/a2a", "/a2a/message:send"):
                statuses.add((await network.post(path, content=cut, headers=headers)).status_code)

    assert statuses <= {200, 400, 404, 413, 415, 422}


async def test_a_history_length_that_is_no_count_is_refused_by_name(open_yard: OpenYard):
    yard = await open_yard()
    await yard.a2a.publish("code")
    handle = (await yard.a2a.share((await yard.enqueue("code")).id)).handle
    wrong, answers = ("many", "-1", "0.5", "ü", str(2**31), "9" * 300), list[httpx.Response]()
    async with serving(yard) as url, httpx.AsyncClient(base_url=url, timeout=60) as network:
        for path, version in (("/a2a/tasks/", "1.0"), ("/a2a/v1/tasks/", "0.3")):
            headers = {"a2a-version": version}
            for given in wrong:
                params = {"historyLength": given}
                answers.append(await network.get(path + handle, params=params, headers=headers))
            sound = await network.get(path + handle, params={"historyLength": str(2**31 - 1)}, headers=headers)
            assert sound.status_code == 200, sound.text

    assert {answer.status_code for answer in answers} == {400}
    assert all("historyLength must be a whole number" in answer.text for answer in answers)
