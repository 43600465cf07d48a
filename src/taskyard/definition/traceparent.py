"""The `traceparent` of W3C Trace Context: which trace a task belongs to, and the span it was put in by.

Strangers send it. Only the exact form of version 00 is taken; anything else is no traceparent, and no error.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FORM = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})", re.ASCII)


class Traceparent(NamedTuple):
    trace_id: int
    span_id: int
    flags: int  # bit 0: sampled

    def __str__(self) -> str:
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{self.flags:02x}"


def parse(value: object) -> Traceparent | None:
    """None where the value is malformed."""
    found = _FORM.fullmatch(value) if isinstance(value, str) else None
    return None if found is None else Traceparent(*(int(part, 16) for part in found.groups()))


def read(value: object, _path: str) -> str | None:
    """A traceparent as the field of a task: a malformed one is ignored, as the standard asks."""
    return str(value) if parse(value) is not None else None
