"""Deliveries over HTTP: everybody may send, nobody is told why they were refused."""

from __future__ import annotations

import logging
from typing import Any

import httpx
import pytest

from taskyard.api.calls import DELIVER
from taskyard.ledger.signing import signed
from taskyard.server.access.limiter import Limiter, Rate
from taskyard.yard import Yard
from tests.server.calling import calling

BODY = b'{"service": "api"}'
MANY = b"[" + b"0," * 60_000 + b"0]"


async def given_a_hook(yard: Yard) -> tuple[str, str]:
    """Where deliveries go to, and what they are signed with."""
    added = await yard.triggers.add("deploys", "webhook", task={"type": "check", "payload": "{{ body }}"})
    assert added.secret is not None
    assert added.view.trigger.path is not None
    return DELIVER.to(path=added.view.trigger.path), added.secret


def headers(yard: Yard, secret: str, body: bytes = BODY, id_: str = "msg_1", late_sec: int = 0) -> dict[str, str]:
    stamp = yard.now() // 1_000_000 - late_sec
    signature = signed(secret, id_, stamp, body)
    return {"webhook-id": id_, "webhook-timestamp": str(stamp), "webhook-signature": signature}


async def test_a_delivery_needs_no_token_and_is_answered_with_nothing_but_that_it_came(yard: Yard):
    path, secret = await given_a_hook(yard)
    await yard.tokens.create("olga", "admin")  # from now on the server is closed to who has none
    async with calling(yard) as client:
        answer = await client.post(path, content=BODY, headers=headers(yard, secret))

    assert (answer.status_code, answer.json()) == (200, {"ok": True})
    assert len(await yard.find()) == 1


async def test_whatever_is_wrong_the_answer_is_the_same(yard: Yard, caplog: pytest.LogCaptureFixture):
    path, secret = await given_a_hook(yard)
    good = headers(yard, secret)
    refused: list[httpx.Response] = []
    caplog.set_level(logging.DEBUG)
    async with calling(yard) as client:
        assert (await client.post(path, content=BODY, headers=good)).is_success
        for where, body, shown in (
            (path, BODY, good),  # a replay
            (path, BODY, {}),
            (path, b"{}", good),
            (path, BODY, headers(yard, secret, id_="late", late_sec=301)),
            (path, BODY, headers(yard, secret, id_="with.dots")),
            (path, b"{", headers(yard, secret, b"{", id_="garbled")),
            (path, MANY, headers(yard, secret, MANY, id_="many")),
            ("/api/hooks/deploys", BODY, good),
            (f"{path}%2F..", BODY, good),
            ("/api/hooks/%00", BODY, good),
        ):
            refused.append(await client.post(where, content=body, headers=shown))

    assert {answer.status_code for answer in refused[:-1]} == {401}
    assert len({answer.text for answer in refused[:-1]}) == 1
    assert refused[-1].status_code == 422  # that is no name at all
    assert len(await yard.find()) == 1
    assert [fire.outcome.value for fire in await yard.triggers.fires("deploys")] == ["fired"]
    assert secret[6:20] not in caplog.text


async def test_a_body_that_is_too_large_is_not_read_to_its_end(yard: Yard):
    path, secret = await given_a_hook(yard)
    body = b'"' + b"x" * (1 << 20) + b'"'
    async with calling(yard) as client:
        answer = await client.post(path, content=body, headers=headers(yard, secret, body))

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert await yard.triggers.fires("deploys") == []


@pytest.mark.parametrize("limit", ["calls", "guesses"])
async def test_who_delivers_too_often_is_asked_to_wait(yard: Yard, limit: str):
    path, _ = await given_a_hook(yard)
    limits: Any = {limit: Limiter(Rate(per_sec=0.001, burst=2))}
    async with calling(yard, **limits) as client:
        answers = [await client.post(path, content=BODY) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [401, 401, 429, 429]
    assert await yard.triggers.fires("deploys") == []


async def test_an_operator_sees_the_reasons_in_the_log(yard: Yard, caplog: pytest.LogCaptureFixture):
    path, secret = await given_a_hook(yard)
    async with calling(yard) as client:
        await client.post(path, content=BODY)
        await client.post(path, content=BODY, headers=headers(yard, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        shown = (await client.get("/api/triggers/deploys")).json()

    said = [record.getMessage() for record in caplog.records if record.name == "taskyard.hooks"]
    assert ["webhook-signature" in said[0], "signature is not good" in said[1]] == [True, True]
    assert (shown["fires"], shown["path"]) == ([], path.rpartition("/")[2])
    assert secret not in str(shown)
