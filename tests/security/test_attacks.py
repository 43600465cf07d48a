"""The table of attacks over HTTP: each is refused as it says, nothing of it is stored, and nobody is called."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from taskyard.app import a2a_mount, mcp_mount
from taskyard.features.tokens.sign_in_settings import sign_in_settings
from taskyard.ledger.clock import ManualClock
from taskyard.server.access.limiter import Limiter, Rate
from taskyard.server.server import served
from taskyard.yard import Yard
from tests.listening import Listener, listening
from tests.security.attacks import LISTENER, SPOKEN, TABLE, Attack
from tests.security.door_attacks import DOORS
from tests.server.calling import client_of
from tests.yards import OpenYard, claim_that, given_an_agent

ATTACKS = TABLE | DOORS
PATIENT = Limiter(Rate(per_sec=10_000, burst=10_000))  # the attacks are counted elsewhere


class Scene(NamedTuple):
    """A server with something to attack, and all that an attacker may know of it."""

    yard: Yard
    port: int
    names: dict[str, str]
    listener: Listener


@pytest.fixture
async def scene(open_yard: OpenYard, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Scene]:
    yard = await open_yard(artifacts=(tmp_path / "files").as_uri())
    names = await given_something_to_attack(yard, await open_yard(workspace="elsewhere"), clock)
    proxies = sign_in_settings(workspace="default", members=("ops=admin", "*=admin"), proxy_addresses="10.9.9.9")
    async with (
        listening() as listener,
        served(yard, sign_in=proxies, guesses=PATIENT, calls=PATIENT, mcp=mcp_mount(), a2a=a2a_mount()) as server,
    ):
        names |= {"port": str(server.port)}
        yield Scene(yard, server.port, names, listener)


async def given_something_to_attack(yard: Yard, elsewhere: Yard, clock: ManualClock) -> dict[str, str]:
    made = [await yard.tokens.create(role, role) for role in ("viewer", "orchestrator", "operator", "admin")]
    names = {issued.token.name: issued.text for issued in made}
    short, revoked = [await yard.tokens.create(name, "admin", expires_in_sec=1) for name in ("short", "gone")]
    await yard.tokens.revoke(revoked.token.id)
    names |= {"expired": short.text, "revoked": revoked.text, "token": made[0].token.id}
    names |= {
        "forged": made[3].text[:-43] + "A" * 43,
        "agent": (await yard.tokens.create("a", "agent", agent="ada")).text,
    }
    names["elsewhere"] = (await elsewhere.tokens.create("root", "admin")).text
    clock.advance(seconds=2)
    names["session"] = (await yard.local.sessions.begin(made[3].token)).text
    for agent, name in (("ada", "task"), ("bob", "other")):
        await given_an_agent(yard, agent)
        made = await yard.enqueue("code", agent=agent, dedup="none", max_cost_usd=2)
        held = await claim_that(yard, made.id, by=agent, start=True)
        names |= {name: held.id, "lease" if name == "task" else f"{name}_lease": held.lease}
    hook = (await yard.triggers.add("reports", "webhook", ready_made="json")).view.trigger.path
    file = await yard.artifacts.put("digits.txt", "0123456789")
    await yard.enqueue("code", agent="ada", dedup="none")
    (asked,) = await yard.claim("ada", start=True)
    binary = {"type": "string", "format": "binary"}
    await yard.attempts.ask(asked.id, asked.lease, "deploy", "Which file?", answer_schema=binary)
    await yard.a2a.publish("code")
    shared = await yard.a2a.share(names["task"])
    return {**names, "hook": str(hook), "artifact": file.id, "handle": shared.handle, "asked": asked.id}


def filled(text: str, scene: Scene) -> str:
    for name, value in scene.names.items():
        text = text.replace(f"{{{name}}}", value)
    return text.replace(LISTENER, scene.listener.url)


async def sent(client: httpx.AsyncClient, attack: Attack, scene: Scene) -> httpx.Response:
    method, path = filled(attack.call, scene).split(" ", 1)
    content = attack.content if attack.json is None else filled(json.dumps(attack.json), scene).encode()
    shown = {} if attack.who == "nobody" else {"authorization": f"Bearer {scene.names[attack.who]}"}
    said = {name: filled(value, scene) for name, value in attack.headers.items()}
    headers = {"content-type": "application/json", **shown, **said}
    return await client.request(method, path, content=content, headers=headers)


async def stored(yard: Yard) -> Any:
    """All that an attack may not change."""
    tasks = [(task.id, task.status) for task in await yard.find(limit=200)]
    records = [len(await yard.store.records(kind)) for kind in ("token", "session", "schedule", "fire", "delivery")]
    return tasks, records, await yard.artifacts.list(), [each.trigger for each in await yard.triggers.list()]


@pytest.mark.parametrize("kind", ATTACKS)
async def test_every_attack_of_the_table_is_refused_as_it_says(scene: Scene, kind: str):
    before, wrong = await stored(scene.yard), dict[str, str]()
    async with client_of(scene.port) as client:
        for attack in ATTACKS[kind]:
            answer = await sent(client, attack, scene)
            is_problem = answer.headers["content-type"] == "application/problem+json"
            code = answer.json()["code"] if is_problem else answer.text[:100]
            if (answer.status_code, code) != (attack.status, attack.code):
                wrong[attack.name] = f"{answer.status_code} {answer.text[:300]}"
        well = await client.get("/healthz")

    assert not wrong
    assert (well.status_code, scene.listener.connections) == (200, 0)
    assert await stored(scene.yard) == before


async def test_what_is_no_sound_http_is_refused(scene: Scene):
    answers = {each.name: await answered(scene.port, each.sent) for each in SPOKEN}

    assert {each.name: answers[each.name] for each in SPOKEN if not answers[each.name].startswith(each.answer)} == {}


async def answered(port: int, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        async with asyncio.timeout(20):
            return await reader.readline()
    finally:
        writer.close()


def test_the_table_is_as_long_as_was_promised():
    assert sum(map(len, ATTACKS.values())) + len(SPOKEN) >= 200
    assert all(len({attack.name for attack in attacks}) == len(attacks) for attacks in ATTACKS.values())
