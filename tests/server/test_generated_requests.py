"""Whatever is asked, the answer is in the document: no fault of the server's, no silence, nothing undocumented.

`TASKYARD_GENERATED_REQUESTS` says how many requests each store gets; `make requests` sends 20,000.
"""

from __future__ import annotations

import os
from collections import defaultdict
from random import Random
from typing import Any, cast

import httpx
import pytest

from taskyard.server.server import served
from taskyard.yard import Yard
from tests.server.documented import Document
from tests.server.generating import Generated, Imagination, Known, plain, varied

NUMBER = int(os.environ.get("TASKYARD_GENERATED_REQUESTS", "400"))
OF_EACH = 1  # made up for every operation, good and bad alike; the others are variations of these
PATIENCE = 20.0  # seconds after which an answer counts as none

# What is seldom made up so that it can succeed.
PLAIN = [
    plain("POST", "/api/tasks/claim", {"agent_id": "", "types": [""]}),
    plain("POST", "/api/tasks/{task_id}/complete", {"lease": "", "output": {"made": "up"}}),
    plain("POST", "/api/tasks/{task_id}/fail", {"lease": "", "reason": "crash"}),
    plain("POST", "/api/tasks/{task_id}/suspend", {"lease": "", "kind": "sleep", "name": "nap", "duration_sec": 1}),
    plain("POST", "/api/tasks/{task_id}/spawn", {"lease": "", "name": "more", "tasks": [{"type": "code"}]}),
    plain("POST", "/api/tasks/{task_id}/priority", {"priority": 7}),
    plain("POST", "/api/tasks/{task_id}/rerun"),
    plain("GET", "/api/tasks/{task_id}/children", name="more"),
    plain("POST", "/api/issues/{issue_id}/rerun", {}),
    plain("POST", "/api/dead-letters/{task_id}/resolve", {"resolution": "retry"}),
    plain("POST", "/api/dags/{dag_id}/tasks", {"tasks": [{"type": "code"}]}),
]


@pytest.mark.timeout(1800)
async def test_no_generated_request_gets_an_answer_that_the_document_does_not_have(yard: Yard):
    token = (await yard.tokens.create("generator", "admin")).text
    faults: list[str] = []
    answered: defaultdict[str, set[int]] = defaultdict(set)
    async with (
        served(yard) as server,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=PATIENCE) as client,
    ):
        document = Document((await client.get("/openapi.json")).json())
        made_up, dice = Imagination(document.content, OF_EACH), Random(NUMBER)
        known: Known = {}
        for number in range(NUMBER):
            if number % 100 == 0:
                known = await things_that_exist(yard, number)
            chosen = dice.choice(PLAIN) if number % 10 == 0 else made_up.choose(dice)
            asked = unhurried(varied(chosen, known, dice))
            answer = await send(client, asked, token)
            answered[f"{asked.method} {asked.path}"].add(answer.status_code)
            faults += [f"{asked}\n  {fault}" for fault in document.faults(asked.method, asked.path, answer)]
            if answer.status_code >= 500:
                faults.append(f"{asked}\n  {answer.text}")

    assert not faults, f"{len(faults)} faults, the first of them:\n" + "\n".join(fault[:1000] for fault in faults[:20])
    never = [call for call, statuses in answered.items() if min(statuses) >= 300]
    # Of few requests, some calls have had none that could have succeeded.
    assert not never or NUMBER < 3000, f"so little was right about what was sent that these never succeeded: {never}"


async def send(client: httpx.AsyncClient, asked: Generated, token: str) -> httpx.Response:
    headers = {**asked.headers, "authorization": f"Bearer {token}", "content-type": "application/json"}
    return await client.request(asked.method, asked.url, headers=headers, content=asked.content)


def unhurried(asked: Generated) -> Generated:
    """No generated request waits for a minute, or acts on everything that all those before it have made."""
    for part in (asked.query, asked.body):
        _hurry(part)
        if isinstance(part, dict):
            members = cast(dict[str, Any], part)
            _hurry(members.get("claim"))
            if isinstance(members.get("filter"), dict):
                members["filter"].setdefault("queue", "queue/0")
    return asked


def _hurry(part: object) -> None:
    if isinstance(part, dict):
        members = cast(dict[str, Any], part)
        if isinstance(members.get("wait_sec"), int | float):
            members["wait_sec"] = min(members["wait_sec"], 0.01)


async def things_that_exist(yard: Yard, number: int) -> Known:
    """Something of every kind, whatever was done to what there was before."""
    await yard.budgets.set()
    await yard.breakers.set_policy()
    await yard.queues.set_report_policy(required=False)
    await yard.presets.set("standard")
    type_, queue, agent, runtime = f"type/{number}", f"queue/{number}", f"agent/{number}", f"runtime/{number}"
    await yard.runtimes.register(runtime)
    await yard.agents.register(agent, max_concurrent_tasks=1000, runtime_id=runtime, types=[type_])
    draft = {"type": type_, "queue": queue, "subject": f"issue:{number}", "dedup": "none", "max_attempts": 1}
    tasks = await yard.enqueue_many([draft] * 60)
    dag = await yard.submit({"tasks": [{"type": "code", "name": "first"}, {"type": "code", "depends_on": ["first"]}]})
    held = await yard.claim(agent, count=45, start=True)
    assert len(held) == 45, "without leases nothing could succeed"
    for each in held[:10]:
        await yard.complete(each.id, each.lease, {"done": True})
    for each in held[10:15]:
        await yard.fail(each.id, each.lease, "crash")
    for each in held[15:20]:
        await yard.tasks.spawn(each.id, each.lease, [{"type": "code"}], name="more")
    spawners = [str(each.id) for each in held[15:20]]
    await yard.schedules.add("nightly", "@daily", task={"type": type_}, replace=True)
    await yard.triggers.add("deploys", "webhook", ready_made="json", replace=True)
    token = await yard.tokens.create("to be revoked", "viewer")
    ids = [str(task.id) for task in tasks]
    return {
        "task_id": ids + spawners * 6, "parent_id": ids, "parent": ids, "depends_on": ids[-5:], "id": [agent],
        "agent_id": [agent], "agent": [agent], "runtime_id": [runtime], "queue": [queue], "queues": [queue],
        "dag_id": [dag.id], "dag": [dag.id], "type": ["code", type_], "types": [type_], "issue_id": [str(number)],
        "token_id": [token.token.id], "status": ["ready", "running", "completed", "dead_lettered"],
        "lease": [f"{each.id} {each.lease}" for each in held[15:]], "preset": ["standard", "loki"],
        "view": ["multica"], "name": ["more"], "schedule_id": ["nightly"], "trigger_id": ["deploys"],
        "when": ["every day at 02:30 Europe/Berlin"], "ready_made": ["json"],
    }  # fmt: skip
