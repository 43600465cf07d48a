"""The range of ids on a page, in the order of code points: the order of UTF-8, and the same on every store."""

from __future__ import annotations

from typing import NamedTuple

_LAST = chr(0x10FFFF)
_BEFORE_SURROGATES, _AFTER_SURROGATES = chr(0xD7FF), chr(0xE000)  # no text has a surrogate


class PageRange(NamedTuple):
    """The ids from `first` to before `end`. Without an `end`, the page reaches to the last id."""

    first: str
    end: str | None
    limit: int


def page_range(prefix: str, below: str | None, limit: int) -> PageRange:
    """The ids that begin with the prefix and come before `below`."""
    ends = [end for end in (_successor_of(prefix), below) if end is not None]
    return PageRange(prefix, min(ends, default=None), limit)


def _successor_of(prefix: str) -> str | None:
    """The first text after all texts that begin with the prefix."""
    stem = prefix.rstrip(_LAST)
    if not stem:
        return None
    last = stem[-1]
    return stem[:-1] + (_AFTER_SURROGATES if last == _BEFORE_SURROGATES else chr(ord(last) + 1))
