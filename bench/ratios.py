"""Percentiles of latencies, and how far the ratio of two of them is known: an interval by drawing the samples again."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from statistics import median
from typing import NamedTuple

DRAWS = 1_000
BEYOND = 0.025  # of the draws are left out on either side
Block = Sequence[float]  # samples of a second: what delays one delays its neighbours, so they are drawn together


class Ratio(NamedTuple):
    """Of a percentile beside something and the same one without it."""

    value: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.value:.2f} times (95 % of draws: {self.least:.2f} to {self.most:.2f})"


def percentile(samples: Sequence[float], share: float) -> float:
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * share))]


def blocks(samples: Sequence[float], seconds: float) -> Iterator[Block]:
    """The samples of so many seconds, second by second."""
    size = max(1, round(len(samples) / seconds))
    return (samples[start : start + size] for start in range(0, len(samples), size))


def pooled(of: Sequence[Block]) -> float:
    """The p99 of all samples: one stall of the disk may decide it."""
    return percentile(list(chain.from_iterable(of)), 0.99)


def typical(of: Sequence[Block]) -> float:
    """The p99 of a usual second: the median of those of the blocks."""
    return median(percentile(block, 0.99) for block in of)


def ratio(
    beside: Sequence[Block], without: Sequence[Block], figure: Callable[[Sequence[Block]], float] = pooled
) -> Ratio:
    """The ratio of two figures, and where it lies in draws of as many blocks."""
    chance = random.Random(1)  # the same samples give the same interval

    def drawn(of: Sequence[Block]) -> float:
        return figure(chance.choices(of, k=len(of)))

    found = sorted(drawn(beside) / drawn(without) for _ in range(DRAWS))
    return Ratio(figure(beside) / figure(without), found[int(DRAWS * BEYOND)], found[-1 - int(DRAWS * BEYOND)])


def median_of(ratios: Sequence[float]) -> Ratio:
    """The median of the ratios of neighbours in time, and where it lies in draws of as many."""
    chance = random.Random(1)
    found = sorted(median(chance.choices(ratios, k=len(ratios))) for _ in range(DRAWS))
    return Ratio(median(ratios), found[int(DRAWS * BEYOND)], found[-1 - int(DRAWS * BEYOND)])


def run_when_idle() -> None:
    """Have this process run only on a core that nobody else wants: it stands for other machines.

    The lowest priority delayed others more: perhaps the kernel takes its core for a busy one.
    """
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
