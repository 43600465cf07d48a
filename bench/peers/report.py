"""What came of it: as JSON for programs, and as Markdown for docs/performance.md."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from time import strftime
from typing import Any

from bench.peers.comparing import Outcome, Outcomes
from bench.peers.lineup import Store, System
from bench.peers.rounds import Measure
from bench.peers.targets import TARGETS, Bound, Target, Verdict, judge

NODE_LOCK = Path(__file__).with_name("node") / "package-lock.json"
COSTLY = (Measure.ONE, Measure.BULK, Measure.DRAIN)  # what the processor is told of


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    outcomes: Outcomes
    versions: Mapping[System, str]
    durability: dict[str, str]
    rounds: int
    seconds: float

    def verdict(self, bound: Bound, target: Target) -> Verdict:
        return judge(bound, target, {system: outcome.medians() for system, outcome in self.outcomes.items()})

    def targets(self) -> list[Target]:
        stores = {system.store for system in self.outcomes}
        return [target for target in TARGETS if target.store in stores]

    @property
    def is_met(self) -> bool:
        """Whether every promise holds, and nothing was void."""
        kept = all(self.verdict(target.must, target).is_met for target in self.targets())
        return kept and not any(outcome.voids for outcome in self.outcomes.values())


def machine() -> dict[str, Any]:
    return {
        "at": strftime("%Y-%m-%d %H:%M %z"),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "platform": platform.platform(),
        "python": platform.python_version(),
    }


def version_of(system: System) -> str:
    if system.package is None:
        return ""
    if system.language == "Python":
        return version(system.package)
    return json.loads(NODE_LOCK.read_bytes())["packages"][f"node_modules/{system.package}"]["version"]


def as_json(run: Run) -> str:
    systems = [
        {
            "name": system.name,
            "store": system.store,
            "version": run.versions[system],
            "settings": system.settings,
            "keeps": system.keeps,
            "samples": [{measure: asdict(sample) for measure, sample in taken.items()} for taken in outcome.rounds],
            "voids": outcome.voids,
        }
        for system, outcome in run.outcomes.items()
    ]
    targets = [
        {
            "store": target.store,
            "measure": target.measure,
            "bound": verdict.bound.words,
            "is_goal": verdict.bound is target.goal,
            "ratio": verdict.ratio,
            "met": verdict.is_met,
        }
        for target in run.targets()
        for bound in (target.must, target.goal)
        if bound is not None
        for verdict in [run.verdict(bound, target)]
    ]
    settings = {"rounds": run.rounds, "seconds": run.seconds, "durability": run.durability}
    return json.dumps({"machine": machine(), "settings": settings, "systems": systems, "targets": targets}, indent=2)


def as_markdown(run: Run) -> str:
    told = ", ".join(f"{name} {value}" for name, value in machine().items())
    rounds = f"Medians of {run.rounds} interleaved rounds (least to most), about {run.seconds:g} s a sample. {told}."
    stores = [store for store in Store if any(system.store is store for system in run.outcomes)]
    parts = [rounds, _targets(run), *(_store(run, store) for store in stores), *_voids(run.outcomes)]
    return "\n\n".join(parts)


def _targets(run: Run) -> str:
    heads = ["", "measure", "must", "ratio", "", "goal", "ratio", ""]
    rows = [[target.store, target.measure, *_stands(run, target)] for target in run.targets()]
    return "\n".join(["### Taskyard beside its peers", "", *_table(heads, rows)])


def _stands(run: Run, target: Target) -> Iterator[str]:
    for bound in (target.must, target.goal):
        if bound is None:
            yield from ("", "", "")
            continue
        verdict = run.verdict(bound, target)
        ratio = "" if verdict.ratio is None else f"{verdict.ratio:.2f} ×"
        word = "not measured" if verdict.ratio is None else "met" if verdict.is_met else "**not met**"
        yield from (bound.words, ratio, word)


def _store(run: Run, store: Store) -> str:
    chosen = {system: outcome for system, outcome in run.outcomes.items() if system.store is store}
    heads = ["jobs/s", *Measure, *(f"CPU µs, {measure}" for measure in COSTLY), "keeps of a finished job"]
    rows = [
        [f"{system.name} {run.versions[system]}", *_figures(outcome), system.keeps]
        for system, outcome in chosen.items()
    ]
    settings = [f"- {system.name}: {system.settings}" for system in chosen]
    lines = [f"### {store}", "", f"`{run.durability[store]}`", "", *_table(heads, rows), "", *settings]
    return "\n".join(lines)


def _figures(outcome: Outcome) -> Iterator[str]:
    for measure in Measure:
        figures = sorted(outcome.figures(measure))
        unit = " ms" if measure.unit == "ms" else ""
        spread = "void" if not figures else f"{_short(outcome.medians()[measure])}{unit}"
        yield spread if not figures else f"{spread} ({_short(figures[0])} to {_short(figures[-1])})"
    for measure in COSTLY:
        used = outcome.cpu(measure)
        yield "" if used is None else _short(used)


def _voids(outcomes: Outcomes) -> Iterator[str]:
    lines = [
        f"- {system.name} on {system.store}, {void}" for system, outcome in outcomes.items() for void in outcome.voids
    ]
    if lines:
        yield "\n".join(["### Void", "", "In these rounds a job was lost, done twice or not stored:", "", *lines])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]


def _short(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.1f}"
