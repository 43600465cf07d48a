"""`verify` reads in many steps, and the yard may be pruned between any two of them."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from taskyard.features.verify import service as verification
from taskyard.features.verify.views import Verified
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.files import put_by
from tests.graphs import claim_all, given_a_graph, task, work_off
from tests.yards import OpenYard, given_a_dead_letter, given_an_agent

# What `verify` reads, after it has listed the tasks.
READS = (
    *("attempts", "blockers", "counts", "definitions", "events", "graph", "limits", "load", "outputs", "page"),
    *("named", "pruned", "record", "records"),
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
    await given_a_graph(yard, task("c"), task("d", "c"))


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
    await given_old_and_young_work(yard, clock)

    found = await verified_while(yard, "events", yard.sweep, before=False)

    assert found.problems == ()
    assert found.tasks == 2
