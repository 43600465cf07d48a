"""Live events in the view of preset multica: of a retry, those who listen hear twice."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from taskyard.server.server import Server, served
from taskyard.yard import Yard
from tests.server.listeners import STREAM, calling, chunks, listening
from tests.yards import given_a_running_task

VIEW = {"view": "multica"}
TOLD = ["task:queued", "task:dispatch", "task:running", "task:failed", "task:queued"]


@pytest.fixture
async def server(yard: Yard) -> AsyncIterator[Server]:
    async with served(yard) as server:
        yield server


async def given_a_retried_task(yard: Yard) -> str:
    held = await given_a_running_task(yard, retry={"strategy": "immediate", "initial_delay_sec": 0})
    await yard.fail(held.id, held.lease, "crash")
    return held.id


def of_tasks(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["task_id"], event["type"]) for event in events if event["task_id"]]


def story_of(task_id: str) -> list[tuple[str, str]]:
    """The first attempt from its beginning to its end, and then the second that waits."""
    return list(zip([task_id] * 4 + [f"{task_id}.2"], TOLD, strict=True))


async def test_a_page_of_events_tells_of_the_failed_attempt_and_of_the_next(yard: Yard, server: Server):
    task_id = await given_a_retried_task(yard)

    async with calling(server) as client:
        page = (await client.get("/api/events", params=VIEW)).json()

    assert of_tasks(page["events"]) == story_of(task_id)


async def test_a_listener_hears_of_both_and_resumes_after_both(yard: Yard, server: Server):
    task_id = await given_a_retried_task(yard)

    async with listening(server) as listener:
        await listener.subscribe(after=0, task_id=f"{task_id}.2", **VIEW)
        told = await listener.events(5)
        numbers = (await listener.ask(action="ping"))["pong"]

    assert of_tasks(told) == story_of(task_id)
    assert told[3]["seq"] == told[4]["seq"] == numbers["all"]


async def test_a_stream_gives_the_number_with_the_last_part_of_an_event(yard: Yard, server: Server):
    task_id = await given_a_retried_task(yard)

    parts: list[dict[str, str]] = []
    async with (
        calling(server) as client,
        client.stream("GET", "/api/events?after=0&view=multica", headers=STREAM) as stream,
    ):
        async for chunk in chunks(stream):
            parts.append(chunk)
            if "task:queued" in chunk["data"] and f"{task_id}.2" in chunk["data"]:
                break

    assert of_tasks([json.loads(part["data"]) for part in parts]) == story_of(task_id)
    assert "id" not in parts[-2]
    assert parts[-1]["id"] == str(json.loads(parts[-1]["data"])["seq"])


@pytest.mark.parametrize(("type_", "number"), [("task:queued", 2), ("task:failed", 1), ("task:completed", 0)])
async def test_who_asks_for_a_type_hears_of_that_type_only(yard: Yard, server: Server, type_: str, number: int):
    await given_a_retried_task(yard)

    async with calling(server) as client:
        page = (await client.get("/api/events", params={**VIEW, "type": type_})).json()

    assert [event["type"] for event in page["events"]] == [type_] * number
