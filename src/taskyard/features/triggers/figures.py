"""Improvement rules: a figure over the last attempts, and whether it is bad enough to make work of.

What a rule has seen is kept attempt by attempt, so that the mean is that of the last ones and no others. When it has
fired it begins anew: the same bad attempts do not fire it twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, cast

from taskyard.core.changes import Record, StoredEvent
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import RecordKind
from taskyard.core.task import Reason
from taskyard.core.units import SECOND, Micros
from taskyard.features.triggers.rules import Measure

_ENDS = frozenset({"task.completed", "task.retrying", "task.dead_lettered"})
_SCALE = 1_000_000  # values are kept in whole millionths, of whatever is measured


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRule:
    measure: Measure
    type: str | None  # of the tasks that it is about; None: all
    above: float
    over: int  # attempts
    window: Micros  # in which it fires once at most


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleState:
    """What a rule has seen since it last fired."""

    seq: int = 0  # of the last event that was looked at
    values: tuple[int, ...] = ()
    fired_at: Micros | None = None

    @property
    def mean(self) -> float | None:
        return round(sum(self.values) / len(self.values) / _SCALE, 6) if self.values else None

    def body(self) -> dict[str, Json]:
        return {"seq": self.seq, "values": list[Json](self.values), "fired_at": self.fired_at}


class RuleStateBody(TypedDict):
    seq: int
    values: list[int]
    fired_at: Micros | None


RULE_STATE = RecordKind("listening", RuleStateBody)


def seen_in(record: Record | None) -> RuleState:
    if record is None or "values" not in record.body:
        return RuleState()
    body = RULE_STATE.of(record)
    return RuleState(seq=body["seq"], values=tuple(body["values"]), fired_at=body["fired_at"])


def rule_of(settings: Mapping[str, Json]) -> FigureRule:
    given = cast(Mapping[str, Any], settings)
    return FigureRule(
        measure=Measure(given["measure"]),
        type=given["type"],
        above=given["above"],
        over=given["over"],
        window=Micros(given["window_sec"] * SECOND),
    )


def watched(rule: FigureRule, seen: RuleState, events: Sequence[StoredEvent]) -> RuleState:
    """What the rule has seen after these too. Events that it saw before are passed over."""
    values = [value for each in events if each.seq > seen.seq and (value := _value(rule, each)) is not None]
    if not values:
        return seen
    last = max(each.seq for each in events)
    return RuleState(seq=last, values=(*seen.values, *values)[-rule.over :], fired_at=seen.fired_at)


def is_bad(rule: FigureRule, seen: RuleState) -> bool:
    return len(seen.values) >= rule.over and (seen.mean or 0) > rule.above


def quiet_until(rule: FigureRule, seen: RuleState) -> Micros | None:
    return None if seen.fired_at is None else Micros(seen.fired_at + rule.window)


def _value(rule: FigureRule, stored: StoredEvent) -> int | None:
    """What the event adds; None where it is not the end of an attempt that the rule is about."""
    event = stored.event
    if event.event not in _ENDS:
        return None
    facts: dict[str, Any] = json.loads(event.data or "{}")
    if rule.type is not None and facts.get("type") != rule.type:
        return None
    match rule.measure:
        case Measure.FAILURE_RATE:
            # A provider that asks to wait says nothing about the work.
            is_fault = event.event != "task.completed"
            return None if is_fault and facts.get("reason") == Reason.RATE_LIMIT else _SCALE * is_fault
        case Measure.COST_USD:
            return facts.get("cost", 0)
        case Measure.DURATION_SEC:
            return facts.get("ran")
