"""Requests that are like one before: who puts many tasks in says the same of most, but for what they are to work on.

What was looked at once need not be again: that is half of what a task costs that comes in with many.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import NamedTuple

from taskyard.core.definition import Sizes, names_of_ids
from taskyard.core.jsonvalue import encode
from taskyard.core.policy import Dedup, Policy
from taskyard.core.task import Definition, TaskId
from taskyard.core.units import Micros

_PLAIN = frozenset({str, int, bool, type(None)})  # equal ones of one of these types are the same to every rule
_ELSEWHERE = frozenset({"prompt", "dedup"})  # what is judged together with the payload
_OWN = ("id", "payload", "created_at")
_places = {name: len(Definition._fields) + place for place, name in enumerate(_OWN)}
_like = itemgetter(*(_places.get(name, place) for place, name in enumerate(Definition._fields)))

Said = tuple[tuple[object, type, object], ...]


class Pattern(NamedTuple):
    """A request that was found sound, and what it came to."""

    said: Said
    policy: Policy
    created_by: str
    definition: Definition

    def fits(self, said: Said | None, policy: Policy, created_by: str) -> bool:
        return said == self.said and policy is self.policy and created_by == self.created_by

    def define(self, raw: Mapping[str, object], *, task_id: TaskId, now: Micros, sizes: Sizes) -> Definition:
        """What a request comes to that fits: all as before, but for its payload."""
        payload = Definition._field_defaults["payload"]
        if "payload" in raw:
            most, depth = sizes.max_payload_bytes, sizes.max_depth
            payload = encode(raw["payload"], field="payload", max_bytes=most, max_depth=depth)
        return Definition._make(_like((*self.definition, task_id, payload, now)))


def said_besides_payload(raw: Mapping[str, object]) -> Said | None:
    """All of a request but its payload, to be compared; None where it says what may differ and yet be equal."""
    said = tuple([(name, value.__class__, value) for name, value in raw.items() if name != "payload"])
    return said if all(kind in _PLAIN for _, kind, _ in said) else None


def pattern_of(
    raw: Mapping[str, object], said: Said | None, policy: Policy, created_by: str, definition: Definition
) -> Pattern | None:
    """What later requests may be like; None where what one comes to depends on more than what it says beside."""
    apart = _ELSEWHERE.isdisjoint(raw) and names_of_ids(policy).isdisjoint(raw)
    if said is None or not apart or policy.dedup is not Dedup.EXPLICIT:
        return None
    return Pattern(said, policy, created_by, definition)
