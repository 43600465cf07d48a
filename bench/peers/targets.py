"""What is promised: how many times as fast as which peer, in the same run, on each store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.peers.lineup import LINEUP, Store, System
from bench.peers.rounds import Measure

Medians = Mapping[System, Mapping[Measure, float]]
Choice = Callable[[System], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """So many times the best of these. Of what should be small, it is the most that is allowed."""

    times: float
    words: str
    of: Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    store: Store
    beside: Store | None = None  # where the others are, if not on the same store
    measure: Measure
    must: Bound
    goal: Bound | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How it stands with one bound."""

    bound: Bound
    ratio: float | None  # None: one of the two was not measured
    is_met: bool


def judge(bound: Bound, target: Target, medians: Medians) -> Verdict:
    """Compare ours with the best of those that the bound is about."""
    measured = {system: figures[target.measure] for system, figures in medians.items() if target.measure in figures}
    ours = [figure for system, figure in measured.items() if system.store is target.store and system.is_ours]
    beside = target.beside or target.store
    others = [figure for system, figure in measured.items() if system.store is beside and bound.of(system)]
    if not ours or not others:
        return Verdict(bound=bound, ratio=None, is_met=False)
    best = min(others) if target.measure.less_is_better else max(others)
    ratio = ours[0] / best
    is_met = ratio <= bound.times if target.measure.less_is_better else ratio >= bound.times
    return Verdict(bound=bound, ratio=ratio, is_met=is_met)


def _named(times: float, name: str) -> Bound:
    assert any(system.name == name for system in LINEUP)
    return Bound(times=times, words=f"{times:g} × {name}", of=lambda system: system.name == name)


def _best(times: float, language: str | None = None) -> Bound:
    words = f"{times:g} × best {'' if language is None else f'{language} '}peer"
    return Bound(times=times, words=words, of=lambda system: _is_peer(system) and language in (None, system.language))


def _is_peer(system: System) -> bool:
    return not (system.is_ours or system.is_floor or system.checkout)


def _direct(times: float) -> Bound:
    return Bound(times=times, words=f"{times:g} × without a server", of=lambda system: system.is_ours)


def _floor(share: float) -> Bound:
    return Bound(times=share, words=f"{share:.0%} of the floor", of=lambda system: system.is_floor)


def _row(measure: Measure, **stores: tuple[Bound, Bound | None]) -> tuple[Target, ...]:
    return tuple(
        Target(store=Store[name], measure=measure, must=must, goal=goal) for name, (must, goal) in stores.items()
    )


TARGETS = (
    *_row(
        Measure.DRAIN,
        POSTGRES=(_named(0.9, "pgqueuer"), _named(1.3, "pgqueuer")),
        REDIS=(_named(1.2, "bullmq"), _named(1.5, "bullmq")),
        SQLITE=(_named(4, "huey"), _named(8, "huey")),
    ),
    *_row(Measure.DRAIN, POSTGRES=(_named(0.8, "pg-boss"), None)),
    *_row(
        Measure.DRAIN_BY_TWO,
        POSTGRES=(_named(0.8, "pgqueuer"), _named(1.1, "pgqueuer")),
        REDIS=(_named(1.2, "bullmq"), _named(2, "bullmq")),
        SQLITE=(_named(5, "huey"), None),
    ),
    *_row(
        Measure.ONE,
        POSTGRES=(_best(0.9), None),
        REDIS=(_best(0.8, "Python"), None),
        SQLITE=(_named(0.6, "huey"), _named(1.0, "huey")),
    ),
    *_row(
        Measure.FLIGHT,
        POSTGRES=(_best(4), None),
        REDIS=(_best(2.5, "Python"), None),
        SQLITE=(_named(3, "huey"), None),
    ),
    *_row(
        Measure.BULK,
        POSTGRES=(_named(0.7, "graphile-worker"), _named(1.0, "graphile-worker")),
        REDIS=(_named(1.5, "bullmq"), None),
        SQLITE=(_named(0.6, "litequeue"), _named(1.0, "litequeue")),
    ),
    *_row(
        Measure.PICKUP,
        POSTGRES=(_best(1.2), _best(1.0)),
        REDIS=(_named(1.2, "taskiq"), None),
        SQLITE=(_named(1.3, "litequeue"), None),
    ),
    *_row(Measure.DRAIN, POSTGRES=(_floor(0.3), _floor(0.5)), SQLITE=(_floor(0.3), _floor(0.5))),
    *(
        Target(store=Store.HTTP, beside=Store.SQLITE, measure=measure, must=_direct(times))
        for measure, times in (
            (Measure.DRAIN, 0.6),
            (Measure.ONE, 0.5),
            (Measure.FLIGHT, 0.6),
            (Measure.PICKUP, 2),
        )
    ),
)
