"""The agent that sends batches, where the provider refuses, is late, or says nothing about a call."""

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.task import Status
from taskyard.core.units import SECOND, Micros, to_iso
from taskyard.ledger.clock import ManualClock
from taskyard.worker.cheap_lane.batch_provider import provider_of
from taskyard.worker.process.drain import drain
from taskyard.yard import Yard
from tests.batch_providers import FakeProvider
from tests.features.provider_batches.readers import MODELS, TERMS, reader
from tests.yards import elapse

HOUR = 3600
AT_ONCE = replace(TERMS, gather_sec=0)
ONE_BY_ONE = replace(AT_ONCE, most_calls=1)  # each call is a part of its own


@pytest.fixture(params=sorted(MODELS))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_what_was_under_way_in_a_crash_has_ended_before_the_provider_is_searched_for_it(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    at: dict[str, Micros] = {}
    provider.before["POST /v1/batches"] = lambda: at.update(lost=clock.now())
    provider.after["GET /v1/batches"] = lambda: at.update(searched=clock.now())
    task = await yard.enqueue("read", prompt="page", service="batch")

    await drain(yard, [reader("openai", provider, terms=replace(TERMS, search_after_sec=50))], clock=clock)

    assert at["searched"] - at["lost"] >= 50 * SECOND
    assert await yard.result(task.id) == "re: page"


async def test_a_call_for_which_it_is_too_late_is_not_sent(yard: Yard, clock: ManualClock, provider: FakeProvider):
    deadline = Micros(clock.now() + HOUR * SECOND)
    await yard.enqueue("read", prompt="page", service="batch", deadline=to_iso(deadline))
    agent = reader("openai", provider)
    await drain(yard, [agent])

    await elapse(yard, clock, HOUR - TERMS.ordinary_sec - TERMS.cancel_sec + 25)  # nobody was there to send it
    await drain(yard, [agent], clock=clock)

    assert (provider.batches, provider.direct) == ([], ["page"])


async def test_a_batch_is_looked_at_when_it_has_to_be_cancelled_however_seldom_otherwise(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    cancelled: list[Micros] = []
    provider.ends_at_once = False
    provider.after["POST /v1/batches/batch_1/cancel"] = lambda: cancelled.append(clock.now())
    deadline = Micros(clock.now() + HOUR * SECOND)
    await yard.enqueue("read", prompt="page", service="batch", deadline=to_iso(deadline))
    seldom = replace(TERMS, poll_sec=2000, longest_poll_sec=2000)

    await drain(yard, [reader("openai", provider, terms=seldom)], clock=clock)

    (at,) = cancelled
    before = (deadline - at) / SECOND - TERMS.ordinary_sec
    assert 0 < before <= TERMS.cancel_sec


async def test_a_call_that_no_result_is_about_gives_back_what_its_cancelled_task_reserved(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    provider.ends_at_once = False
    await yard.budgets.set(daily_budget_usd="1")
    task = await yard.enqueue("read", prompt="page", service="batch", max_cost_usd="0.25")
    agent = reader("openai", provider, terms=AT_ONCE)
    await drain(yard, [agent])
    await yard.cancel(task.id)
    provider.batches[0].status = "completed"  # without any result

    await drain(yard, [agent], clock=clock)

    (batch,) = await yard.provider_batches.list()
    assert (batch.status, batch.outstanding) == (Status.COMPLETED, 0)
    assert [each for each in await yard.budgets.spending() if each.reserved] == []


async def test_what_was_sent_is_collected_while_the_provider_does_not_take_the_rest(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    down: tuple[int, dict[str, str]] = (500, {})
    provider.after["POST /v1/batches"] = lambda: provider.refusals.extend([down] * 3)
    tasks = [await yard.enqueue("read", prompt=f"page {number}", service="batch") for number in range(2)]

    await drain(yard, [reader("openai", provider, terms=ONE_BY_ONE)], clock=clock)

    first, second = sorted([(await yard.get(task.id)).completed_at or 0 for task in tasks])
    assert 0 < first < provider.batches[1].created_at * SECOND <= second
    (batch,) = await yard.provider_batches.list()
    assert (await yard.get(batch.id)).failures == 0


async def test_calls_that_the_provider_refuses_do_not_wait_for_those_that_it_took(yard: Yard, provider: FakeProvider):
    provider.ends_at_once = False
    provider.after["POST /v1/batches"] = lambda: provider.refusals.append((413, {}))
    tasks = [await yard.enqueue("read", prompt=f"page {number}", service="batch") for number in range(2)]

    await drain(yard, [reader("openai", provider, terms=ONE_BY_ONE)])

    assert (len(provider.batches), len(provider.direct)) == (1, 1)
    assert {(await yard.get(task.id)).status for task in tasks} == {Status.PENDING, Status.COMPLETED}


async def test_results_that_can_be_read_are_settled_and_the_rest_is_waited_for(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    def cut(content: bytes) -> bytes:
        whole = content.splitlines(keepends=True)
        return b"".join([whole[0], whole[1][:40] + b"\n", *whole[2:]])

    provider.rewritten = cut
    tasks = [await yard.enqueue("read", prompt=f"page {number}", service="batch") for number in range(4)]
    agent = reader(kind, provider, terms=AT_ONCE)
    await drain(yard, [agent])
    assert [(await yard.get(task.id)).status for task in tasks].count(Status.COMPLETED) == 3

    provider.rewritten = None
    await drain(yard, [agent], clock=clock)

    assert {(await yard.get(task.id)).status for task in tasks} == {Status.COMPLETED}
    assert (set(provider.billed.values()), provider.direct) == ({1}, [])
    assert (await yard.verify()).ok


@pytest.mark.parametrize("strange", ["", "x" * 300, "a\0b", "nobodys"])
async def test_a_result_about_an_id_that_is_nobodys_keeps_no_other_from_being_settled(
    yard: Yard, clock: ManualClock, provider: FakeProvider, strange: str
):
    line = json.dumps({"custom_id": strange, "response": {"status_code": 200, "body": {}}}).encode()
    provider.rewritten = lambda content: line + b"\n" + content + content
    task = await yard.enqueue("read", prompt="page", service="batch")

    await drain(yard, [reader("openai", provider, terms=AT_ONCE)], clock=clock)

    assert (await yard.result(task.id), provider.billed["page"]) == ("re: page", 1)
    assert (await yard.get((await yard.provider_batches.list())[0].id)).failures == 0


@pytest.mark.parametrize("body", ["text", None, {"model": 7}, {"model": ""}, {"model": "x" * 300, "usage": []}])
async def test_an_answer_of_a_strange_shape_keeps_no_other_from_being_settled(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str, body: Json
):
    def strange(content: bytes) -> bytes:
        lines: list[Any] = [json.loads(line) for line in content.splitlines()]
        if kind == "openai":
            lines[0]["response"]["body"] = body
        else:
            lines[0]["result"]["message"] = body
        return b"\n".join(json.dumps(line).encode() for line in lines)

    provider.rewritten = strange
    tasks = [await yard.enqueue("read", prompt=f"page {number}", service="batch") for number in range(2)]
    agent = reader(kind, provider, terms=AT_ONCE)

    await drain(yard, [agent])

    assert [(await yard.get(task.id)).status for task in tasks].count(Status.COMPLETED) == 1
    assert (await yard.get((await yard.provider_batches.list())[0].id)).failures == 0


async def test_a_provider_may_take_all_of_its_time_to_cancel(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    patience = HOUR - TERMS.ordinary_sec
    provider.ends_at_once, provider.cancels_after, provider.answers = False, patience - 100, 1
    deadline = Micros(clock.now() + HOUR * SECOND)
    task = await yard.enqueue("read", prompt="page", service="batch", deadline=to_iso(deadline))

    await drain(yard, [reader(kind, provider)], clock=clock)

    assert (await yard.result(task.id), provider.billed["page"], provider.direct) == ("re: page", 1, [])


async def test_parts_are_attended_to_while_another_is_searched_for(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    created = "POST /v1/messages/batches"
    provider.ends_at_once = False
    provider.after[created] = lambda: provider.after.update({created: provider.hang_up})  # on the second one
    tasks = [await yard.enqueue("read", prompt=f"page {number}", service="batch") for number in range(3)]
    agent = reader("anthropic", provider, terms=ONE_BY_ONE)
    await drain(yard, [agent])
    assert len(provider.batches) == 2

    provider.end(provider.batches[0])
    await elapse(yard, clock, 60)
    await drain(yard, [agent])

    assert [(await yard.get(task.id)).status for task in tasks].count(Status.COMPLETED) == 1

    provider.ends_at_once = True
    await drain(yard, [agent], clock=clock)

    assert {(await yard.get(task.id)).status for task in tasks} == {Status.COMPLETED}
    assert (set(provider.billed.values()), provider.direct) == ({1}, [])


async def test_a_call_that_was_not_sent_in_time_is_not_sent_after_a_crash_either(
    yard: Yard, clock: ManualClock, provider: FakeProvider, kind: str
):
    created = "POST /v1/batches" if kind == "openai" else "POST /v1/messages/batches"
    provider.before[created] = lambda: None
    deadline = Micros(clock.now() + HOUR * SECOND)
    await yard.enqueue("read", prompt="page", service="batch", deadline=to_iso(deadline))
    agent = reader(kind, provider, terms=AT_ONCE)
    await drain(yard, [agent])

    await elapse(yard, clock, HOUR - TERMS.ordinary_sec - TERMS.cancel_sec + 25)
    await drain(yard, [agent])

    assert (provider.batches, provider.direct) == ([], ["page"])


async def test_a_batch_is_measured_by_the_bytes_that_are_sent(yard: Yard, clock: ManualClock, provider: FakeProvider):
    for _ in range(2):
        await yard.enqueue("read", prompt="\N{SNOWMAN}" * 1000, service="batch")

    await drain(yard, [reader("openai", provider, terms=replace(AT_ONCE, most_bytes=8000))], clock=clock)

    assert [len(batch.requests) for batch in provider.batches] == [1, 1]


async def test_a_batch_is_left_to_agents_of_its_own_provider(
    yard: Yard, clock: ManualClock, provider: FakeProvider, caplog: pytest.LogCaptureFixture
):
    provider.ends_at_once = False
    tasks = [await yard.enqueue("read", prompt="sent", service="batch")]
    await drain(yard, [reader("openai", provider, terms=AT_ONCE)])
    tasks.append(await yard.enqueue("read", prompt="gathered", service="batch"))
    await drain(yard, [reader("openai", provider)])
    await elapse(yard, clock, 120)
    provider.asked.clear()

    await drain(yard, [reader("anthropic", provider)])

    assert provider.asked == []
    assert "openai:127.0.0.1" in caplog.text
    provider.ends_at_once = True
    await drain(yard, [reader("openai", provider)], clock=clock)
    assert [await yard.result(task.id) for task in tasks] == ["re: sent", "re: gathered"]
    assert set(provider.billed.values()) == {1}


async def test_answers_whose_file_is_not_there_yet_are_waited_for(
    yard: Yard, clock: ManualClock, provider: FakeProvider
):
    provider.has_files = False
    task = await yard.enqueue("read", prompt="page", service="batch")
    agent = reader("openai", provider, terms=AT_ONCE)
    await drain(yard, [agent])

    provider.has_files = True
    await drain(yard, [agent], clock=clock)

    assert (await yard.result(task.id), provider.billed["page"], provider.direct) == ("re: page", 1, [])


async def test_the_log_says_why_a_batch_failed_and_its_calls_go_on(
    yard: Yard, clock: ManualClock, provider: FakeProvider, caplog: pytest.LogCaptureFixture
):
    provider.ends_at_once = False
    task = await yard.enqueue("read", prompt="page", service="batch")
    agent = reader("openai", provider, terms=AT_ONCE)
    await drain(yard, [agent])
    provider.batches[0].status = "failed"

    await drain(yard, [agent], clock=clock)

    assert "batch_1 failed: Enqueued token limit reached" in caplog.text
    assert (await yard.result(task.id), provider.direct) == ("re: page", ["page"])


def test_the_refusal_of_a_provider_without_the_client_names_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "taskyard.worker.cheap_lane.openai_batches", None)

    with pytest.raises(InvalidInput, match="batch"):
        provider_of("openai")
