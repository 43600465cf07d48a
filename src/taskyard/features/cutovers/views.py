"""What is answered about cutovers."""

from __future__ import annotations

from typing import Annotated

from taskyard.core.units import Micros
from taskyard.definition.view import About, Time, view
from taskyard.features.cutovers import rules
from taskyard.features.cutovers.rules import Cutover, Phase


@view
class PhaseFigures:
    """What programs have counted in one phase."""

    phase: Phase
    calls: int
    compared: Annotated[int, About("Calls whose answers of both queues were compared.")]
    differences: Annotated[int, About("Calls that the queues did not agree on.")]


@view
class DifferenceView:
    at: Time
    phase: Phase
    call: str
    old: Annotated[str, About("What the old queue answered, cut where it is long.")]
    new: str


@view
class CutoverView:
    """How far one queue has taken the place of another."""

    name: str
    phase: Phase
    since: Annotated[Time, About("When the phase began.")]
    started_at: Time
    started_by: str
    days: Annotated[float, About("How long each phase is to last at least.")]
    least: Annotated[int, About("How many calls each phase is to have at least.")]
    figures: tuple[PhaseFigures, ...]
    differences: Annotated[tuple[DifferenceView, ...], About("The latest ones.")]
    next: Phase | None
    obstacles: Annotated[tuple[str, ...], About("What stands in the way of the next phase.")]

    @property
    def agrees(self) -> bool:
        """Whether the queues have agreed on every call of this phase."""
        return all(each.differences == 0 for each in self.figures if each.phase is self.phase)


def cutover_view(cutover: Cutover, now: Micros) -> CutoverView:
    return CutoverView(
        name=cutover.name,
        phase=cutover.phase,
        since=cutover.since,
        started_at=cutover.started_at,
        started_by=cutover.started_by,
        days=cutover.days,
        least=cutover.least,
        figures=tuple(PhaseFigures(phase, *cutover.figures[phase]) for phase in Phase if phase in cutover.figures),
        differences=tuple(DifferenceView(each.at, each.phase, *each.what) for each in cutover.latest),
        next=cutover.next,
        obstacles=() if cutover.next is None else rules.obstacles(cutover, cutover.next, now),
    )
