"""What callers give, as the JSON that is sent. What is no JSON is refused here, as the yard itself would."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import cast

from taskyard.core.json_value import compact, encode, is_mapping, mended
from taskyard.core.units import Micros, micros, to_iso
from taskyard.definition.fields import LATEST

MOST_BYTES = 16 << 20  # of one request, as the server has it
DEEPEST = 70  # a payload may be nested as deep as 64, and is itself inside a request
_TIMES = frozenset({"deadline", "run_after", "expires_at", "starts_at", "ends_at"})
_DECIMAL = frozenset(
    {
        *("cost_usd", "max_cost_usd", "budget_usd", "budget_ceiling_usd", "daily_budget_usd", "default_reserve_usd"),
        "priority_boost_per_minute",
    }
)


def body(**members: object) -> bytes:
    """A request: an error names the member that is wrong."""
    return f"{{{parts(**members)}}}".encode()


def parts(**members: object) -> str:
    """The members of a request, without what is around them."""
    return ",".join(f"{compact(name)}:{_encoded(name, value)}" for name, value in members.items())


def listed(texts: Iterable[str]) -> str:
    return f"[{','.join(texts)}]"


def draft(fields: object) -> object:
    """A task as it is put in: what a caller may say in words that JSON does not have is spelled out."""
    if not is_mapping(fields):
        return fields
    return {name: _spelled(name, value) for name, value in fields.items()}


def _spelled(name: object, value: object) -> object:
    match value:
        case _ if name in ("spec", "constraints"):
            return draft(value)
        case Decimal() if name in _DECIMAL:
            return str(value)
        case datetime() if name in _TIMES and value.utcoffset() is not None:
            return to_iso(micros(value))
        case int() if name in _TIMES and not isinstance(value, bool) and 0 <= value <= LATEST:
            return to_iso(Micros(value))
        case _:
            return value


def several(values: object) -> object:
    """A list of whatever can be gone through; what cannot, and a text, is left for the server to refuse."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return values
    return list(cast("Iterable[object]", values))


def as_object(values: object) -> object:
    """A JSON object of any mapping; what is none is left for the server to refuse."""
    return dict(values) if is_mapping(values) else values


def _encoded(name: str, value: object) -> str:
    given = mended(value) if name == "lease" else _spelled(name, value)
    return encode(given, field=name, max_bytes=MOST_BYTES, max_depth=DEEPEST)
