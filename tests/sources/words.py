"""Words for tests that tell stories about schedules, triggers and hooks."""

import json
import logging
from typing import Any

import pytest

from taskyard.core.errors import DeliveryRefused
from taskyard.core.units import Micros, to_iso
from taskyard.features.sources.fires import Fire
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.signing import signed, signed_for_github
from taskyard.yard import Yard
from tests.remote import Beyond
from tests.yards import given_an_agent

HOUR = 3600.0
DAY = 24 * HOUR
AUDIT = {"type": "audit", "prompt": "Audit of {{ fire.date }}"}
ETL: dict[str, Any] = {
    "title": "ETL",
    "tags": ["etl"],
    "tasks": [{"name": "fetch", "type": "fetch"}, {"type": "load", "depends_on": ["fetch"]}],
}
REPORT = {
    "type": "report",
    "prompt": "Report on {{ output.rows }} rows of {{ dag.title }}",
    "context_refs": "{{ refs }}",
}
RULE = {"measure": "failure_rate", "type": "code", "above": 0.4, "over": 5, "window_sec": 3600}
MEND = {"type": "mend", "prompt": "{{ rule.why }}", "payload": {"mean": "{{ rule.mean }}"}}
DEPLOY = {"type": "check", "prompt": "Check {{ body.service }}", "payload": "{{ body }}"}
BODY = b'{"service": "api", "ok": false}'
PULL_REQUEST = {
    "action": "opened",
    "repository": {"full_name": "acme/shop"},
    "pull_request": {"number": 9, "title": "Fix it", "html_url": "https://example.com/9", "user": {"login": "ann"}},
}


def behind(yard: Yard) -> Yard:
    """Whoever has the store: beyond a server, that is the server."""
    return yard.behind if isinstance(yard, Beyond) else yard


# Schedules


async def given_a_schedule(yard: Yard, when: str = "0 * * * *", **more: Any) -> str:
    given: dict[str, Any] = {"task": AUDIT, **more}
    await yard.schedules.add("audit", when, **given)
    return "audit"


async def pass_by(yard: Yard, clock: ManualClock, seconds: float) -> None:
    """Let time pass with nobody there, and then somebody."""
    clock.advance(seconds=seconds)
    await yard.sweep()


async def fires(yard: Yard, schedule_id: str = "audit") -> list[tuple[str, str | None]]:
    """What became of which time, earliest first."""
    found = await yard.schedules.fires(schedule_id, limit=200)
    return [(each.outcome.value, None if each.nominal is None else short(each.nominal)) for each in reversed(found)]


def short(at: Micros) -> str:
    return to_iso(at)[5:16]


# Triggers


async def given_a_report_on(yard: Yard, **settings: Any) -> None:
    await given_an_agent(yard)
    await yard.triggers.add("report", "dag", settings=settings, task=REPORT)


async def finish(yard: Yard, dag: dict[str, Any], *, output: Any = None, number: int = 2) -> str:
    """Put a graph in and work it off."""
    made = await yard.submit(dag)
    for _ in range(number):
        (held,) = await yard.claim("worker", start=True, types=["fetch", "load"])
        await yard.complete(held.id, held.lease, output or {"rows": 7})
    return made.id


async def look_at_events(yard: Yard, clock: ManualClock) -> None:
    clock.advance(seconds=6)
    await yard.sweep()


async def reports(yard: Yard) -> list[Any]:
    return [await yard.get(task.id) for task in await yard.find(type="report")]


async def last_fire(yard: Yard, trigger_id: str = "report") -> Fire:
    return (await yard.triggers.fires(trigger_id))[0]


async def leaf_of(yard: Yard, dag_id: str) -> str:
    [leaf] = (await yard.dags.get(dag_id)).leaves
    return leaf


async def attempts(yard: Yard, clock: ManualClock, outcomes: str) -> None:
    """Attempts at tasks of type code that end well (.) or do not (x), and a sweep that has seen them."""
    await given_an_agent(yard)
    for outcome in outcomes:
        await yard.enqueue("code", max_attempts=1)
        (held,) = await yard.claim("worker", start=True, types=["code"])
        if outcome == "x":
            await yard.fail(held.id, held.lease, "agent_error", "it did not work")
        else:
            await yard.complete(held.id, held.lease)
    await yard.breakers.close("code")
    await look_at_events(yard, clock)


async def mends(yard: Yard) -> int:
    return len(await yard.find(type="mend"))


# Hooks


async def given_a_hook(yard: Yard, **more: Any) -> str:
    given: dict[str, Any] = {"task": DEPLOY, **more}
    added = await yard.triggers.add("deploys", "webhook", **given)
    assert added.secret is not None
    return added.secret


def letter(
    yard: Yard, secret: str, body: bytes = BODY, *, id_: str = "msg_1", late_sec: int = 0
) -> tuple[dict[str, str], bytes]:
    """A delivery as its sender makes it."""
    stamp = behind(yard).now() // 1_000_000 - late_sec
    return {
        "webhook-id": id_,
        "webhook-timestamp": str(stamp),
        "webhook-signature": signed(secret, id_, stamp, body),
    }, body


def from_github(secret: str, content: Any) -> tuple[dict[str, str], bytes]:
    body = json.dumps(content).encode()
    return {"x-hub-signature-256": signed_for_github(secret, body)}, body


async def path_of(yard: Yard, hook: str = "deploys") -> str:
    path = (await yard.triggers.get(hook)).trigger.path
    assert path is not None
    return path


async def receive(yard: Yard, headers: dict[str, str], body: bytes, path: str | None = None) -> None:
    await behind(yard).local.incoming_webhooks.receive(path or await path_of(yard), headers, body)


async def refuse(yard: Yard, headers: dict[str, str], body: bytes, path: str | None = None) -> str:
    """Why, as operators see it in the log. Who sent it is told nothing, and nothing is stored."""
    before, path = await stored(yard), path or await path_of(yard)
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("taskyard.hooks").addHandler(handler)
    try:
        with pytest.raises(DeliveryRefused) as refused:
            await receive(yard, headers, body, path)
    finally:
        logging.getLogger("taskyard.hooks").removeHandler(handler)
    assert (refused.value.facts, await stored(yard)) == ({}, before)
    (why,) = said
    return why


async def stored(yard: Yard) -> list[Any]:
    """All that a delivery may leave behind."""
    store = behind(yard).store
    return [await store.records(kind) for kind in ("trigger", "hook", "delivery", "fire", "listening")]
