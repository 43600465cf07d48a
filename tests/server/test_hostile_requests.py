"""Requests that no client of ours would send: each is refused in the manner of the document, and nothing is stored."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress

import httpx
import pytest
from fastapi.routing import APIRoute

from taskyard.core.errors import TooManyRequests
from taskyard.server import http_protocol
from taskyard.server.access.limiter import Limiter, Rate
from taskyard.server.server import served
from taskyard.stores.turns import TURN
from taskyard.yard import Yard
from tests.core.hostile import HOSTILE_JSON
from tests.server.calling import ROUTES, calling, client_of, exchanged

JSON = {"content-type": "application/json"}
BROKEN = {
    "nothing": b"",
    "half an object": b'{"type":"code"',
    "two values": b'{"type":"code"}{"type":"code"}',
    "a key twice": b'{"type":"code","type":"research"}',
    "NaN": b'{"type":"code","payload":NaN}',
    "a number beyond all": b'{"type":"code","payload":1e999}',
    "too many digits": b'{"type":"code","payload":' + b"9" * 5000 + b"}",
    "too deep": b'{"type":"code","payload":' + b"[" * 100 + b"]" * 100 + b"}",
    "far too deep": b"[" * 200_000,
    "NUL": b'{"type":"code","payload":"\\u0000"}',
    "half a character": b'{"type":"code","payload":"\\ud800"}',
    "no UTF-8": b'{"type":"code","payload":"\xff"}',
    "UTF-16": '{"type":"code"}'.encode("utf-16"),
    "a mark of byte order": b'\xef\xbb\xbf{"type":"code"}',
    "a list": b'[{"type":"code"}]',
    "a single quote": b"{'type':'code'}",
}


async def test_a_hostile_task_is_refused_over_http_too(yard: Yard):
    rows = [row for row in HOSTILE_JSON if row.preset == "standard"]
    async with calling(yard) as client:
        answers = [await client.post("/api/tasks", content=json.dumps(row.raw), headers=JSON) for row in rows]

    wrong = {row.name: answer.text for row, answer in zip(rows, answers, strict=True) if not is_refused(answer)}
    assert not wrong
    assert not await yard.find()


async def test_what_is_no_json_of_ours_is_refused_before_anything_is_made_of_it(yard: Yard):
    async with calling(yard) as client:
        answers = [await client.post("/api/tasks", content=content, headers=JSON) for content in BROKEN.values()]

    wrong = {name: answer.text for name, answer in zip(BROKEN, answers, strict=True) if not is_refused(answer)}
    assert not wrong
    assert not await yard.find()


async def test_a_body_that_is_no_object_is_refused_by_every_call_in_words_of_ours(yard: Yard):
    at = [route for route in ROUTES if route.body_field is not None]
    bodies, queries = (b"[]", b'"x"', b"3", b"null"), ("", "?view=multica")
    async with calling(yard) as client:
        details = {
            (route.path, body, query): await detail_of(client, route, body, query)
            for route in at
            for body in bodies
            for query in (queries if "view" in {field.alias for field in route.dependant.query_params} else queries[:1])
        }

    assert {at: detail for at, detail in details.items() if "body: must be a JSON object" not in detail} == {}
    assert len(at) > 70


async def detail_of(client: httpx.AsyncClient, route: APIRoute, body: bytes, query: str) -> str:
    path = "/".join("x" if part.startswith("{") else part for part in route.path.split("/"))
    answer = await client.request(min(route.methods or ()), path + query, content=body, headers=JSON)
    return str(answer.json()["detail"])


async def test_a_part_of_a_body_that_is_no_object_is_refused_in_words_of_ours(yard: Yard):
    few, many = [[*[{"type": "code"}] * size, 3] for size in (1, TURN + 1)]
    wrong = {
        "tasks.1": ("/api/tasks/batch", {"tasks": few}),
        f"tasks.{TURN + 1}": ("/api/tasks/batch", {"tasks": many}),
        "answer_schema": (
            "/api/tasks/x/suspend",
            {"kind": "question", "lease": "x", "name": "x", "question": "x", "answer_schema": 3},
        ),
    }
    async with calling(yard) as client:
        answers = {field: await client.post(path, json=body) for field, (path, body) in wrong.items()}

    for field, answer in answers.items():
        assert f"{field}: must be a JSON object" in answer.json()["detail"]


def is_refused(answer: httpx.Response) -> bool:
    is_problem = answer.headers["content-type"] == "application/problem+json"
    return answer.status_code == 422 and is_problem and answer.json()["code"] == "invalid_input"


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_a_body_that_a_page_of_another_site_could_send_is_not_read(yard: Yard, media_type: str):
    async with calling(yard) as client:
        answer = await client.post("/api/tasks", content=b'{"type":"code"}', headers={"content-type": media_type})

    assert answer.json()["facts"] == {"field": "content-type", "rule": "must be application/json"}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("stauts=ready", "stauts"),
        ("limit=1&limit=2", "limit"),
        ("queue=%00", "queue"),
        ("limit=99999999999999999999999999", "limit"),
        ("%F0%9F%98%80=1", "\\U0001f600"),
    ],
)
async def test_a_parameter_that_is_unknown_or_makes_no_sense_is_refused_and_not_passed_over(
    yard: Yard, query: str, field: str
):
    async with calling(yard) as client:
        answer = await client.get(f"/api/tasks?{query}")

    assert (answer.status_code, answer.json()["facts"]["field"]) == (422, field)


@pytest.mark.parametrize("value", ["3", None, [1]])
async def test_a_score_that_is_no_number_is_refused_as_none(yard: Yard, value: object):
    async with calling(yard) as client:
        answer = await client.post("/api/scores", json={"task_id": "task_1", "name": "good", "value": value})

    assert answer.status_code == 422
    assert "valid number" in answer.json()["detail"]


@pytest.mark.parametrize("name", ["%00", "%ff", "%ed%a0%80", "x" * 300])
async def test_a_name_in_a_path_that_is_no_text_is_refused(yard: Yard, name: str):
    async with calling(yard) as client:
        answer = await client.get(f"/api/tasks/{name}")

    assert answer.status_code == 422, answer.text


async def test_a_name_in_a_path_may_have_any_character_in_it(yard: Yard):
    name = "team/a b%2F?é"
    await yard.agents.register(name)

    async with calling(yard) as client:
        answer = await client.post("/api/agents/team%2Fa%20b%252F%3F%C3%A9/heartbeat")

    assert answer.json() == {"status": "active"}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "no_such_route"),
        ("GET", "/api/tasks/", 404, "no_such_route"),
        ("GET", "/api/../etc/passwd", 404, "no_such_route"),
        ("HEAD", "/api/tasks", 405, "no_such_method"),
        ("OPTIONS", "/api/tasks", 405, "no_such_method"),
        ("PATCH", "/api/tasks/task_1", 405, "no_such_method"),
        ("TRACE", "/healthz", 405, "no_such_method"),
    ],
)
async def test_what_is_not_in_the_table_of_calls_is_a_problem_too(
    yard: Yard, method: str, path: str, status: int, code: str
):
    async with calling(yard) as client:
        answer = await client.request(method, path)

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    if method != "HEAD":
        assert answer.json()["code"] == code


async def test_a_refused_method_says_which_there_are(yard: Yard):
    async with calling(yard) as client:
        answer = await client.options("/api/tasks")

    assert answer.headers["allow"] == "GET, POST"


# Limits


async def test_a_body_above_the_limit_is_refused_in_the_manner_of_the_document(yard: Yard):
    async with calling(yard, most_bytes=1 << 20) as client:
        answer = await client.post("/api/tasks", content=b" " * ((1 << 20) + 1), headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


async def test_a_body_without_an_end_is_cut_off_and_never_kept(yard: Yard):
    chunk = b"10000\r\n" + b"x" * (1 << 16) + b"\r\n"
    async with served(yard, most_bytes=1 << 20) as server:
        tracemalloc.start()
        try:
            # Whoever is still talking when the connection ends may not hear why.
            with suppress(ConnectionError):
                await exchanged(server.port, head("transfer-encoding: chunked"), *[chunk] * 1000)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert most < 8 << 20, "of 65 MB some of what is beyond the limit was kept"
    assert not await yard.find()


async def test_a_body_that_trickles_in_is_given_up(yard: Yard):
    head = (
        b"POST /api/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"
    )
    async with served(yard, most_sending_sec=0.05) as server:
        said = await exchanged(server.port, head)

    assert said.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"too_slow"' in said


async def test_a_head_that_does_not_end_in_time_ends_the_connection(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_protocol, "MOST_HEAD_SEC", 0.05)
    async with served(yard) as server:
        assert await exchanged(server.port, b"GET /healthz HTTP/1.1\r\nhost: loc") == b""
        assert await exchanged(server.port) == b""


async def test_a_head_without_an_end_is_refused_at_its_limit(yard: Yard):
    async with served(yard) as server:
        said = await exchanged(server.port, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ", *[b"y" * 8192] * 9)

    assert said.startswith(b"HTTP/1.1 400 ")


async def test_a_connection_may_carry_many_requests_with_long_heads(yard: Yard):
    async with calling(yard) as client:
        answers = [await client.get("/healthz", headers={"x-long": "y" * 30_000}) for _ in range(5)]

    assert {answer.status_code for answer in answers} == {200}


async def test_who_calls_too_often_learns_when_to_come_again(yard: Yard):
    async with calling(yard, calls=Limiter(Rate(per_sec=0.5, burst=3))) as client:
        answers = [await client.get("/api/stats") for _ in range(5)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert answers[-1].json()["retryable"]
    assert answers[-1].headers["retry-after"] == "2"


async def test_every_token_has_calls_of_its_own(yard: Yard):
    tokens = [(await yard.tokens.create(name, "viewer")).text for name in ("ada", "bob")]
    async with served(yard, calls=Limiter(Rate(per_sec=0.1, burst=1))) as server:
        for token in tokens:
            async with client_of(server.port, token) as client:
                assert [(await client.get("/api/stats")).status_code for _ in range(2)] == [200, 429]


async def test_who_guesses_tokens_is_slowed_down_and_others_are_not_asked_to_pay_for_it(yard: Yard):
    await yard.tokens.create("ada", "viewer")
    async with served(yard, guesses=Limiter(Rate(per_sec=0.1, burst=3))) as server:
        async with client_of(server.port, "ty_guess") as guesser:
            answers = [(await guesser.get("/api/stats")).status_code for _ in range(5)]
        async with client_of(server.port) as forgetful:
            after = (await forgetful.get("/healthz")).status_code

    assert answers == [401, 401, 401, 429, 429]
    assert after == 200


def test_a_bucket_fills_again_with_time_and_never_above_its_burst():
    now = [0.0]
    limiter = Limiter(Rate(per_sec=2, burst=2), clock=lambda: now[0])

    def lets_through() -> int:
        for passed in range(5):
            try:
                limiter.check("ada")
            except TooManyRequests:
                return passed
        return 5

    assert lets_through() == 2
    now[0] = 0.5
    assert lets_through() == 1
    now[0] = 100.0
    assert lets_through() == 2


def head(length: str) -> bytes:
    """Of a request to put a task in, by hand."""
    lines = ("POST /api/tasks HTTP/1.1", "host: localhost", "content-type: application/json", length, "", "")
    return "\r\n".join(lines).encode()
