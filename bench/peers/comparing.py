"""The rounds of all systems, in turns, so that what disturbs the machine disturbs all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import monotonic

from bench.peers.hosting import Void
from bench.peers.lineup import System
from bench.peers.places import Places
from bench.peers.rounds import Measure, Samples, Sizes, take_round

Tell = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of all rounds of one system."""

    rounds: list[Samples] = field(default_factory=list[Samples])
    voids: list[str] = field(default_factory=list[str])

    def figures(self, measure: Measure) -> list[float]:
        return [samples[measure].value for samples in self.rounds]

    def medians(self) -> dict[Measure, float]:
        return {measure: median(self.figures(measure)) for measure in Measure} if self.rounds else {}

    def cpu(self, measure: Measure) -> float | None:
        """µs of the processor per job."""
        used = [samples[measure].cpu for samples in self.rounds]
        return median(each for each in used if each is not None) if any(used) else None


Outcomes = Mapping[System, Outcome]


async def compare(
    systems: Sequence[System], places: Places, *, rounds: int, seconds: float, minutes: float, tell: Tell
) -> dict[System, Outcome]:
    """A first round finds out how many jobs last about as long, and does not count; then come those that do.

    Where the first is void, the next stands in for it. No round is begun that would not be over in time, but for the
    first that counts.
    """
    outcomes = {system: Outcome() for system in systems}
    sizes: dict[System, Sizes] = {}
    began, longest = monotonic(), 0.0
    for number in range(rounds + 1):
        round_began = monotonic()
        if number > 1 and round_began + longest > began + 60 * minutes:
            tell(f"only {number - 1} of {rounds} rounds: another would take more than {minutes:g} minutes in all")
            break
        for system in systems:
            tell(f"round {number} of {rounds}: {system.name} on {system.store}")
            try:
                samples = await take_round(system, places, sizes.get(system) or Sizes.to_begin_with())
            except Void as void:
                outcomes[system].voids.append(f"round {number}: {void}")
                tell(f"VOID: {system.name} on {system.store}: {void}")
                continue
            if system not in sizes:
                sizes[system] = Sizes.lasting(seconds, samples)
            else:
                outcomes[system].rounds.append(samples)
        longest = max(longest, monotonic() - round_began)
    return outcomes
