"""Which ids a page is of, in the order of code points, which is that of UTF-8 and the same on every store."""

from __future__ import annotations

from typing import NamedTuple

_LAST = chr(0x10FFFF)
_BEFORE_SURROGATES, _AFTER_SURROGATES = chr(0xD7FF), chr(0xE000)  # no text has what is between


class Page(NamedTuple):
    """From `first` on, and before `end`; None: to the last there is."""

    first: str
    end: str | None
    limit: int


def page_of(prefix: str, below: str | None, limit: int) -> Page:
    """The ids that begin so and come before `below`."""
    ends = [end for end in (_after(prefix), below) if end is not None]
    return Page(prefix, min(ends, default=None), limit)


def _after(prefix: str) -> str | None:
    """The first text after all that begin so."""
    stem = prefix.rstrip(_LAST)
    if not stem:
        return None
    last = stem[-1]
    return stem[:-1] + (_AFTER_SURROGATES if last == _BEFORE_SURROGATES else chr(ord(last) + 1))
