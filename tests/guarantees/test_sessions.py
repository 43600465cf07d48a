"""In preset multica a new task goes on with the last session of its subject and agent."""

from typing import Any

import pytest

from taskyard.core.units import DAY
from taskyard.features.attempts.conversation import LAST
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard, claim_that

PINNED = ("s1", "/srv/page")


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    """A yard in which agent `coder` has pinned a session on issue 7, on its runtime `here`, and is done."""
    yard = await open_yard(preset="multica")
    for agent, runtime in (("coder", "here"), ("other", "here")):
        await yard.agents.register(agent, runtime_id=runtime, max_concurrent_tasks=9)
    await finish(yard, await begin(yard), session_id="s1", work_dir="/srv/page")
    return yard


async def begin(yard: Yard, *, subject: str | None = "issue:7", agent: str = "coder", **fields: Any) -> Held:
    task = await yard.enqueue("code", subject=subject, agent=agent, **fields)
    return await claim_that(yard, task.id, by=agent, start=True)


async def finish(yard: Yard, held: Held, **pinned: str) -> None:
    if pinned:
        await yard.attempts.pin_session(held.id, held.lease, **pinned)
    await yard.complete(held.id, held.lease)


def session_of(task: Any) -> tuple[str | None, str | None]:
    session = task.to_dict()["session"]
    return session["session_id"], session["work_dir"]


async def test_a_new_task_begins_with_the_last_session_of_its_subject_and_agent(yard: Yard):
    second = await begin(yard)
    assert session_of(second) == session_of(await yard.get(second.id)) == PINNED
    await finish(yard, second, session_id="s2")  # the folder stays as it was

    third = await begin(yard)
    assert session_of(third) == ("s2", "/srv/page")
    await finish(yard, third)

    assert session_of(await begin(yard)) == ("s2", "/srv/page")


@pytest.mark.parametrize(
    "fields",
    [
        {"session": {"fresh": True}},
        {"subject": "issue:8"},
        {"subject": None},
        {"agent": "other"},
    ],
    ids=["fresh", "another subject", "no subject", "another agent"],
)
async def test_what_is_fresh_or_about_something_else_begins_without(yard: Yard, fields: dict[str, Any]):
    assert session_of(await begin(yard, **fields)) == (None, None)


async def test_a_session_that_the_task_was_put_in_with_is_its_own(yard: Yard):
    assert session_of(await begin(yard, session={"session_id": "mine"})) == ("mine", None)


async def test_another_runtime_does_not_get_the_session_and_leaves_its_own(yard: Yard):
    await yard.agents.register("coder", runtime_id="there", max_concurrent_tasks=9)
    elsewhere = await begin(yard)
    assert session_of(elsewhere) == (None, None)
    await finish(yard, elsewhere, session_id="s-there")

    assert session_of(await begin(yard)) == ("s-there", None)


async def test_a_poisoned_session_is_resumed_by_no_later_task_either(yard: Yard):
    held = await begin(yard, retry={"retry_on": []})
    assert session_of(held) == PINNED
    await yard.fail(held.id, held.lease, "poisoned_session")

    again = await claim_that(yard, held.id, by="coder", start=True)
    assert session_of(again) == (None, None)
    await finish(yard, again)
    assert session_of(await begin(yard)) == (None, None)


async def test_after_a_rerun_the_next_task_goes_on_with_the_session_of_the_rerun(yard: Yard):
    again = await yard.tasks.rerun_subject("issue:7")
    held = await claim_that(yard, again.id, by="coder", start=True)
    assert session_of(held) == (None, None)
    await finish(yard, held, session_id="s-rerun")

    assert session_of(await begin(yard)) == ("s-rerun", None)


async def test_the_same_request_again_gets_the_same_session(yard: Yard):
    await yard.enqueue("code", subject="issue:7", agent="coder")
    (first,) = await yard.claim("coder", request_id="r1")
    (again,) = await yard.claim("coder", request_id="r1")

    assert first.lease == again.lease
    assert session_of(first) == session_of(again) == PINNED


async def test_in_other_presets_each_task_has_sessions_of_its_own(open_yard: OpenYard):
    yard = await open_yard(preset="standard")
    await yard.agents.register("coder", runtime_id="here", max_concurrent_tasks=9)
    await finish(yard, await begin(yard), session_id="s1")

    assert session_of(await begin(yard)) == (None, None)


async def test_what_is_known_of_the_last_session_is_pruned_with_its_task(yard: Yard, clock: ManualClock):
    poisoned = await begin(yard, subject="issue:8", session={"session_id": "bad"}, max_attempts=1)
    await yard.attempts.pin_session(poisoned.id, poisoned.lease, work_dir="/srv")
    await yard.fail(poisoned.id, poisoned.lease, "poisoned_session")
    await yard.cancel(poisoned.id)
    assert len(await yard.store.records(LAST)) == 2

    clock.advance(seconds=8 * DAY / 1_000_000)
    await yard.sweep()

    assert await yard.store.records(LAST) == []
    await yard.agents.register("coder", runtime_id="here")
    assert session_of(await begin(yard)) == (None, None)
