"""What a stranger, or a token, can cost the server: bytes, values, depth and time, each with an end."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from time import monotonic

import pytest

from taskyard.api.calls import BATCH, CALLS, DELIVER, FIELDS, FILE, ITEM, LOG_IN, LOGIN, NOTHING, Body, Call
from taskyard.core import json_value
from taskyard.core.json_value import MOST_VALUES, Json
from taskyard.server import http_protocol, request
from taskyard.server.access.limiter import Limiter, Rate
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.security.every_call import HTTP, given_a_scene
from tests.server.calling import calling, client_of, exchanged

JSON = {"content-type": "application/json"}
DECODED = {name: call for name, call in HTTP.items() if call.bounds not in (NOTHING, FILE)} | {"LOG_IN": LOG_IN}
# Calls whose handlers take no body: one that is sent is not read.
UNREAD = {
    *("PAUSE_SCHEDULE", "RESUME_SCHEDULE", "RUN_SCHEDULE", "PAUSE_TRIGGER", "RESUME_TRIGGER", "RERUN", "PAUSE_QUEUE"),
    *("AGENT_HEARTBEAT", "DRAIN", "RESUME", "SIGN_OFF", "RUNTIME_HEARTBEAT", "ORPHANS", "RESUME_QUEUE", "VERIFY"),
    *("TRY_NOTIFIER", "RESEND_NOTIFICATION", "DISMISS_NOTIFICATION", "CREATE_HANDLE", "SHARE_TASK"),
}


def padded(bounds: Body) -> bytes:
    return b"{" + b" " * bounds.most_bytes + b"}"


def crowded(bounds: Body) -> bytes:
    return b'{"x":[' + b"0," * bounds.most_values + b"0]}"


def nested(bounds: Body) -> bytes:
    return b'{"x":' + b"[" * bounds.deepest + b"]" * bounds.deepest + b"}"


async def refusals(yard: Yard, attack: Callable[[Body], bytes]) -> dict[str, str]:
    """What each call says to a body of this kind."""
    scene, said = await given_a_scene(yard), dict[str, str]()
    token = (await yard.tokens.create("root", "admin")).text
    async with calling(yard, token) as client:
        for name, call in DECODED.items():
            if name in UNREAD:
                continue
            path = call.to(**{each: value for each, value in scene.names.items() if f"{{{each}}}" in call.path})
            answer = await client.request(call.method, path, content=attack(call.bounds), headers=JSON)
            document = answer.json()
            said[name] = f"{answer.status_code} {document.get('facts', {}).get('rule', document['code'])}"
    return said


async def test_a_large_body_is_decoded_beside_the_loop(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    decoded_by: list[threading.Thread] = []

    def decode(body: bytes, *, max_depth: int) -> Json:
        decoded_by.append(threading.current_thread())
        return json_value.decode(body, max_depth=max_depth)

    monkeypatch.setattr(request, "decode", decode)
    token = (await yard.tokens.create("root", "admin")).text
    async with calling(yard, token) as client:
        for size in (10, request.LARGE):
            await client.post("/api/tasks", json={"type": "code", "prompt": "x" * size})

    assert [each is threading.main_thread() for each in decoded_by] == [True, False]


async def test_no_call_takes_more_bytes_than_its_own(yard: Yard):
    # Each is told by its length alone: nothing of it is waited for.
    said = await refusals(yard, lambda bounds: padded(bounds) if bounds.most_bytes <= FIELDS.most_bytes else b"[")

    small = {name: each for name, each in said.items() if CALLS[name].bounds.most_bytes <= FIELDS.most_bytes}
    assert set(small.values()) == {"413 too_large"}


@pytest.mark.parametrize(("call", "most"), [("ENQUEUE", ITEM), ("ENQUEUE_MANY", BATCH)])
async def test_large_calls_have_an_end_too(yard: Yard, call: str, most: Body):
    async with calling(yard) as client:
        answer = await client.post(CALLS[call].path, content=padded(most), headers=JSON)

    assert (answer.status_code, answer.json()["facts"]) == (413, {"most_bytes": most.most_bytes})


async def test_no_call_takes_more_values_than_its_own(yard: Yard):
    said = await refusals(yard, lambda bounds: crowded(bounds) if bounds.most_values <= FIELDS.most_values else b"[")

    few = {name: each for name, each in said.items() if CALLS[name].bounds.most_values <= FIELDS.most_values}
    assert {each.partition(" ")[2] for each in few.values()} == {
        f"must have at most {most} values" for most in (LOGIN.most_values, FIELDS.most_values)
    }


@pytest.mark.parametrize(("call", "most"), [("ENQUEUE", ITEM), ("ENQUEUE_MANY", BATCH)])
async def test_large_calls_have_an_end_to_their_values_too(yard: Yard, call: str, most: Body):
    async with calling(yard) as client:
        answer = await client.post(CALLS[call].path, content=crowded(most), headers=JSON)

    assert (answer.status_code, answer.json()["facts"]["rule"]) == (422, f"must have at most {most.most_values} values")


async def test_no_call_takes_what_is_nested_deeper_than_its_own(yard: Yard):
    said = await refusals(yard, nested)

    deepest = {f"422 must not be nested deeper than {each}" for each in (LOGIN.deepest, FIELDS.deepest)}
    assert set(said.values()) == deepest


async def test_a_payload_has_an_end_to_its_values_on_every_door(yard: Yard):
    async with calling(yard) as client:
        answer = await client.post("/api/tasks", json={"type": "code", "payload": [0] * MOST_VALUES})

    assert answer.json()["facts"] == {"field": "payload", "rule": f"must have at most {MOST_VALUES} values"}


@pytest.mark.parametrize("call", [LOG_IN, DELIVER])
async def test_an_address_is_counted_before_its_body_is_read(yard: Yard, call: Call):
    await yard.tokens.create("root", "admin")
    path = call.to(**({"path": "x"} if "{path}" in call.path else {}))
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n"
    async with served(yard, calls=Limiter(Rate(per_sec=0.001, burst=1))) as server:
        async with client_of(server.port) as client:
            assert (await client.post(path, content=b"{}", headers=JSON)).status_code in (401, 422)
        # Not a byte of this body comes, and the answer is there.
        said = await first_line(server.port, head.encode())

    assert said.startswith(b"HTTP/1.1 429 ")


async def first_line(port: int, *sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for each in sent:
            writer.write(each)
        async with asyncio.timeout(20):
            return await reader.readline()
    finally:
        writer.close()


async def test_who_is_refused_before_the_body_cannot_keep_the_connection_by_sending_on(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http_protocol, "MOST_REST_SEC", 0.2)
    await yard.tokens.create("root", "admin")
    head = b"POST /api/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n"
    async with served(yard) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head)
        assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
        async with asyncio.timeout(20):
            # The server hangs up: seen as an end or, where what was sent last was not read, as a reset.
            while not reader.at_eof() and reader.exception() is None:
                writer.write(b"x")
                await asyncio.wait([asyncio.ensure_future(reader.read(4096))], timeout=0.02)
        writer.close()


async def test_what_comes_after_an_answer_has_an_end_in_bytes_too(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_protocol, "MOST_REST_BYTES", 1 << 20)
    await yard.tokens.create("root", "admin")
    head = b"PUT /api/artifacts/big HTTP/1.1\r\nhost: localhost\r\ncontent-length: 104857600\r\n\r\n"
    async with served(yard) as server, asyncio.timeout(20):
        with pytest.raises(ConnectionError):
            await exchanged(server.port, head, *[b"x" * (1 << 16)] * 1600)


async def test_who_finishes_sending_after_a_refusal_may_go_on_with_the_connection(yard: Yard):
    body = json.dumps({"type": "code", "payload": "x" * 300_000}).encode()
    token = (await yard.tokens.create("root", "admin")).text
    async with served(yard) as server, client_of(server.port) as client:
        refused = await client.post("/api/tasks", content=body, headers=JSON)
        taken = await client.post("/api/tasks", content=body, headers={**JSON, "authorization": f"Bearer {token}"})

    assert (refused.status_code, taken.status_code) == (401, 201)


async def test_who_has_sent_all_after_a_refusal_keeps_the_connection_beyond_the_time_for_the_rest(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http_protocol, "MOST_REST_SEC", 0.2)
    await yard.tokens.create("root", "admin")
    async with served(yard) as server, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"POST /api/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\n")
        assert (await answer_of(reader)).startswith(b"HTTP/1.1 401 ")
        writer.write(b"{}\n")
        until = monotonic() + 2 * http_protocol.MOST_REST_SEC
        while monotonic() < until:
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert (await answer_of(reader)).startswith(b"HTTP/1.1 200 ")
        writer.close()


async def answer_of(reader: asyncio.StreamReader) -> bytes:
    """One answer, head and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    (length,) = [int(line.partition(b":")[2]) for line in head.splitlines() if line.startswith(b"content-length:")]
    return head + await reader.readexactly(length)
