"""`verify` reads in many steps, and the yard may be pruned between any two of them."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from taskyard.core.units import DAY, Micros, to_iso
from taskyard.features.verify import log_reading
from taskyard.features.verify import service as verification
from taskyard.features.verify.views import Verified
from taskyard.ledger.clock import ManualClock
from taskyard.outbound.object_store import Objects
from taskyard.yard import Yard
from tests.files import put_by
from tests.graphs import claim_all, given_a_graph, task, work_off
from tests.yards import OpenYard, elapse, given_a_dead_letter, given_an_agent

# What `verify` reads.
READS = (
    *("blockers", "by_key", "counts", "definitions", "edges", "events", "events_of", "find", "graph", "histories"),
    *("limits", "load", "named", "outputs", "page", "pruned", "record", "records"),
)


async def given_old_and_young_work(yard: Yard, clock: ManualClock) -> None:
    await given_an_agent(yard, budget_usd="5")
    await given_a_graph(yard, task("a"), task("b", "a"), task("c", "b"), budget_ceiling_usd="1")
    await yard.enqueue("code")
    for held in await claim_all(yard, 2):
        await put_by(yard, held)
        await yard.complete(held.id, held.lease, cost_usd="0.10")
    await work_off(yard)
    await yard.cancel((await given_a_dead_letter(yard)).id)
    await yard.sweep()
    clock.advance(seconds=8 * 24 * 3600)
    await given_a_graph(yard, task("c"), task("d", "c", idempotency_key="once"))


async def verified_while(yard: Yard, name: str, act: Callable[[], Awaitable[object]], before: bool) -> Verified:
    """Verify, and act the first time that the store is asked for this: before it answers, or after."""
    read = getattr(yard.store, name)
    acted = False

    async def interrupted(*given: Any, **named: Any) -> Any:
        nonlocal acted
        if acted or not (given or named):
            return await read(*given, **named)
        acted = True
        if before:
            await act()
        answer = await read(*given, **named)
        if not before:
            await act()
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yard.store, name, interrupted)
        return await yard.verify()


@pytest.fixture
async def yard(open_yard: OpenYard, tmp_path: Path) -> Yard:
    return await open_yard(artifacts=(tmp_path / "objects").as_uri())


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("name", READS)
async def test_what_is_pruned_meanwhile_is_no_problem(yard: Yard, clock: ManualClock, name: str, before: bool):
    await given_old_and_young_work(yard, clock)

    found = await verified_while(yard, name, yard.sweep, before)

    assert found.problems == ()
    assert (await yard.verify()).tasks == 2


async def test_events_that_are_pruned_between_two_pages_are_no_problem(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(verification, "PAGE", 3)
    monkeypatch.setattr(log_reading, "PAGE", 3)
    await given_old_and_young_work(yard, clock)

    found = await verified_while(yard, "events", yard.sweep, before=False)

    assert found.problems == ()
    assert found.tasks == 2


async def test_events_that_were_read_before_others_were_pruned_count_once(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    """The first page has those of a dead letter, which is kept."""
    monkeypatch.setattr(verification, "PAGE", 3)
    monkeypatch.setattr(log_reading, "PAGE", 3)
    dead = await given_a_dead_letter(yard)
    await yard.enqueue("code")
    await work_off(yard)
    await yard.sweep()
    clock.advance(seconds=8 * 24 * 3600)

    found = await verified_while(yard, "events", yard.sweep, before=False)

    assert (found.problems, found.tasks) == ((), 1)
    assert found.events == len(await yard.events(task_id=dead.id))


async def test_a_task_that_comes_meanwhile_is_no_problem_though_it_depends_on_one_of_the_page_before(yard: Yard):
    dag = await given_a_graph(yard, task("a"))

    async def depend_on_it() -> None:
        await yard.enqueue("code", depends_on=[dag.tasks["a"].id])

    found = await verified_while(yard, "graph", depend_on_it, before=True)

    assert (found.problems, found.tasks) == ((), 2)  # it is on the page after


async def test_an_edge_of_which_one_end_was_pruned_is_no_problem(yard: Yard, clock: ManualClock):
    """The dependent was of a DAG that has ended, and what it depended on is of one that has not."""
    await given_an_agent(yard)
    first = await given_a_graph(yard, task("a"), task("later", run_after=to_iso(Micros(yard.now() + 30 * DAY))))
    await yard.enqueue("code", depends_on=[first.tasks["a"].id])
    await work_off(yard)
    await yard.sweep()
    clock.advance(seconds=8 * 24 * 3600)

    await elapse(yard, clock, 60)

    assert [each.id for each in await yard.find()] == [each.id for each in (await yard.dags.get(first.id)).tasks][::-1]
    assert (await yard.verify()).problems == ()


async def test_an_artifact_whose_task_is_pruned_while_its_content_is_looked_for_is_no_problem(
    yard: Yard, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    await given_old_and_young_work(yard, clock)
    read = Objects.read

    async def after_pruning(objects: Objects, key: str) -> AsyncGenerator[bytes]:
        await yard.sweep()
        await yard.host.run_outbox()
        async for piece in read(objects, key):
            yield piece

    monkeypatch.setattr(Objects, "read", after_pruning)

    assert (await yard.verify()).problems == ()
    assert await yard.artifacts.list() == []
