"""What a batch of heartbeats does to the rows it finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from taskyard.core import transitions
from taskyard.core.changes import Beat
from taskyard.core.task import Hot
from taskyard.core.units import Micros
from taskyard.stores.contract import Extended


class Beaten(NamedTuple):
    answers: list[Extended]  # one for each beat
    steps: list[tuple[Hot, Hot]]  # each row before all of them and after


def beaten(beats: Sequence[Beat], found: Iterable[Hot], now: Micros) -> Beaten:
    """Each beat meets the row as the one before it left it."""
    before = {hot.id: hot for hot in found}
    after = dict(before)
    answers: list[Extended] = []
    for beat in beats:
        hot = after.get(beat.task_id)
        if hot is None or not transitions.may_beat(hot, beat):
            answers.append(Extended(hot, accepted=False))
        else:
            after[hot.id] = transitions.beat(hot, beat, now=now)
            answers.append(Extended(after[hot.id], accepted=True))
    return Beaten(answers, [(hot, after[hot.id]) for hot in before.values()])
