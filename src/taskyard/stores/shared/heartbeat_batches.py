"""How a batch of heartbeats changes the stored rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from taskyard.core import transitions
from taskyard.core.changes import Beat
from taskyard.core.task import Hot
from taskyard.core.units import Micros
from taskyard.stores.contract import Extended


class HeartbeatResult(NamedTuple):
    answers: list[Extended]  # one for each heartbeat
    steps: list[tuple[Hot, Hot]]  # each row before the batch and after it


def apply_heartbeats(beats: Sequence[Beat], found: Iterable[Hot], now: Micros) -> HeartbeatResult:
    """Apply the heartbeats in order: each one sees the row as the previous one left it."""
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
    return HeartbeatResult(answers, [(hot, after[hot.id]) for hot in before.values()])
