"""What a workspace may say of its breakers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import is_mapping
from taskyard.core.planning import BreakerSettings
from taskyard.core.units import Micros, seconds
from taskyard.definition import fields

MOST_OVERRIDES = 1000


def breaker_settings(failure_threshold: object, half_open_after_sec: object, overrides: object) -> BreakerSettings:
    """What a workspace says of its breakers, if it may; each may be None, for the preset's."""
    given: object = dict[str, object]() if overrides is None else overrides
    if not is_mapping(given):
        raise InvalidInput("overrides", "must be an object of task types and what differs for each")
    if len(given) > MOST_OVERRIDES:
        raise InvalidInput("overrides", f"must have at most {MOST_OVERRIDES} entries")
    own = {fields.name(type_, "overrides"): _override(type_, value) for type_, value in given.items()}
    return BreakerSettings(
        failure_threshold=fields.optional(_threshold)(failure_threshold, "failure_threshold"),
        half_open_after=fields.optional(_cooling)(half_open_after_sec, "half_open_after_sec"),
        thresholds={type_: threshold for type_, (threshold, _) in own.items() if threshold is not None},
        waits={type_: wait for type_, (_, wait) in own.items() if wait is not None},
    )


_THRESHOLDS = ("failure_threshold", "failureThreshold")
_WAITS = ("half_open_after_sec", "halfOpenAfter", "cooldownSeconds")  # the first that is given counts


def _override(type_: object, given: object) -> tuple[int | None, Micros | None]:
    """What one type has of its own: a threshold alone, or an object under our names or those of preset loki."""
    path = f"overrides.{ascii(type_)[1:-1][:100]}"
    if not is_mapping(given):
        return _threshold(given, path), None
    if strange := [name for name in given if name not in (*_THRESHOLDS, *_WAITS)]:
        known = ", ".join((*_THRESHOLDS, *_WAITS))
        raise InvalidInput(f"{path}.{ascii(strange[0])[1:-1][:100]}", f"must be one of {known}")
    threshold, wait = _first(given, _THRESHOLDS), _first(given, _WAITS)
    return (
        None if threshold is None else _threshold(given[threshold], f"{path}.{threshold}"),
        None if wait is None else _cooling(given[wait], f"{path}.{wait}"),
    )


def _first(entry: Mapping[str, object], names: Sequence[str]) -> str | None:
    return next((name for name in names if entry.get(name) is not None), None)


def _threshold(value: object, path: str) -> int:
    return fields.whole(value, path, least=1, most=1_000_000)


def _cooling(value: object, path: str) -> Micros:
    return seconds(fields.number(value, path, least=0.001, most=fields.LONGEST_SEC))
