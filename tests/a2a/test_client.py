"""The A2A SDK's own client, unmodified, over both bindings: a task that asks before it deploys."""

import httpx
import pytest
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    ListTasksRequest,
    Part,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError

from taskyard.app import Yard
from taskyard.core.json_value import compact
from tests.a2a.clients import BINDINGS, client, data, get, heard, message, output_of, request, send, serving, state_of
from tests.mcp.crew import at_work


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_client_asks_is_asked_answers_and_gets_the_result(live: Yard, binding: str):
    await live.a2a.publish("deploy", description="Deploys a site.", examples=["Deploy the shop"])
    async with serving(live) as url, client(url, binding=binding) as agent, at_work(live):
        asked = await send(agent, message("the shop", data({"site": "shop", "copies": 3})))
        answered = await send(agent, message(data({"approved": True}), task_id=asked.id))
        seen = await get(agent, asked.id)
        (listed,) = (await agent.list_tasks(ListTasksRequest())).tasks
        (whole,) = (await agent.list_tasks(ListTasksRequest(include_artifacts=True))).tasks

    assert (list(listed.artifacts), whole.artifacts) == ([], seen.artifacts)
    (task,) = await live.find()
    assert (task.prompt, task.subject) == ("the shop", asked.context_id)
    assert compact(sorted(task.payload.items())) == '[["copies",3],["site","shop"]]'  # the protocol's library has 3.0
    assert state_of(asked) == "input_required"
    assert asked.status.message.parts[0].text == "deploy waits for approve."
    assert state_of(answered) == state_of(seen) == "completed"
    assert output_of(seen) == {"answer": {"approved": True}}
    assert asked.id not in (task.id, "")
    assert asked.history[0].parts[0].text == "the shop"


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_stream_has_the_task_then_its_states_and_ends_where_it_rests(live: Yard, binding: str):
    await live.a2a.publish("deploy")
    async with serving(live) as url, client(url, binding=binding, streaming=True) as agent:
        stream = agent.send_message(request(message("the shop")))
        first = await anext(stream)
        async with at_work(live):
            states = [state_of(each.status_update) async for each in stream]
            followed = agent.subscribe(SubscribeToTaskRequest(id=first.task.id))
            asking = await anext(followed)
            answered = await heard(agent, message(data("yes"), task_id=first.task.id))
            rest = [each async for each in followed]

    assert (state_of(first.task), states[-1], state_of(asking.task)) == ("submitted", *["input_required"] * 2)
    assert [each.WhichOneof("payload") for each in rest][-2:] == ["artifact_update", "status_update"]
    assert state_of(rest[-1].status_update) == "completed"
    assert answered[0].HasField("task")


@pytest.mark.parametrize("binding", BINDINGS)
async def test_the_same_message_again_makes_no_second_task_and_answers_no_second_question(live: Yard, binding: str):
    await live.a2a.publish("twice")
    sent, answer = message("go"), message(data({"n": 1}))
    async with serving(live) as url, client(url, binding=binding) as agent, at_work(live):
        first, again = await send(agent, sent), await send(agent, sent)
        answer.task_id = first.id
        asked = await send(agent, answer)
        repeated = await send(agent, answer)
        done = await send(agent, message(data({"n": 2}), task_id=first.id))

    assert first.id == again.id
    assert [state_of(each) for each in (first, asked, repeated)] == ["input_required"] * 3
    assert output_of(done) == {"first": {"n": 1}, "second": {"n": 2}}
    assert len(await live.find()) == 1


@pytest.mark.parametrize("binding", BINDINGS)
async def test_what_has_ended_takes_no_message_and_cannot_be_cancelled(live: Yard, binding: str):
    await live.a2a.publish("deploy")
    async with serving(live) as url, client(url, binding=binding) as agent:
        begun = await send(agent, message("x"), at_once=True)
        cancelled = await agent.cancel_task(CancelTaskRequest(id=begun.id))
        again = await agent.cancel_task(CancelTaskRequest(id=begun.id))
        with pytest.raises(UnsupportedOperationError):
            await send(agent, message("more", task_id=begun.id))
        async with client(url, binding=binding, streaming=True) as follower:
            with pytest.raises(UnsupportedOperationError):
                await anext(follower.subscribe(SubscribeToTaskRequest(id=begun.id)))
        with pytest.raises(TaskNotFoundError):
            await get(agent, "nobody-knows-this")

    assert state_of(begun) == "submitted"
    assert state_of(cancelled) == state_of(again) == "canceled"


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_completed_task_cannot_be_cancelled(live: Yard, binding: str):
    await live.a2a.publish("fail")
    async with serving(live) as url, client(url, binding=binding) as agent:
        begun = await send(agent, message("x"), at_once=True)
        (held,) = await _claimed(live)
        await live.complete(held.id, held.lease, "done")
        with pytest.raises(TaskNotCancelableError):
            await agent.cancel_task(CancelTaskRequest(id=begun.id))


