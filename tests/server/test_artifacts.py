"""Artifacts over HTTP: files to keep and nothing more, for those who may have them."""

import asyncio
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import pytest

from taskyard.server.server import served
from taskyard.yard import Yard
from tests.core.hostile_names import HOSTILE
from tests.files import objects_in, put_by
from tests.server.calling import calling
from tests.yards import OpenYard, claim_that, given_a_running_task, given_an_agent

PAGE = b"<script>alert(document.cookie)</script>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "objects"


@pytest.fixture
async def yard(open_yard: OpenYard, folder: Path) -> Yard:
    return await open_yard(artifacts=folder.as_uri(), max_artifact_bytes=1000)


async def until(yard: Yard, *, coming: bool) -> None:
    """Wait until a file is on its way, or none is."""
    mark = await yard.mark()
    async with asyncio.timeout(20):
        while bool(await yard.store.records("loose")) is not coming:
            mark = await yard.changed(mark, 1)


async def test_an_artifact_is_served_as_a_file_to_keep(yard: Yard):
    made = await yard.artifacts.put("Ärger 1.html", PAGE, media_type="text/html")
    async with calling(yard) as client:
        answer = await client.get(f"/api/artifacts/{made.id}")

    assert (answer.status_code, answer.content) == (200, PAGE)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == (
        "attachment; filename=\"_rger 1.html\"; filename*=UTF-8''%C3%84rger%201.html"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["etag"] == f'"{sha256(PAGE).hexdigest()}"'
    assert answer.headers["content-length"] == str(len(PAGE))


@pytest.mark.parametrize(
    ("asked", "status", "content", "told"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=8-", 206, b"89", "bytes 8-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=5-2", 200, b"0123456789", None),
        ("bytes=-3", 200, b"0123456789", None),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
        ("", 200, b"0123456789", None),
    ],
)
async def test_a_part_is_served_where_that_makes_sense(
    yard: Yard, asked: str, status: int, content: bytes, told: str | None
):
    made = await yard.artifacts.put("digits.txt", "0123456789", media_type="text/plain")
    async with calling(yard) as client:
        answer = await client.get(f"/api/artifacts/{made.id}", headers={"range": asked})

    assert (answer.status_code, answer.content, answer.headers.get("content-range")) == (status, content, told)
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("content", "asked"), [("0123456789", "bytes=10-"), ("0123456789", "bytes=99-120"), ("", "bytes=0-")]
)
async def test_a_part_that_begins_after_the_end_is_refused_with_where_that_is(yard: Yard, content: str, asked: str):
    made = await yard.artifacts.put("digits.txt", content, media_type="text/plain")
    async with calling(yard) as client:
        answer = await client.get(f"/api/artifacts/{made.id}", headers={"range": asked})

    assert (answer.status_code, answer.json()["code"]) == (416, "no_such_range")
    assert answer.headers["content-range"] == f"bytes */{len(content)}"


async def test_what_the_caller_has_is_not_sent_again(yard: Yard):
    made = await yard.artifacts.put("a.txt", "same")
    async with calling(yard) as client:
        answer = await client.get(f"/api/artifacts/{made.id}", headers={"if-none-match": f'"{made.sha256}"'})

    assert (answer.status_code, answer.content) == (304, b"")


async def test_an_agent_puts_under_its_own_lease_and_no_other(yard: Yard, folder: Path):
    held = await given_a_running_task(yard, by="ada")
    await given_an_agent(yard, "bob")
    tokens = {name: (await yard.tokens.create(name, "agent", agent=name)).text for name in ("ada", "bob")}
    path = f"/api/tasks/{held.id}/artifacts/report.md"
    statuses: list[int] = []
    for token, lease in ((tokens["bob"], held.lease), (tokens["ada"], "another"), (tokens["ada"], held.lease)):
        async with calling(yard, token) as client:
            answer = await client.put(path, content=b"# Done", headers={"taskyard-lease": lease})
            statuses.append(answer.status_code)

    assert statuses == [404, 409, 201]
    assert len(objects_in(folder)) == 1


