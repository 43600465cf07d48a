"""Who may do what, over HTTP: every call of the table × everybody who might make it, on one server for all of them.

Those who are refused come first: what the others change does not stand in their way.
"""

from __future__ import annotations

import json

from taskyard.features.tokens.rules import Role
from taskyard.ledger.clock import ManualClock
from taskyard.server.access.limiter import Limiter, Rate
from taskyard.yard import Yard
from tests.security.every_call import HTTP, callers, given_a_scene, names_in
from tests.security.policy import POLICY
from tests.yards import OpenYard, given_an_agent

BAD = ("nothing", "nonsense", "another secret", "expired", "revoked")
PATIENT = Limiter(Rate(per_sec=10_000, burst=10_000))  # there are more calls than anybody may guess tokens for


async def test_a_token_makes_the_calls_of_its_role_and_no_others_and_a_bad_one_makes_the_open_calls(
    yard: Yard, clock: ManualClock
):
    wrong: dict[tuple[str, str], int] = {}
    async with callers(yard, await given_a_scene(yard), guesses=PATIENT, calls=PATIENT) as caller:
        for how in BAD:
            nobody = caller(await given_a_bad_token(yard, clock, how))
            for name in HTTP:
                status = (await nobody.make(name)).status
                if status != (200 if "nobody" in POLICY[name] else 401):
                    wrong[how, name] = status
        for role in (Role.VIEWER, Role.AGENT, Role.ORCHESTRATOR, Role.OPERATOR, Role.ADMIN):
            somebody = caller((await yard.tokens.create(role, role, agent="ada" if role is Role.AGENT else None)).text)
            for name in HTTP:
                status = (await somebody.make(name)).status
                if (status == 403) == (role in POLICY[name]) or status == 401:
                    wrong[role, name] = status

    assert not wrong


async def given_a_bad_token(yard: Yard, clock: ManualClock, how: str) -> str | None:
    issued = await yard.tokens.create("caller", "admin", expires_in_sec=60)
    match how:
        case "nothing":
            return None
        case "nonsense":
            return "let me in"
        case "another secret":
            return issued.text[:-43] + "A" * 43
        case "expired":
            clock.advance(seconds=61)
        case _:
            await yard.tokens.revoke(issued.token.id)
    return issued.text


async def test_a_token_of_another_workspace_finds_nothing_of_this_one(yard: Yard, open_yard: OpenYard):
    scene = await given_a_scene(yard)
    elsewhere = await open_yard(workspace="elsewhere")
    token = (await elsewhere.tokens.create("stranger", "admin")).text
    # What is said of a task or a runtime that nobody has ever heard of, too.
    lost = {"task_id": scene.held.id, "words": ["lease_lost"], "lease_expires_at": None}
    nothing = (lost, {"orphaned": 0, "retried": 0})
    found: dict[str, tuple[int, object]] = {}
    async with callers(yard, scene) as caller:
        for name, call in HTTP.items():
            # Queues, types, names and inboxes need not exist to be used: those of that workspace are meant.
            if names_in(call, scene).keys() - {"queue", "type", "agent", "conversation", "name"}:
                answer = await caller(token).make(name)
                told = json.loads(answer.content)
                if told.get("code") != "not_found" and told not in nothing:
                    found[name] = (answer.status, told)
    # A stream is written to without reading the task: an unknown one gets the same answer.
    unknown = scene._replace(names={**scene.names, "task_id": "task_01J8ZZZZZZZZZZZZZZZZZZZZZZ"})
    async with callers(yard, unknown) as caller:
        answer = await caller(token).make("APPEND")
    assert (json.loads(answer.content)["code"], found.pop("APPEND")[0]) == ("lease_lost", answer.status)

    assert not found
    assert (await yard.get(scene.held.id)).status == "running"


async def test_an_agent_does_not_find_what_another_one_holds_even_with_its_lease(yard: Yard):
    scene = await given_a_scene(yard)
    await given_an_agent(yard, "bob")
    token = (await yard.tokens.create("bob", "agent", agent="bob")).text
    wrong: dict[str, int] = {}
    async with callers(yard, scene) as caller:
        for name, call in HTTP.items():
            if "{task_id}" in call.path and call.allows(Role.AGENT):
                status = (await caller(token).make(name)).status
                if status != 404:
                    wrong[name] = status

    assert not wrong
    assert (await yard.get(scene.held.id)).status == "running"
