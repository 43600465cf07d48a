"""What an agent's token is for: a type or one id of it, with what was granted and no more."""

from typing import Any

import httpx
import pytest

from taskyard.core.agent import DEFAULT_SLOTS
from taskyard.core.errors import IdentityTaken
from taskyard.features.agents import service as roster
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.server.calling import calling
from tests.yards import given_an_agent


async def registered(client: httpx.AsyncClient, **asked: Any) -> tuple[int, dict[str, Any]]:
    answer = await client.post("/api/agents", json=asked)
    return answer.status_code, answer.json()


async def token_of(yard: Yard, agent: str, **granted: Any) -> str:
    return (await yard.tokens.create("t", "agent", agent=agent, **granted)).text


async def test_an_agent_does_not_become_another(yard: Yard):
    await token_of(yard, "coder")  # nobody of that type has registered yet
    addressed = await yard.enqueue("code", agent="coder")
    async with calling(yard, await token_of(yard, "mallory")) as client:
        status, refused = await registered(client, id="coder", type="mallory")
        claimed = await client.post("/api/tasks/claim", json={"agent_id": "coder"})
        inbox = await client.get("/api/inbox/coder/c1")

    assert (status, refused["code"]) == (409, "identity_taken")
    assert (claimed.status_code, inbox.status_code) == (403, 403)
    assert (await yard.get(addressed.id)).status == "ready"


async def test_a_name_that_work_is_addressed_to_is_not_anybodys(yard: Yard):
    await yard.enqueue("code", agent="bob")
    async with calling(yard, await token_of(yard, "mallory")) as client:
        status, refused = await registered(client, id="bob")
    assert (status, refused["code"]) == (409, "identity_taken")

    with pytest.raises(IdentityTaken):
        await yard.tokens.create("t", "agent", agent="bob-1", agent_id="mallory")
    async with calling(yard, await token_of(yard, "bob")) as client:
        assert (await registered(client, id="bob"))[0] == 201


async def test_a_token_for_one_id_is_for_no_other_of_its_type(yard: Yard):
    await given_an_agent(yard, "coder-2", type="coder")
    async with calling(yard, await token_of(yard, "coder", agent_id="coder-1")) as client:
        assert (await registered(client))[1]["id"] == "coder-1"
        assert (await registered(client, id="coder-2"))[0] == 403
        assert (await client.post("/api/tasks/claim", json={"agent_id": "coder-2"})).status_code == 403
        assert (await client.post("/api/tasks/claim", json={"agent_id": "coder-1"})).status_code == 200


async def test_a_token_for_a_type_registers_ids_of_it(yard: Yard):
    async with calling(yard, await token_of(yard, "coder")) as client:
        _, minted = await registered(client)
        _, named = await registered(client, id="laptop")
        assert (await registered(client, id="laptop", type="reviewer"))[0] == 403

    assert minted["id"].startswith("coder-")
    assert (minted["type"], named["type"]) == ("coder", "coder")


async def test_an_agent_does_not_leave_its_budget_and_slots_behind(yard: Yard):
    for _ in range(5):
        await yard.enqueue("code", max_cost_usd="0.60")
    async with calling(yard, await token_of(yard, "alice", budget_usd="2.00", slots=2)) as client:
        claims: list[int] = []
        for name in ("alice", "alice2", "alice3"):
            await registered(client, id=name, type="alice", budget_usd=1000, max_concurrent_tasks=100)
            answer = await client.post("/api/tasks/claim", json={"agent_id": name, "count": 5})
            claims.append(len(answer.json()["tasks"]))

    assert claims == [2, 0, 0]
    assert (await yard.agents.get("alice3")).budget == 2_000_000


async def test_a_token_that_names_no_slots_bounds_them_and_who_wants_more_asks_an_admin(yard: Yard):
    for _ in range(30):
        await yard.enqueue("code")
    admin = (await yard.tokens.create("a", "admin")).text
    async with calling(yard, await token_of(yard, "alice")) as client, calling(yard, admin) as boss:
        claimed: list[int] = []
        for name in ("alice", "alice2"):
            await registered(client, id=name, type="alice", max_concurrent_tasks=100)
            answer = await client.post("/api/tasks/claim", json={"agent_id": name, "count": 30})
            claimed.append(len(answer.json()["tasks"]))
        own = await client.put("/api/agents/alice/grant", json={"slots": "unlimited"})
        granted = await boss.put("/api/agents/alice/grant", json={"slots": "unlimited"})
        more = await client.post("/api/tasks/claim", json={"agent_id": "alice2", "count": 30})

    assert (claimed, own.status_code, granted.json()["slots"]) == ([DEFAULT_SLOTS, 0], 403, None)
    assert len(more.json()["tasks"]) == 30 - DEFAULT_SLOTS


