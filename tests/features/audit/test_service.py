"""The audit log, as its readers see it."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from taskyard.core.changes import ChangeSet, RecordChange
from taskyard.core.errors import InvalidInput
from taskyard.core.notice import Notice
from taskyard.core.throttle import throttled
from taskyard.core.units import Micros, to_iso
from taskyard.features.audit import service
from taskyard.features.notifications.rules import PARKED, Notification
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.memory import MemoryStore
from taskyard.yard import Yard, local_yard
from tests.client.test_same_yard import verbs
from tests.yards import elapse, given_a_dead_letter, given_a_running_task, given_an_agent

ADA = "human:ada"
TASK = {"type": "code"}
# Verbs that name who calls them and leave no entry, and why.
UNRECORDED = {
    **dict.fromkeys(
        ("enqueue", "enqueue_many", "submit", "dags.submit", "dags.add", "tasks.enqueue_in", "subagents.start"),
        "what is put in names its author itself",
    ),
    **dict.fromkeys(("agents.register", "agents.sign_off"), "an agent does it"),
    **dict.fromkeys(("inbox.put", "a2a.send"), "a message names its author itself"),
    "agents.forget": "the sweep calls it",
    "approvals.sent": "a part of others",
    **dict.fromkeys(("notifications.try_out", "dags.estimate"), "it stores nothing"),
    **dict.fromkeys(("overview.series", "reports.make"), "its `by` is what figures are split by"),
}


async def acts(yard: Yard) -> list[str]:
    """What `ADA` did, oldest first."""
    page = await yard.audit.list(who=ADA, limit=200)
    assert page.cursor is None
    return [each.action for each in reversed(page.entries)]


async def waiting(yard: Yard) -> str:
    return (await yard.enqueue("code")).id


async def ended(yard: Yard) -> str:
    task = await yard.enqueue("code", subject=f"issue:{yard.now()}")
    await yard.cancel(task.id)
    return task.id


async def asked(yard: Yard) -> str:
    await given_an_agent(yard, "asker", types=["asking"])
    await yard.enqueue("asking")
    (held,) = await yard.claim("asker", start=True)
    await yard.attempts.ask(held.id, held.lease, "ok", "Go on?", timeout_sec=9_000)
    return held.id


async def dead(yard: Yard) -> str:
    await given_an_agent(yard, "doomed", types=["dying"])
    await yard.enqueue("dying", max_attempts=1)
    (held,) = await yard.claim("doomed", start=True)
    await yard.fail(held.id, held.lease, "crash", "it fell over")
    return held.id


async def graph(yard: Yard) -> str:
    return (await yard.submit({"tasks": [{**TASK, "name": "a"}]})).id


async def given_up(yard: Yard) -> str:
    id_ = f"n-{yard.now()}-{len(await yard.notifications.deliveries(parked=True))}"
    parked = Notification(
        id=id_, notifier="n", notice=Notice.TEST, title="t", text="", task_id=None, dag_id=None, facts={}, at=yard.now()
    )
    change = RecordChange(PARKED, yard.workspace, id_, 0, parked.body())
    await yard.local.ledger.commit_set(ChangeSet(records=(change,), at=yard.now()))
    return id_


async def of(
    yard: Yard,
    make: Callable[[Yard], Awaitable[str]],
    act: Callable[..., Awaitable[object]],
    *,
    by: Mapping[str, str] = MappingProxyType({"by": ADA}),
) -> object:
    return await act(await make(yard), **by)


async def cancel_in_bulk(yard: Yard) -> object:
    return await yard.tasks.bulk("cancel", by=ADA, ids=[await waiting(yard)])


async def rerun_subject(yard: Yard) -> object:
    task = await yard.get(await ended(yard))
    return await yard.tasks.rerun_subject(task.subject or "", created_by=ADA)


async def remove_artifact(yard: Yard) -> object:
    return await yard.artifacts.remove((await yard.artifacts.put("b", b"b")).id, by=ADA)


async def clear_inbox(yard: Yard) -> object:
    await yard.inbox.put("worker", "c", "hello")
    return await yard.inbox.clear("worker", "c", by=ADA)


async def lift_throttle(yard: Yard) -> object:
    record = await yard.store.record("throttle", yard.workspace, "slow")
    slowed = throttled(yard.workspace, "slow", record, wait=Micros(60_000_000), now=yard.now())
    assert slowed is not None
    await yard.local.ledger.commit_set(ChangeSet(records=(slowed[0],), at=yard.now()))
    return await yard.queues.lift_throttle("slow", by=ADA)


async def revoke_token(yard: Yard) -> object:
    return await yard.tokens.revoke((await yard.tokens.create("u", "viewer")).token.id, by=ADA)


# Each verb that somebody calls to change something, and the entry it leaves.
RECORDED: dict[str, tuple[str, Callable[[Yard], Awaitable[object]]]] = {
    "cancel": ("task.cancelled", lambda yard: of(yard, waiting, yard.cancel)),
    "rerun": ("task.rerun", lambda yard: of(yard, ended, partial(yard.rerun, created_by=ADA), by={})),
    "signal": ("task.signalled", lambda yard: of(yard, waiting, partial(yard.signal, name="go", sent_by=ADA), by={})),
    "approvals.signal": (
        "task.signalled",
        lambda yard: of(yard, waiting, partial(yard.approvals.signal, name="go", sent_by=ADA), by={}),
    ),
    "approvals.answer": (
        "task.answered",
        lambda yard: of(yard, asked, partial(yard.approvals.answer, name="ok", data={"approved": True})),
    ),
    "tasks.bulk": ("task.cancelled", cancel_in_bulk),
    "tasks.rerun_subject": (
        "task.rerun",
        rerun_subject,
    ),
    "tasks.set_priority": (
        "task.reprioritised",
        lambda yard: of(yard, waiting, partial(yard.tasks.set_priority, priority=3)),
    ),
    "a2a.publish": ("a2a.published", lambda yard: yard.a2a.publish("code", by=ADA)),
    "a2a.unpublish": ("a2a.unpublished", lambda yard: yard.a2a.unpublish("code", by=ADA)),
    "agents.drain": ("agent.draining", lambda yard: yard.agents.drain("worker", by=ADA)),
    "agents.resume": ("agent.active", lambda yard: yard.agents.resume("worker", by=ADA)),
    "agents.set_budget": ("agent.budget", lambda yard: yard.agents.set_budget("worker", 5, by=ADA)),
    "tokens.grant": ("agent.granted", lambda yard: yard.tokens.grant("worker", types=["code"], by=ADA)),
    "agents.remove": ("agent.removed", lambda yard: yard.agents.remove("worker", by=ADA)),
    "artifacts.put": ("artifact.put", lambda yard: yard.artifacts.put("a", b"a", by=ADA)),
    "artifacts.remove": ("artifact.removed", remove_artifact),
    "audit.set_policy": ("workspace.audit", lambda yard: yard.audit.set_policy(30, by=ADA)),
    "breakers.open": ("breaker.opened", lambda yard: yard.breakers.open("code", by=ADA)),
    "breakers.close": ("breaker.closed", lambda yard: yard.breakers.close("code", by=ADA)),
    "breakers.set_policy": ("workspace.breakers", lambda yard: yard.breakers.set_policy(failure_threshold=3, by=ADA)),
    "budgets.set": ("workspace.budget", lambda yard: yard.budgets.set(daily_budget_usd=5, by=ADA)),
    "dags.set_budget": ("dag.budget", lambda yard: of(yard, graph, partial(yard.dags.set_budget, ceiling_usd=5))),
    "dags.set_limit": ("dag.limit", lambda yard: of(yard, graph, partial(yard.dags.set_limit, max_tasks=50))),
    "dags.cancel": ("dag.cancelling", lambda yard: of(yard, graph, yard.dags.cancel)),
    "dead_letters.resolve": (
        "task.revived",
        lambda yard: of(yard, dead, partial(yard.dead_letters.resolve, resolution="retry")),
    ),
    "cutovers.start": ("cutover.started", lambda yard: yard.cutovers.start("c", by=ADA)),
    "cutovers.move": ("cutover.moved", lambda yard: yard.cutovers.move("c", "shadow", force=True, by=ADA)),
    "cutovers.remove": ("cutover.removed", lambda yard: yard.cutovers.remove("c", by=ADA)),
    "inbox.clear": ("inbox.cleared", clear_inbox),
    "memory.set_policy": ("workspace.memory", lambda yard: yard.memory.set_policy(remember=True, by=ADA)),
    "scores.add": ("task.scored", lambda yard: of(yard, waiting, partial(yard.scores.add, name="good", value=1))),
    "variants.set": ("variants.set", lambda yard: yard.variants.set("code", [{"name": "a"}], by=ADA)),
    "notifications.set": (
        "notifier.set",
        lambda yard: yard.notifications.set("n", "https://example.org/h", events=["dead_letter"], by=ADA),
    ),
    "notifications.remove": ("notifier.removed", lambda yard: yard.notifications.remove("n", by=ADA)),
    "notifications.resend": ("notification.resent", lambda yard: of(yard, given_up, yard.notifications.resend)),
    "notifications.dismiss": ("notification.dismissed", lambda yard: of(yard, given_up, yard.notifications.dismiss)),
    "presets.set": ("workspace.preset", lambda yard: yard.presets.set("loki", by=ADA)),
    "queues.pause": ("queue.paused", lambda yard: yard.queues.pause("q", by=ADA)),
    "queues.resume": ("queue.resumed", lambda yard: yard.queues.resume("q", by=ADA)),
    "queues.set_preset": ("queue.preset", lambda yard: yard.queues.set_preset("q", "ade", by=ADA)),
    "queues.set_report_policy": (
        "queue.reports",
        lambda yard: yard.queues.set_report_policy(True, queue="q", by=ADA),
    ),
    "queues.lift_throttle": ("throttle.lifted", lift_throttle),
    "saved_views.save": ("view.saved", lambda yard: yard.saved_views.save("mine", "tasks", "status=ready", by=ADA)),
    "saved_views.remove": ("view.removed", lambda yard: yard.saved_views.remove("mine", by=ADA)),
    "schedules.add": ("schedule.added", lambda yard: yard.schedules.add("s", "every day at 09:00", task=TASK, by=ADA)),
    "schedules.pause": ("schedule.paused", lambda yard: yard.schedules.pause("s", by=ADA)),
    "schedules.resume": ("schedule.resumed", lambda yard: yard.schedules.resume("s", by=ADA)),
    "schedules.run": ("schedule.run", lambda yard: yard.schedules.run("s", by=ADA)),
    "schedules.remove": ("schedule.removed", lambda yard: yard.schedules.remove("s", by=ADA)),
    "triggers.add": (
        "trigger.added",
        lambda yard: yard.triggers.add("t", "webhook", settings={"scheme": "github"}, ready_made="json", by=ADA),
    ),
    "triggers.rotate": ("trigger.rotated", lambda yard: yard.triggers.rotate("t", by=ADA)),
    "triggers.pause": ("trigger.paused", lambda yard: yard.triggers.pause("t", by=ADA)),
    "triggers.resume": ("trigger.resumed", lambda yard: yard.triggers.resume("t", by=ADA)),
    "triggers.fire": ("trigger.fired", lambda yard: yard.triggers.fire("t", {"type": "code"}, by=ADA)),
    "triggers.remove": ("trigger.removed", lambda yard: yard.triggers.remove("t", by=ADA)),
    "tokens.create": ("token.created", lambda yard: yard.tokens.create("t", "viewer", by=ADA)),
    "tokens.revoke": ("token.revoked", revoke_token),
}


async def test_every_verb_that_somebody_calls_to_change_something_leaves_an_entry(clock: ManualClock, tmp_path: Path):
    options = Options(sweeps=False, artifacts=tmp_path.as_uri(), transcripts=tmp_path / "transcripts")
    async with local_yard(MemoryStore(clock=clock), options) as yard:
        authors = {"by", "sent_by", "created_by"}
        named = {name for name, verb in verbs(yard).items() if authors & inspect.signature(verb).parameters.keys()}
        assert {*RECORDED, *UNRECORDED} == named
        await given_an_agent(yard)
        left: dict[str, list[str]] = {}
        for name, (_, act) in RECORDED.items():
            before = len(await acts(yard))
            await act(yard)
            clock.advance(seconds=1)
            left[name] = (await acts(yard))[before:]

        assert left == {name: [action] for name, (action, _) in RECORDED.items()}
        assert (await yard.verify()).problems == ()


async def test_what_workers_do_leaves_none(yard: Yard):
    held = await given_a_running_task(yard)
    await yard.progress(held.id, held.lease, {"by": "human:ada", "note": "forged"})
    await yard.attempts.message(held.id, held.lease, '{"by": "human:ada"}')
    await yard.complete(held.id, held.lease)
    await given_a_dead_letter(yard)

    assert (await yard.audit.list()).entries == ()


async def test_a_cascade_is_one_act(yard: Yard):
    first = await yard.enqueue("code")
    await yard.enqueue("code", depends_on=[first.id])
    await yard.cancel(first.id, by=ADA)

    (entry,) = (await yard.audit.list()).entries
    assert (entry.by, entry.action, entry.task_id, entry.facts["reason"]) == (
        ADA,
        "task.cancelled",
        first.id,
        "cancelled",
    )


async def test_pages_go_on_where_the_last_one_ended_and_filters_hold(yard: Yard, clock: ManualClock):
    for number in range(5):
        await yard.queues.pause(f"q{number}", by=f"human:{'ab'[number % 2]}")
        clock.advance(seconds=1)

    first = await yard.audit.list(limit=2)
    rest = await yard.audit.list(limit=200, cursor=first.cursor)
    found = [each.object for each in (*first.entries, *rest.entries)]
    assert found == [f"queue:q{number}" for number in range(4, -1, -1)]
    assert [each.object for each in (await yard.audit.list(who="human:b")).entries] == ["queue:q3", "queue:q1"]
    assert [each.object for each in (await yard.audit.list(object="queue:q2")).entries] == ["queue:q2"]
    assert (await yard.audit.list(action="task.*")).entries == ()
    times = [to_iso(each.at) for each in rest.entries]  # of q2, q1, q0
    between = await yard.audit.list(since=times[1], until=times[0])
    assert [each.object for each in between.entries] == ["queue:q1"]


async def test_one_call_looks_at_a_bounded_number_and_its_cursor_goes_on(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(service, "AT_ONCE", 2)
    monkeypatch.setattr(service, "MOST_READ", 4)
    await yard.queues.pause("wanted", by=ADA)
    for number in range(6):
        clock.advance(seconds=1)
        await yard.queues.pause(f"q{number}", by="human:bo")

    first = await yard.audit.list(who=ADA)
    assert (first.entries, first.cursor is None) == ((), False)
    rest = await yard.audit.list(who=ADA, cursor=first.cursor)
    assert [each.object for each in rest.entries] == ["queue:wanted"]


async def test_bad_questions_are_refused_by_name(yard: Yard):
    bad: dict[str, Any] = {"cursor": "x", "limit": 0, "since": "yesterday", "who": ""}
    for field, given in bad.items():
        with pytest.raises(InvalidInput, match=field):
            await yard.audit.list(**{field: given})
    with pytest.raises(InvalidInput, match="days"):
        await yard.audit.set_policy(0)


async def test_workspaces_see_only_their_own_entries_and_forget_by_their_own_days(yard: Yard, clock: ManualClock):
    other = yard.beside("default/b")
    await other.audit.set_policy(10, by=ADA)
    await yard.queues.pause("q", by=ADA)

    assert [each.action for each in (await yard.audit.list()).entries] == ["queue.paused"]
    assert [each.action for each in (await other.audit.list()).entries] == ["workspace.audit"]
    clock.advance(seconds=11 * 86_400)
    await elapse(yard, clock, 30)
    assert len((await yard.audit.list()).entries) == 1
    assert (await other.audit.list()).entries == ()
    clock.advance(seconds=390 * 86_400)
    await elapse(yard, clock, 30)
    assert (await yard.audit.list()).entries == ()
