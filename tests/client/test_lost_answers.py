"""An answer that is lost after the server has done what it was asked: the client asks again, and nothing is doubled."""

import asyncio

import pytest

import taskyard
from taskyard.api import calls
from taskyard.client.host import RemoteHost
from taskyard.client.transport import connection
from taskyard.core.errors import InvalidInput, NotFound, StoreUnavailable, Unauthorized
from taskyard.core.task import Status
from taskyard.server.server import Server, served
from taskyard.yard import Yard
from tests.client.proxies import Cutting
from tests.remote import url_of
from tests.yards import data_of, given_a_running_task, given_an_agent


async def test_a_task_is_put_in_once_and_reported_as_new(local: Yard, shaky: Yard, proxy: Cutting):
    proxy.to_lose = 2
    task = await shaky.enqueue("code")

    assert proxy.lost == 2
    assert task.created
    assert [each.id for each in await local.find()] == [task.id]


async def test_a_task_that_was_there_before_is_not_reported_as_new(local: Yard, shaky: Yard, proxy: Cutting):
    first = await local.enqueue("code", idempotency_key="once")

    proxy.to_lose = 1
    again = await shaky.enqueue("code", idempotency_key="once")

    assert (again.id, again.created) == (first.id, False)


async def test_a_graph_is_put_in_once(local: Yard, shaky: Yard, proxy: Cutting):
    proxy.to_lose = 1
    dag = await shaky.submit({"tasks": [{"name": "a", "type": "code"}, {"type": "test", "depends_on": ["a"]}]})
    proxy.to_lose = 1
    more = await shaky.dags.add(dag.id, [{"name": "b", "type": "code"}])

    assert proxy.lost == 2
    assert (list(dag.tasks), list(more.tasks)) == (["a", "#1"], ["b"])
    assert all(task.created for task in (*dag.tasks.values(), *more.tasks.values()))
    assert {hot.id for hot in (await local.dags.get(dag.id)).tasks} == {
        task.id for task in (*dag.tasks.values(), *more.tasks.values())
    }


async def test_a_graph_whose_id_others_have_is_refused_also_then(local: Yard, shaky: Yard, proxy: Cutting):
    theirs = await local.submit({"tasks": [{"type": "code"}]})

    with pytest.raises(InvalidInput, match="is taken"):
        await shaky.submit({"id": theirs.id, "tasks": [{"type": "code"}]})


async def test_a_message_is_put_in_once_and_taken_out_once(local: Yard, shaky: Yard, proxy: Cutting):
    proxy.to_lose = 1
    await shaky.inbox.put("planner", "c1", "hello")
    proxy.to_lose = 1
    taken = (await shaky.inbox.take("planner", "c1")).batch
    assert taken is not None
    proxy.to_lose = 1
    await shaky.inbox.consume("planner", "c1", taken.batch_id)

    assert proxy.lost == 3
    assert [item.content for item in taken.items] == ["hello"]
    (view,) = await local.inbox.list()
    assert (view.queue_len, view.held) == (0, 0)


async def test_a_subagent_is_started_once(local: Yard, shaky: Yard, proxy: Cutting):
    proxy.to_lose = 1
    begun = await shaky.subagents.start("explore", "Look", parent="lead")

    assert [view.task_id for view in await local.subagents.list()] == [begun.task_id]


async def test_the_same_tasks_are_claimed_again(local: Yard, shaky: Yard, proxy: Cutting):
    await given_an_agent(local)
    await local.enqueue_many([{"type": "code"}] * 3)

    proxy.to_lose = 1
    held = await shaky.claim("worker", count=2, start=True)

    assert proxy.lost == 1
    assert len(held) == 2
    assert len(await local.find(status="ready")) == 1
    proxy.to_lose = 1
    receipts = [await shaky.complete(each.id, each.lease, {"done": True}) for each in held]
    assert [receipt.status for receipt in receipts] == [Status.COMPLETED] * 2


async def test_progress_is_announced_once(local: Yard, shaky: Yard, proxy: Cutting):
    held = await given_a_running_task(local)

    proxy.to_lose = 2
    assert not (await shaky.progress(held.id, held.lease, {"fraction": 0.5})).must_stop
    await shaky.progress(held.id, held.lease, {"fraction": 0.5})  # said again, and not sent again

    assert proxy.lost == 2
    assert await data_of(local, "task.progress") == [{"progress": {"fraction": 0.5}}] * 2
    assert [each.kind for each in (await local.streams.page(held.id)).chunks] == ["progress"] * 2