async def test_a_token_for_one_id_bounds_its_slots_too(yard: Yard):
    async with calling(yard, await token_of(yard, "coder", agent_id="coder-1")) as client:
        _, known = await registered(client, max_concurrent_tasks=1000)

    assert known["max_concurrent_tasks"] == DEFAULT_SLOTS


async def test_a_type_has_a_most_of_ids_and_the_longest_silent_gives_way(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(roster, "MOST_IDS", 3)
    await yard.enqueue("code", timeouts={"lease_sec": 1000})
    async with calling(yard, await token_of(yard, "coder")) as client:
        await registered(client, id="busy")
        assert (await client.post("/api/tasks/claim", json={"agent_id": "busy", "start": True})).json()["tasks"]
        for name in ("silent", "later"):
            clock.advance(seconds=1)
            await registered(client, id=name)
        status, refused = await registered(client, id="one-too-many")
        assert (status, refused["code"]) == (403, "forbidden")
        assert (await registered(client, id="later", capabilities=["git"]))[0] == 201  # it is known

        clock.advance(seconds=100)
        assert (await registered(client, id="new"))[0] == 201

    assert {view.id for view in await yard.agents.list()} == {"busy", "later", "new"}
    for number in range(3):
        await yard.agents.register(f"coder-{number}", "coder")  # who has the store open is not counted


async def test_nobody_judges_by_another_name_what_its_own_token_has_made(yard: Yard):
    await yard.enqueue("code", output={"validation": "llm-judge"})
    both, judge = [(await yard.tokens.create(name, "orchestrator")).text for name in ("both", "judge")]
    async with calling(yard, both) as client, calling(yard, judge) as other:
        await registered(client, id="coder")
        await registered(client, id="reviewer", capabilities=["llm-judge"])
        await registered(other, id="judge", capabilities=["llm-judge"])
        (held,) = (await client.post("/api/tasks/claim", json={"agent_id": "coder", "start": True})).json()["tasks"]
        done = await client.post(f"/api/tasks/{held['id']}/complete", json={"lease": held["lease"], "output": 1})
        own = await client.post("/api/tasks/claim", json={"agent_id": "reviewer"})
        others = await other.post("/api/tasks/claim", json={"agent_id": "judge"})

    assert (done.json()["status"], own.json()["tasks"]) == ("validating", [])
    assert len(others.json()["tasks"]) == 1


async def test_a_grant_that_is_narrowed_holds_from_the_next_claim_of_an_agent_at_work(yard: Yard):
    await yard.enqueue("review")
    task = await yard.enqueue("code")
    admin = (await yard.tokens.create("a", "admin")).text
    async with calling(yard, await token_of(yard, "coder")) as client, calling(yard, admin) as boss:
        await registered(client, id="coder", max_concurrent_tasks=9)
        granted = await boss.put("/api/agents/coder/grant", json={"types": ["code"]})
        claimed = await client.post("/api/tasks/claim", json={"agent_id": "coder", "count": 9})

    assert granted.json() == {"types": ["code"], "capabilities": None, "queues": None, "slots": DEFAULT_SLOTS}
    assert [each["id"] for each in claimed.json()["tasks"]] == [task.id]


@pytest.mark.parametrize("judging", ["llm-judge", "test-runner"])
async def test_to_judge_is_granted_and_not_merely_claimed(yard: Yard, judging: str):
    async with calling(yard, await token_of(yard, "coder")) as client:
        status, refused = await registered(client, id="coder", capabilities=["git", judging])
    assert (status, judging in refused["detail"]) == (403, True)

    async with calling(yard, await token_of(yard, "judge", capabilities=[judging])) as client:
        assert (await registered(client, id="judge", capabilities=[judging]))[0] == 201


async def test_grants_go_with_the_role_agent_only(yard: Yard):
    admin = (await yard.tokens.create("a", "admin")).text
    async with calling(yard, admin) as client:
        refused = await client.post("/api/tokens", json={"name": "x", "role": "viewer", "slots": 3})
        made = await client.post("/api/tokens", json={"name": "x", "role": "agent", "agent": "coder", "slots": 3})

    assert (refused.status_code, made.status_code) == (422, 201)
    assert (made.json()["agent"], made.json()["agent_id"]) == ("coder", None)