async def _claimed(yard: Yard):
    await yard.agents.register("worker", keep=True)
    return await yard.claim("worker", start=True)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_tasks_are_listed_newest_state_first_by_pages_and_filters(live: Yard, binding: str):
    await live.a2a.publish("deploy")
    async with serving(live) as url, client(url, binding=binding) as agent:
        made = [await send(agent, message(str(n), context_id=f"c{n % 2}"), at_once=True) for n in range(5)]
        await agent.cancel_task(CancelTaskRequest(id=made[0].id))
        first = await agent.list_tasks(ListTasksRequest(page_size=3))
        rest = await agent.list_tasks(ListTasksRequest(page_size=3, page_token=first.next_page_token))
        odd = await agent.list_tasks(ListTasksRequest(context_id="c1"))
        gone = await agent.list_tasks(ListTasksRequest(status=TaskState.TASK_STATE_CANCELED))
        since = ListTasksRequest()
        since.status_timestamp_after.CopyFrom(first.tasks[0].status.timestamp)
        latest = await agent.list_tasks(since)

    ids = [each.id for each in made]
    assert [each.id for each in (*first.tasks, *rest.tasks)] == [ids[0], *reversed(ids[1:])]
    assert (rest.next_page_token, first.total_size, first.page_size) == ("", 5, 3)
    assert {each.id for each in odd.tasks} == {ids[1], ids[3]}
    assert [each.id for each in gone.tasks] == [each.id for each in latest.tasks] == [ids[0]]


async def test_a_message_with_files_links_and_references_becomes_a_task_with_them(live: Yard):
    await live.a2a.publish("fail")
    async with serving(live) as url, client(url) as agent:
        earlier = await send(agent, message("first"), at_once=True)
        sent = message("second", reference_task_ids=[earlier.id])
        sent.parts.add(raw=b"a,b\n1,2\n", filename="table.csv", media_type="text/csv")
        sent.parts.add(url="https://example.com/report.pdf", filename="report.pdf")
        await send(agent, sent, at_once=True)
        bad = message("third", Part(url="file:///etc/passwd"))
        with pytest.raises(InvalidParamsError):
            await send(agent, bad, at_once=True)

    second, first = await live.find()
    file, reference = second.spec.context_refs
    assert reference == f"task:{first.id}:output"
    assert b"".join([piece async for piece in live.artifacts.read(file)]) == b"a,b\n1,2\n"
    assert second.payload["files"] == [
        {"url": "https://example.com/report.pdf", "filename": "report.pdf", "mediaType": ""}
    ]


async def test_the_card_shows_what_is_published_and_nothing_before_that(live: Yard):
    async with serving(live) as url, httpx.AsyncClient(base_url=url) as network:
        off = await network.get("/.well-known/agent-card.json")
        refused = await network.post("/a2a/message:send", json={}, headers={"a2a-version": "1.0"})
        await live.a2a.publish("deploy", description="Deploys.", examples=["Deploy the shop"])
        card = (await network.get("/.well-known/agent-card.json")).json()
        async with client(url) as agent:
            extended = await agent.get_extended_agent_card(GetExtendedAgentCardRequest())
        strange = await network.get("/a2a/tasks", headers={"a2a-version": "7.0"})

    assert (off.status_code, refused.status_code) == (404, 404)
    (skill,) = card["skills"]
    assert (skill["id"], skill["description"], skill["examples"]) == ("deploy", "Deploys.", ["Deploy the shop"])
    interfaces = {(each["protocolBinding"], each["protocolVersion"]) for each in card["supportedInterfaces"]}
    assert interfaces == {(binding, version) for binding in BINDINGS for version in ("1.0", "0.3")}
    assert card["capabilities"] == {"streaming": True, "pushNotifications": True, "extendedAgentCard": True}
    assert [each.id for each in extended.skills] == ["deploy"]
    assert (strange.status_code, "VERSION_NOT_SUPPORTED" in strange.text) == (400, True)


async def test_a_file_that_a_task_names_by_url_is_an_artifact_with_that_url(live: Yard):
    await live.a2a.publish("report")
    await live.agents.register("worker", keep=True)
    files = ["https://example.com/a/report.pdf?x=1", "https://example.com", "shelf 3", "http://[broken"]
    async with serving(live) as url, client(url) as agent:
        begun = await send(agent, message("x"), at_once=True)
        (held,) = await live.claim("worker", start=True)
        await live.complete(held.id, held.lease, artifacts=files)
        done = await get(agent, begun.id)

    shown = [(part.url, part.filename, part.media_type, part.text) for each in done.artifacts for part in each.parts]
    assert shown == [
        (files[0], "report.pdf", "application/pdf", ""),
        (files[1], "", "application/octet-stream", ""),
        ("", "", "", files[2]),
        ("", "", "", files[3]),
    ]