async def test_a_message_is_announced_once(local: Yard, shaky: Yard, proxy: Cutting):
    held = await given_a_running_task(local)

    proxy.to_lose = 2
    await shaky.attempts.message(held.id, held.lease, "half done")
    await shaky.attempts.message(held.id, held.lease, "half done")  # said again, and not sent again

    assert proxy.lost == 2
    assert await data_of(local, "task.message") == [{"text": "half done"}] * 2
    assert [each.kind for each in (await local.streams.page(held.id)).chunks] == ["message"] * 2


async def test_a_signal_whose_answer_was_lost_is_not_sent_twice(local: Yard, shaky: Yard, proxy: Cutting):
    task = await local.enqueue("code")

    proxy.to_lose = 1
    with pytest.raises(StoreUnavailable, match="whether it did what it was asked is not known"):
        await shaky.signal(task.id, "approval")

    assert len(await local.store.signals(task.id)) == 1


async def test_a_client_goes_on_when_its_server_is_back(local: Yard):
    async with served(local) as first:
        port = first.port
        yard = await taskyard.connect(url_of(first)).open()
        await yard.enqueue("code")
    waiting = asyncio.create_task(yard.enqueue("code"))
    async with served(local, port=port):
        assert (await waiting).created
        await yard.close()

    assert len(await local.find()) == 2


async def test_the_next_server_of_the_list_is_asked_where_one_is_gone(local: Yard, server: Server):
    async with served(local) as other:
        gone, there = url_of(other), url_of(server)
        async with taskyard.connect(f"{gone},{there}") as yard:
            await yard.enqueue("code")
            other.stop()
            for _ in range(3):
                await yard.enqueue("code")

    assert len(await local.find()) == 4


async def test_a_server_that_is_not_there_is_reported_as_away(local: Yard):
    async with served(local) as server:
        url = url_of(server)

    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await RemoteHost(connection.Connection(url, patience=0.1)).open()


async def test_results_that_come_together_go_out_together(local: Yard, remote: Yard, monkeypatch: pytest.MonkeyPatch):
    await given_an_agent(local)
    await local.enqueue_many([{"type": "code"}] * 100)
    held = await remote.claim("worker", count=100, start=True)
    asked: list[str] = []
    ask = connection.Connection.ask

    async def counted(self: connection.Connection, call: calls.Call, *given: object, **named: object) -> object:
        asked.append(call.path)
        return await ask(self, call, *given, **named)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(connection.Connection, "ask", counted)
    receipts = await asyncio.gather(*(remote.complete(each.id, each.lease, {"n": n}) for n, each in enumerate(held)))

    assert {receipt.status for receipt in receipts} == {Status.COMPLETED}
    assert asked == [calls.COMPLETE_MANY.path]


async def test_one_result_that_is_refused_spoils_no_other(local: Yard, remote: Yard):
    await given_an_agent(local)
    await local.enqueue_many([{"type": "code"}] * 4)
    held = await remote.claim("worker", count=4, start=True)

    ended = await asyncio.gather(
        *(remote.complete(each.id, each.lease, tokens_input=-(n == 2)) for n, each in enumerate(held)),
        remote.complete("task_00000000000000000000000000", "lease_1.1"),
        return_exceptions=True,
    )

    assert [type(each).__name__ for each in ended] == ["Receipt", "Receipt", "InvalidInput", "Receipt", "NotFound"]
    assert isinstance(ended[4], NotFound)
    await local.complete(held[2].id, held[2].lease)


async def test_a_token_is_shown_and_says_the_workspace(local: Yard, server: Server, caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    issued = await local.tokens.create("ops", "operator")

    with pytest.raises(Unauthorized):
        await taskyard.connect(url_of(server)).open()
    async with taskyard.connect(url_of(server), token=issued.text) as yard:
        assert yard.workspace == "default"
        assert (await yard.enqueue("code")).created_by == "human:ops"
    with pytest.raises(InvalidInput, match="this one is for default"):
        await taskyard.connect(url_of(server), token=issued.text, workspace="other").open()
    assert issued.text not in caplog.text


@pytest.mark.parametrize("url", ["http://", "http://a?token=x", "http://user:secret@host", "http://a,ftp://b"])
def test_an_address_that_makes_no_sense_or_has_a_secret_is_refused(url: str):
    with pytest.raises(InvalidInput) as refused:
        taskyard.connect(url)

    assert "secret@" not in str(refused.value)
