"""Links to questions, over a real server: looking answers nothing, and only the page that shows the form does."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest

from taskyard.ledger.clock import SystemClock
from taskyard.ledger.options import Options
from taskyard.server.access.limiter import Limiter, Rate
from taskyard.server.server import served
from taskyard.stores.memory import MemoryStore
from taskyard.yard import Yard, local_yard
from tests.receivers import receiving
from tests.yards import given_a_running_task

METHODS = ("GET", "HEAD", "OPTIONS")
YES = {"data": {"approved": True}}


@asynccontextmanager
async def a_link(tmp_path: Path, **limits: Any) -> AsyncGenerator[tuple[Yard, httpx.AsyncClient, str]]:
    """A yard whose task asks, a client of its server, and the link in the notification."""
    options = Options(
        sweeps=False, transcripts=tmp_path, public_url="https://yard.example.org", allowed_targets=("127.0.0.1",)
    )
    async with local_yard(MemoryStore(clock=SystemClock()), options) as yard, receiving() as receiver:
        await yard.tokens.create("ops", "admin")  # from now on nothing is open without a token
        await yard.notifications.set("ops", receiver.url, events=["approval_wanted"])
        held = await given_a_running_task(yard, title="Release 2")
        await yard.attempts.ask(held.id, held.lease, "deploy", "Deploy?")
        await yard.host.run_outbox()
        link = receiver.received[0].json["data"]["link"]
        async with (
            served(yard, **limits) as server,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=20) as client,
        ):
            yield yard, client, link.removeprefix("https://yard.example.org")


def api(link: str) -> str:
    return link.replace("/answer/", "/api/links/")


def of_page(client: httpx.AsyncClient) -> dict[str, str]:
    """What a browser says of the page that a request comes from."""
    return {"origin": str(client.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}


async def scan(client: httpx.AsyncClient, start: str) -> int:
    """Fetch a link and all that it leads to, as programs that guard mailboxes do; how many addresses that was."""
    seen, left = set[str](), [start, api(start)]
    while left and len(seen) < 60:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        for method in METHODS:
            answer = await client.request(method, path, headers={"accept": "text/html,*/*"}, follow_redirects=True)
            found = re.findall(r"""(?:href|src|action)=["']?([^"'\s>]+)""", answer.text)
            left += [urljoin(path, each) for each in found if not each.startswith(("http", "data:", "#"))]
    return len(seen)


async def test_a_mail_scanner_that_fetches_every_link_answers_nothing(tmp_path: Path):
    async with a_link(tmp_path) as (yard, client, link):
        assert await scan(client, link) >= 2

        (wanted,) = await yard.approvals.list()
        assert wanted.is_open
        shown = await client.get(api(link))
        assert (shown.status_code, shown.json()["is_open"]) == (200, True)


async def test_the_page_of_a_link_answers_once_without_a_token(tmp_path: Path):
    async with a_link(tmp_path) as (yard, client, link):
        shown = (await client.get(api(link))).json()
        refused = await client.post(api(link), json={"data": {"approved": "perhaps"}}, headers=of_page(client))
        done = await client.post(api(link), json=YES, headers=of_page(client))
        again = await client.post(api(link), json=YES, headers=of_page(client))
        (task,) = await yard.find()
        answered = await yard.approvals.get(task.id, "deploy")

    assert (shown["question"]["text"], shown["task_title"], shown["recipient"]) == ("Deploy?", "Release 2", "ops")
    assert refused.json()["facts"]["problems"][0]["field"] == "approved"
    assert (done.status_code, again.status_code, again.json()["code"]) == (200, 409, "already_answered")
    assert answered.question is not None
    assert answered.question.answered is not None
    assert answered.question.answered.by == "link:ops"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"origin": "null"},
        {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},
    ],
)
async def test_a_post_from_anywhere_else_answers_nothing(tmp_path: Path, headers: dict[str, str]):
    async with a_link(tmp_path) as (yard, client, link):
        refused = await client.post(api(link), json=YES, headers=headers)
        form = await client.post(api(link), data={"data": "true"}, headers=of_page(client))

        assert refused.status_code == 403
        assert form.status_code in (415, 422)
        assert len(await yard.approvals.list()) == 1


async def test_a_link_opens_nothing_else(tmp_path: Path):
    async with a_link(tmp_path) as (_, client, link):
        bearer = {"authorization": f"Bearer {link.removeprefix('/answer/')}"}
        answers = [await client.get(path, headers=bearer) for path in ("/api/tasks", "/api/approvals", "/api/overview")]

    assert {each.status_code for each in answers} == {401}


async def test_what_an_outsider_sends_is_bounded_and_guesses_are_counted(tmp_path: Path):
    guesses = Limiter(Rate(per_sec=0.001, burst=3))
    async with a_link(tmp_path, guesses=guesses) as (_, client, link):
        large = await client.post(api(link), content=b'{"data": "' + b"x" * (3 << 20) + b'"}', headers=of_page(client))
        long = await client.get(f"/api/links/{'x' * 2_000}")
        guessed = [(await client.get(f"/api/links/guess{number}")).status_code for number in range(5)]

    assert large.status_code in (413, 422)
    assert long.status_code == 422
    assert 404 in guessed
    assert guessed[-1] == 429
