"""A cutover from its start to its end: who moves it, what refuses, and what is counted."""

import asyncio

import pytest

from taskyard.core.errors import CutoverRefused, InvalidInput, NotFound
from taskyard.features.cutovers.rules import Phase
from taskyard.features.cutovers.views import PhaseFigures
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import OpenYard

DIFFERENCE = {"call": "try_dequeue", "old": "['a']", "new": "[]"}


async def counted(yard: Yard, phase: Phase, calls: int, differences: int = 0) -> None:
    latest = [DIFFERENCE] * differences
    await yard.cutovers.report("inbox", phase, calls=calls, compared=calls, differences=differences, latest=latest)


async def test_it_goes_through_its_phases_a_week_each(yard: Yard, clock: ManualClock):
    await yard.cutovers.start("inbox", by="human:ann")
    for before, after in [
        (Phase.DUAL_WRITE, Phase.SHADOW),
        (Phase.SHADOW, Phase.CUTOVER),
        (Phase.CUTOVER, Phase.FINISHED),
    ]:
        await counted(yard, before, 100)
        with pytest.raises(CutoverRefused, match=f"{before.value} has lasted"):
            await yard.cutovers.move("inbox", after)
        clock.advance(seconds=7 * 24 * 3600)
        assert (await yard.cutovers.get("inbox")).obstacles == ()
        assert (await yard.cutovers.move("inbox", after, by="human:ann")).phase is after

    found = await yard.cutovers.get("inbox")
    assert found.figures == tuple(PhaseFigures(phase, 100, 100, 0) for phase in list(Phase)[:3])
    assert (found.next, found.agrees, found.started_by) == (None, True, "human:ann")
    with pytest.raises(CutoverRefused, match="finished"):
        await yard.cutovers.move("inbox", Phase.SHADOW)


async def test_queues_that_differed_are_not_switched_unless_it_is_forced_and_anew_is_anew(yard: Yard):
    await yard.cutovers.start("inbox", days=0, least=1)
    await counted(yard, Phase.DUAL_WRITE, 1)
    await yard.cutovers.move("inbox", Phase.SHADOW)
    await counted(yard, Phase.SHADOW, 5, differences=1)
    with pytest.raises(CutoverRefused, match="disagreed 1 times"):
        await yard.cutovers.move("inbox", Phase.CUTOVER)
    shown = await yard.cutovers.get("inbox")
    assert (shown.phase, shown.agrees, [each.old for each in shown.differences]) == (Phase.SHADOW, False, ["['a']"])

    assert (await yard.cutovers.move("inbox", Phase.CUTOVER, force=True)).phase is Phase.CUTOVER
    await yard.cutovers.move("inbox", Phase.SHADOW)
    again = await yard.cutovers.get("inbox")
    assert again.agrees
    await counted(yard, Phase.SHADOW, 1)
    assert (await yard.cutovers.move("inbox", Phase.CUTOVER)).phase is Phase.CUTOVER


async def test_reports_of_many_programs_add_up(yard: Yard):
    await yard.cutovers.start("inbox")
    await asyncio.gather(*(counted(yard, Phase.DUAL_WRITE, 3, differences=1) for _ in range(20)))

    (figures,) = (await yard.cutovers.get("inbox")).figures
    assert (figures.calls, figures.differences) == (60, 20)


async def test_one_that_is_there_does_not_begin_anew(yard: Yard):
    await yard.cutovers.start("inbox", days=1)
    await counted(yard, Phase.DUAL_WRITE, 3)

    again = await yard.cutovers.start("inbox", days=2)
    assert (again.days, again.figures[0].calls) == (1, 3)
    assert [each.name for each in await yard.cutovers.list()] == ["inbox"]
    await yard.cutovers.remove("inbox")
    assert await yard.cutovers.list() == []


async def test_what_makes_no_sense_is_refused_by_name(yard: Yard):
    await yard.cutovers.start("inbox")
    for asked, field in [
        (yard.cutovers.start("x", days=-1), "days"),
        (yard.cutovers.start("x", least=-1), "least"),
        (yard.cutovers.start(" "), "name"),
        (yard.cutovers.move("inbox", "leap"), "phase"),
        (yard.cutovers.report("inbox", "shadow", calls=-1), "calls"),
        (yard.cutovers.report("inbox", "shadow", latest=[{"call": "peek"}]), "latest.old"),
    ]:
        with pytest.raises(InvalidInput, match=field):
            await asked
    for asked in (yard.cutovers.get("x"), yard.cutovers.move("x", "shadow"), yard.cutovers.remove("x")):
        with pytest.raises(NotFound):
            await asked
    assert len(await yard.cutovers.list()) == 1


async def test_workspaces_have_their_own(open_yard: OpenYard):
    here, there = await open_yard(), await open_yard(workspace="there")
    await here.cutovers.start("inbox")

    assert await there.cutovers.list() == []
