"""What a request of A2A may hold, on both sides of each bound, and what an answer leaves out unless it is asked for."""

from pathlib import Path

import pytest
from a2a.types.a2a_pb2 import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError

from taskyard.a2a import handler, shown_tasks
from taskyard.yard import Yard
from tests.a2a.clients import BINDINGS, client, get, message, send, serving, state_of
from tests.yards import OpenYard, given_an_agent


@pytest.fixture
async def published(open_yard: OpenYard) -> Yard:
    yard = await open_yard()
    await yard.a2a.publish("code")
    return yard


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_page_has_one_to_a_hundred_tasks_and_fifty_by_default(published: Yard, binding: str):
    async with serving(published) as url, client(url, binding=binding) as agent:
        sizes = [(await agent.list_tasks(ListTasksRequest(page_size=size))).page_size for size in (1, 100)]
        default = (await agent.list_tasks(ListTasksRequest())).page_size
        for size in (-1, 0, 101):
            with pytest.raises(InvalidParamsError):
                await agent.list_tasks(ListTasksRequest(page_size=size))

    assert (sizes, default) == ([1, 100], 50)


@pytest.mark.parametrize(
    ("fits", "exceeds"),
    [
        (message(*["x"] * 100), message(*["x"] * 101)),
        (message("x", message_id="m" * 128), message("x", message_id="m" * 129)),
        (message("x", context_id="c" * 200), message("x", context_id="c" * 201)),
        (message(Part(url="https://a.example/" + "u" * 1982)), message(Part(url="https://a.example/" + "u" * 1983))),
        (message(Part(url="http://a.example/x")), message(Part(url="ftp://a.example/x"))),
        (message("x", metadata={"skill": "code"}), message("x", metadata={"skill": "other"})),
        (message("x"), message("x", metadata={"skill": 1})),
    ],
    ids=["parts", "messageId", "contextId", "url", "scheme", "skill", "skill-type"],
)
async def test_a_message_is_bounded(published: Yard, fits: Message, exceeds: Message):
    async with serving(published) as url, client(url) as agent:
        with pytest.raises(InvalidParamsError):
            await send(agent, exceeds, at_once=True)
        assert await published.find() == []
        assert state_of(await send(agent, fits, at_once=True)) == "submitted"


async def test_a_message_refers_to_twenty_tasks_at_most(published: Yard):
    async with serving(published) as url, client(url) as agent:
        earlier = (await send(agent, message("x"), at_once=True)).id
        await send(agent, message("y", reference_task_ids=[earlier] * 20), at_once=True)
        with pytest.raises(InvalidParamsError):
            await send(agent, message("z", reference_task_ids=[earlier] * 21), at_once=True)

    assert [task.prompt for task in await published.find()] == ["y", "x"]


async def test_where_several_skills_are_published_a_message_names_one_unless_there_is_a_default(published: Yard):
    await published.a2a.publish("review")
    async with serving(published) as url, client(url) as agent:
        with pytest.raises(InvalidParamsError):
            await send(agent, message("x"), at_once=True)
        await published.a2a.publish("review", is_default=True)
        await send(agent, message("x"), at_once=True)

    assert [task.type for task in await published.find()] == ["review"]


async def test_a_message_to_a_task_is_of_its_context_and_brings_no_files(published: Yard):
    async with serving(published) as url, client(url) as agent:
        begun = await send(agent, message("x", context_id="mine"), at_once=True)
        for wrong in (message("y", context_id="other"), message("y", Part(raw=b"1", filename="a"))):
            wrong.task_id = begun.id
            with pytest.raises(InvalidParamsError):
                await send(agent, wrong, at_once=True)


async def test_the_message_that_asked_is_left_out_where_no_history_is_wanted(published: Yard):
    async with serving(published) as url, client(url) as agent:
        begun = await send(agent, message("x"), at_once=True)
        bare = await agent.get_task(GetTaskRequest(id=begun.id, history_length=0))
        (listed,) = (await agent.list_tasks(ListTasksRequest(history_length=0))).tasks
        whole = await agent.get_task(GetTaskRequest(id=begun.id, history_length=5))

    assert (list(bare.history), list(listed.history)) == ([], [])
    assert [each.parts[0].text for each in whole.history] == ["x"]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_whom_to_push_to_is_stored_shown_without_secrets_and_removed(published: Yard, binding: str):
    async with serving(published) as url, client(url, binding=binding) as agent:
        task = (await send(agent, message("x"), at_once=True)).id
        asked = TaskPushNotificationConfig(task_id=task, id="p", url="https://93.184.215.14/push", token="t0ken")
        asked.authentication.scheme, asked.authentication.credentials = "Bearer", "s3cret"
        made = await agent.create_task_push_notification_config(asked)
        got = await agent.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(task_id=task, id="p"))
        listed = await agent.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task))
        with pytest.raises(TaskNotFoundError):
            await agent.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(task_id=task, id="q"))
        await agent.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(task_id=task, id="p"))
        left = await agent.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task))
        asked.url = "http://127.0.0.1/push"
        with pytest.raises(InvalidParamsError):
            await agent.create_task_push_notification_config(asked)

    assert made == got == listed.configs[0]
    assert (made.id, made.task_id, made.url) == ("p", task, "https://93.184.215.14/push")
    assert (made.authentication.scheme, made.token, made.authentication.credentials) == ("Bearer", "", "")
    assert list(left.configs) == []


async def test_a_call_that_waits_answers_with_the_task_as_it_stands_when_its_time_is_over(
    published: Yard, monkeypatch: pytest.MonkeyPatch
):
    assert handler.LONGEST == 60
    monkeypatch.setattr(handler, "LONGEST", 0.1)
    async with serving(published) as url, client(url) as agent:
        assert state_of(await send(agent, message("x"))) == "submitted"


async def test_a_file_comes_with_the_answer_up_to_a_size_and_by_its_address_beyond(
    open_yard: OpenYard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert shown_tasks.MOST_INLINE == 1 << 20
    monkeypatch.setattr(shown_tasks, "MOST_INLINE", 5)
    published = await open_yard(artifacts=(tmp_path / "files").as_uri())
    await published.a2a.publish("code")
    await given_an_agent(published)
    async with serving(published) as url, client(url) as agent:
        begun = await send(agent, message("x"), at_once=True)
        (held,) = await published.claim("worker", start=True)
        files = [
            await published.artifacts.put(name, content, task_id=held.id, lease=held.lease)
            for name, content in (("short.txt", b"12345"), ("long.txt", b"6"))
        ]
        await published.complete(held.id, held.lease)
        shown = {each.name: each.parts[0] for each in (await get(agent, begun.id)).artifacts}

    assert (shown["short.txt"].raw, shown["short.txt"].url) == (b"12345", "")
    assert (shown["long.txt"].raw, shown["long.txt"].url) == (b"", f"{url}/api/artifacts/{files[1].id}")