async def test_an_agent_reads_what_it_made_or_is_given_and_nothing_else(yard: Yard):
    given, secret = await yard.artifacts.put("brief.pdf", b"%PDF"), await yard.artifacts.put("secret.txt", "no")
    await given_an_agent(yard, "ada")
    task = await yard.enqueue("code", context_refs=[given.reference])
    held = await claim_that(yard, task.id, by="ada", start=True)
    token = (await yard.tokens.create("ada", "agent", agent="ada")).text
    async with calling(yard, token) as client:
        before = [(await client.get(f"/api/artifacts/{each}")).status_code for each in (given.id, secret.id)]
        made = await put_by(yard, held)
        await yard.complete(held.id, held.lease)
        after = [(await client.get(f"/api/artifacts/{each}/about")).status_code for each in (made, given.id)]

    assert before == [200, 404]
    assert after == [200, 404]


async def test_an_agent_reads_what_it_judges_under_its_own_lease_and_no_other(yard: Yard):
    await given_an_agent(yard, "ada", capabilities=["llm-judge"])
    task = await given_a_running_task(yard, by="bob", output={"validation": "llm-judge"})
    made = await put_by(yard, task)
    await yard.complete(task.id, task.lease)
    (validator,) = await yard.claim("ada", types=["llm-judge"], start=True)
    # As a daemon knows it, too: by the id of the attempt.
    shown = {"taskyard-task": f"{validator.id}.1", "taskyard-lease": validator.lease}
    answers: dict[str, list[int]] = {}
    for agent in ("ada", "bob"):
        token = (await yard.tokens.create(agent, "agent", agent=agent)).text
        async with calling(yard, token) as client:
            paths = [f"/api/artifacts/{made}", f"/api/artifacts/{made}/about", f"/api/tasks/{validator.id}/inputs"]
            answers[agent] = [(await client.get(path, headers=shown)).status_code for path in paths]
            answers[agent].append((await client.get(paths[0])).status_code)

    assert answers == {"ada": [200, 200, 200, 404], "bob": [404, 404, 404, 404]}


async def test_a_lease_opens_to_an_agent_nothing_that_its_task_is_not_given(yard: Yard):
    secret = await yard.artifacts.put("secret.txt", "no")
    held = await given_a_running_task(yard, by="ada")
    token = (await yard.tokens.create("ada", "agent", agent="ada")).text
    async with calling(yard, token) as client:
        shown = {"taskyard-task": held.id, "taskyard-lease": held.lease}
        answer = await client.get(f"/api/artifacts/{secret.id}", headers=shown)

    assert answer.status_code == 404


async def test_what_is_too_large_is_answered_with_413_though_it_all_was_sent(yard: Yard, folder: Path):
    async with calling(yard) as client:
        answer = await client.put("/api/artifacts/large.bin", content=b"x" * 1_000_000)

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert objects_in(folder) == []


async def test_who_stops_in_the_middle_leaves_nothing(yard: Yard, folder: Path):
    async with served(yard) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"PUT /api/artifacts/a.bin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\nhalf")
        await writer.drain()
        await until(yard, coming=True)
        writer.close()
        await until(yard, coming=False)

    assert (objects_in(folder), await yard.artifacts.list()) == ([], [])


async def test_who_sends_too_slowly_is_not_waited_for(yard: Yard, folder: Path):
    async with served(yard, most_sending_sec=0.1) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"PUT /api/artifacts/a.bin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\nhalf")
        said = await reader.readline()
        writer.close()

    assert said.startswith(b"HTTP/1.1 408")
    assert objects_in(folder) == []


async def test_who_sends_a_byte_at_a_time_is_not_waited_for(yard: Yard, folder: Path):
    async with served(yard, most_sending_sec=0.5) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"PUT /api/artifacts/a.bin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n\r\n")
        answer = asyncio.ensure_future(reader.readline())
        for _ in range(200):  # of a twentieth of a second each
            writer.write(b"x")
            if (await asyncio.wait([answer], timeout=0.05))[0]:
                break
        was_cut_off = answer.done()
        said = await answer
        writer.close()

    assert (was_cut_off, said[:12]) == (True, b"HTTP/1.1 408")
    assert objects_in(folder) == []


async def test_no_hostile_name_gets_past_http(yard: Yard, folder: Path):
    taken: list[str] = []
    async with calling(yard) as client:
        for name in HOSTILE:
            spelled = quote(name[:1000].encode("utf-8", "surrogatepass"), safe="")
            # As it is, without what a client makes of dots.
            url = client.base_url.copy_with(raw_path=f"/api/artifacts/{spelled}".encode())
            answer = await client.put(url, content=b"x")
            if answer.status_code not in (404, 405, 422):
                taken.append(f"{name!r}: {answer.status_code}")

    assert taken == []
    assert objects_in(folder) == []
