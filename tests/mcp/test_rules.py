"""Rules of the MCP server that a client meets one at a time: confirmation, elicitation, cuts, leases, hints."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

import taskyard
from taskyard.app import Yard
from taskyard.core.json_value import Json
from taskyard.features.tokens.rules import Role
from taskyard.mcp.catalogue import TOOLS
from taskyard.mcp.desk import Desk, Seat
from taskyard.mcp.lease_keeper import KEPT_FOR, LONGEST_ATTEMPT, LeaseKeeper
from taskyard.mcp.resources.event_reader import EventReader
from taskyard.mcp.short_answers import LONGEST_VALUE
from taskyard.mcp.toolbox import MOST_BYTES, answered
from taskyard.mcp.tools.attempts import LONGEST_TASK
from tests.mcp.clients import answer_of, serving, text_of
from tests.mcp.raw import ACCEPT, EXTENSION, Raw

# Written down a second time, on purpose: a client asks its user before it calls one of these.
DESTRUCTIVE = "cancel_task release_task resolve_dead_letter"
LOOKS = """
    get_task find_tasks why_waiting wait_for_task list_approvals list_dead_letters yard_overview spend_report
    read_artifact search_memory
"""


class Hours:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with taskyard.connect("memory://", sweeps=False) as yard:
        yield yard


@pytest.fixture
def clock() -> Hours:
    return Hours()


@pytest.fixture
async def desk(yard: Yard, clock: Hours) -> AsyncIterator[Desk]:
    """A client over stdio, without the pipe."""
    keeper, changes = LeaseKeeper(clock=clock), EventReader(yard)
    yield Desk(yard=yard, role=Role.ADMIN, seat=Seat(agent_id="coder"), leases=keeper, changes=changes)
    await keeper.close()
    await changes.close()


async def call(desk: Desk, tool: str, **arguments: Any) -> dict[str, Any]:
    return answer_of(await TOOLS[tool].answer(desk, arguments))


async def a_dead_letter(yard: Yard) -> str:
    task = await yard.enqueue("code", max_attempts=1)
    await yard.agents.register("ada")
    (held,) = await yard.claim("ada", start=True)
    await yard.fail(held.id, held.lease, "auth_failure", "no key")
    return task.id


@pytest.mark.parametrize(
    ("answer", "resolved"),
    [
        ({"action": "accept", "content": {"confirm": True}}, True),
        ({"action": "accept", "content": {"confirm": False}}, False),
        ({"action": "accept", "content": {}}, False),
        ({"action": "decline", "content": {"confirm": True}}, False),
        ({"action": "cancel"}, False),
    ],
)
async def test_a_client_that_can_ask_its_user_is_made_to_whatever_the_model_says(
    yard: Yard, answer: dict[str, Any], resolved: bool
):
    task_id = await a_dead_letter(yard)
    arguments = {"task_id": task_id, "resolution": "cancel", "confirmed": True}
    async with serving(yard) as url:
        raw = Raw(url)
        asked = (await raw.call("resolve_dead_letter", **arguments))["result"]
        before = (await yard.get(task_id)).status.value
        done = await raw.ask(
            "tools/call", name="resolve_dead_letter", arguments=arguments, inputResponses={"confirm": answer}
        )

    assert (asked["resultType"], before) == ("input_required", "dead_lettered")
    assert task_id in asked["inputRequests"]["confirm"]["params"]["message"]
    assert ("forbidden: " in str(done)) is not resolved
    assert ((await yard.get(task_id)).status.value == "cancelled") is resolved


@pytest.mark.parametrize(
    ("confirmed", "resolved"), [({}, False), ({"confirmed": False}, False), ({"confirmed": True}, True)]
)
async def test_for_a_client_that_cannot_ask_the_model_must_say_that_the_user_agreed(
    yard: Yard, confirmed: dict[str, bool], resolved: bool
):
    task_id = await a_dead_letter(yard)
    async with serving(yard) as url:
        raw = Raw(url, elicits=False)
        done = await raw.call("resolve_dead_letter", task_id=task_id, resolution="cancel", **confirmed)

    assert ("Correct confirmed: " in str(done)) is not resolved
    assert ((await yard.get(task_id)).status.value == "cancelled") is resolved


async def a_wait(yard: Yard, raw: Raw) -> tuple[str, str]:
    """The handle and the id of a task that waits for a signal."""
    handle = (await raw.call("run_task", type="deploy"))["result"]["taskId"]
    (task,) = await yard.find()
    await yard.agents.register("ada")
    (held,) = await yard.claim("ada", start=True)
    await yard.attempts.wait_for(held.id, held.lease, "wait:approve", "approve")
    return handle, task.id


@pytest.mark.parametrize(
    ("answer", "data"),
    [
        ({"action": "accept", "content": {"approved": True}}, {"approved": True}),
        ({"action": "decline"}, {"approved": False, "declined": True}),
        ({"action": "cancel"}, None),
        ("yes", None),
    ],
)
async def test_an_answer_is_the_signal_a_refusal_too_and_putting_aside_is_neither(yard: Yard, answer: Any, data: Json):
    async with serving(yard) as url:
        raw = Raw(url)
        handle, task_id = await a_wait(yard, raw)
        (key,) = (await raw.ask("tasks/get", taskId=handle))["result"]["inputRequests"]
        await raw.ask("tasks/update", taskId=handle, inputResponses={key: answer})

    waits = await yard.approvals.list(task_id=task_id)
    assert bool(waits) is (data is None)
    if data is not None:
        (held,) = await yard.claim("ada", start=True)
        heard: Any = await yard.attempts.wait_for(held.id, held.lease, "wait:approve", "approve")
        assert heard.data == data


@pytest.mark.parametrize("answer", [{"action": "decline"}, {"action": "accept", "content": {"answer": "elsewhere"}}])
async def test_a_question_with_choices_is_answered_by_one_of_them_and_not_by_declining(yard: Yard, answer: Any):
    async with serving(yard) as url:
        raw = Raw(url)
        handle = (await raw.call("run_task", type="deploy"))["result"]["taskId"]
        await yard.agents.register("ada")
        (held,) = await yard.claim("ada", start=True)
        await yard.attempts.ask(held.id, held.lease, "ask", "Where to?", choices=["here", "there"])
        (key,) = (await raw.ask("tasks/get", taskId=handle))["result"]["inputRequests"]
        said = await raw.ask("tasks/update", taskId=handle, inputResponses={key: answer})

    assert len(await yard.approvals.list(task_id=held.id)) == 1
    assert ("error" in said) is (answer["action"] == "accept")


async def test_an_answer_under_the_handle_of_a_life_that_ended_is_not_heard_in_the_next(yard: Yard):
    async with serving(yard) as url:
        raw = Raw(url)
        handle = (await raw.call("run_task", type="deploy"))["result"]["taskId"]
        await yard.agents.register("ada")
        (held,) = await yard.claim("ada", start=True)
        await yard.fail(held.id, held.lease, "auth_failure", "no key")
        await yard.dead_letters.resolve(held.id, "retry", by="human:ann")
        (again,) = await yard.claim("ada", start=True)
        await yard.attempts.wait_for(again.id, again.lease, "wait:approve", "approve")
        (wait,) = await yard.approvals.list(task_id=held.id)
        accepted = {"action": "accept", "content": {"approved": True}}
        await raw.ask("tasks/update", taskId=handle, inputResponses={f"{wait.signal}:{wait.wait}": accepted})
        await raw.ask("tasks/cancel", taskId=handle)

    assert len(await yard.approvals.list(task_id=held.id)) == 1
    assert (await yard.get(held.id)).status.value == "pending"


async def test_a_client_that_cannot_ask_is_not_asked(yard: Yard):
    async with serving(yard) as url:
        handle, _ = await a_wait(yard, Raw(url))
        shown = (await Raw(url, elicits=False).ask("tasks/get", taskId=handle))["result"]

    assert (shown["status"], "inputRequests" in shown) == ("working", False)
    assert shown["pollIntervalMs"] == 2_000


async def test_a_task_says_how_long_it_is_kept_and_when_to_ask_again(yard: Yard):
    async with serving(yard) as url:
        raw = Raw(url)
        now = (await raw.call("run_task", type="deploy"))["result"]
        later = (await raw.call("run_task", type="deploy", run_after="2099-01-01T00:00:00Z"))["result"]

    assert (now["ttlMs"], now["pollIntervalMs"]) == (7 * 24 * 3600 * 1000, 500)
    assert later["pollIntervalMs"] == 30_000
    assert {"taskId", "status", "createdAt", "lastUpdatedAt"} <= now.keys()


async def test_the_protocol_before_has_no_tasks_whatever_its_client_declares(yard: Yard):
    headers = {"accept": ACCEPT, "content-type": "application/json"}
    capabilities: dict[str, Any] = {"extensions": {EXTENSION: {}}}
    hello: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "clientInfo": {"name": "t", "version": "1"},
    }
    asked = {"name": "run_task", "arguments": {"type": "deploy", "wait_sec": 0}}
    async with serving(yard) as url, httpx.AsyncClient(timeout=60, headers=headers) as client:
        begun = await client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        session = {"mcp-session-id": begun.headers["mcp-session-id"]}
        await client.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked}
        answer = await client.post(url, json=body, headers=session)

    assert "structuredContent" in answer.text
    assert "taskId" not in answer.text


@pytest.mark.parametrize(
    ("given", "longest", "kept_until"),
    [({}, None, KEPT_FOR), ({"lease_sec": 60}, None, 60), ({}, 120, 120), ({"lease_sec": 60}, 120, 60)],
)
async def test_a_claimed_lease_is_kept_as_long_as_was_asked_for_and_no_longer_than_the_task_may_take(
    desk: Desk, clock: Hours, given: dict[str, Any], longest: int | None, kept_until: float
):
    await desk.yard.enqueue("code", **({} if longest is None else {"max_duration_sec": longest}))
    lease = (await call(desk, "claim_task", **given))["lease"]

    clock.now = kept_until - 1
    assert desk.leases.keeps(lease)
    clock.now = kept_until + 1
    assert not desk.leases.keeps(lease)


async def test_no_call_keeps_a_lease_longer_than_the_task_may_take(yard: Yard, desk: Desk, clock: Hours):
    await yard.enqueue("code", max_duration_sec=3 * 3600)
    mine = await call(desk, "claim_task")
    for hour in range(1, 5):
        clock.now = min(hour * LONGEST_ATTEMPT, 3 * 3600 - 1.0)
        desk.leases.called()
    assert desk.leases.keeps(mine["lease"])
    clock.now = 3 * 3600 + 1.0
    desk.leases.called()
    assert not desk.leases.keeps(mine["lease"])


@pytest.mark.parametrize("patience", [KEPT_FOR * 10, float("inf")])
async def test_nobody_is_waited_for_longer_than_fifteen_minutes(yard: Yard, clock: Hours, patience: float):
    keeper = LeaseKeeper(clock=clock)
    keeper.keep(yard, "task", "lease", lease_sec=60, patience=patience)
    clock.now = KEPT_FOR + 1

    assert not keeper.keeps("lease")
    await keeper.close()


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("complete_task", {"output": 1}),
        ("fail_task", {"error": "no"}),
        ("release_task", {}),
        ("ask_human", {"question": "Go on?"}),
        ("spawn_tasks", {"tasks": [{"type": "code"}], "wait": True}),
    ],
)
async def test_a_lease_that_is_over_is_let_go(yard: Yard, desk: Desk, tool: str, more: dict[str, Any]):
    await yard.enqueue("code")
    held = await call(desk, "claim_task")
    await call(desk, tool, task_id=held["task_id"], lease=held["lease"], **more)

    assert not desk.leases.keeps(held["lease"])


async def test_long_values_are_cut_and_say_where_the_whole_is(yard: Yard, desk: Desk):
    long = "x" * (LONGEST_VALUE + 1)
    task = await yard.enqueue("code", prompt=long, payload={"text": long})
    short = await yard.enqueue("code", prompt="short", payload={"text": "short"})
    shown = (await call(desk, "get_task", task_id=task.id))["task"]
    whole = (await call(desk, "get_task", task_id=short.id))["task"]

    where = f"yard://tasks/{task.id}"
    assert (shown["payload"]["cut"], shown["payload"]["whole"]) == (True, where)
    assert shown["payload"]["bytes"] == LONGEST_VALUE + 1 + len('{"text":""}')
    assert len(shown["prompt"]) < 3_000
    assert where in shown["prompt"]
    assert (whole["prompt"], whole["payload"]) == ("short", {"text": "short"})


async def test_an_agent_gets_its_task_whole_up_to_a_bound(yard: Yard, desk: Desk):
    most = LONGEST_TASK // 2
    await yard.enqueue("code", prompt="x" * most, payload={"text": "y" * (most - 100)}, priority=10)
    await yard.enqueue("code", prompt="x" * (most + 1), payload={"text": "y" * most}, priority=90)
    whole = await call(desk, "claim_task")
    bounded = await call(desk, "claim_task")

    assert (len(whole["prompt"]), len(whole["payload"]["text"])) == (most, most - 100)
    assert len(bounded["prompt"]) < most
    assert bounded["payload"]["cut"] is True


def test_an_answer_that_is_too_large_says_so_and_that_it_was_done():
    fits, large = answered({"text": "x" * (MOST_BYTES - 100)}), answered({"text": "x" * MOST_BYTES})

    assert (fits.is_error, large.is_error) == (False, True)
    assert text_of(large).startswith("too_large: It was done")


def test_tools_say_what_they_do_to_the_yard():
    hints = {name: tool.hints for name, tool in TOOLS.items()}

    assert {name for name, each in hints.items() if each.destructive_hint} == set(DESTRUCTIVE.split())
    assert {name for name, each in hints.items() if each.read_only_hint} == set(LOOKS.split())
    assert all(each.open_world_hint is False for each in hints.values())
    assert {name for name, tool in TOOLS.items() if tool.confirmation} == {"resolve_dead_letter"}


@pytest.mark.parametrize(
    ("tool", "bad"),
    [
        ("find_tasks", {"limit": 51}),
        ("list_dead_letters", {"limit": 51}),
        ("wait_for_task", {"task_id": "task_00000000000000000000000001", "timeout_sec": 51}),
        ("claim_task", {"wait_sec": 51}),
        ("claim_task", {"lease_sec": KEPT_FOR + 1}),
    ],
)
async def test_what_a_model_may_ask_for_is_bounded(desk: Desk, tool: str, bad: dict[str, Any]):
    refused = await TOOLS[tool].answer(desk, bad)

    assert text_of(refused).startswith(f"invalid_input: Correct {list(bad)[-1]}: ")
