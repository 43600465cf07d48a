"""How many tokens went through the caches of providers. Prices and the other tokens are elsewhere."""

from __future__ import annotations

from typing import NamedTuple

from taskyard.core.json_value import compact, value_of


class CachedTokens(NamedTuple):
    """How many of the tokens that models read came from a provider's cache, and how many were put into one.

    Most attempts have none, so both numbers are one text, which is missing where there are none.
    """

    read: int = 0
    written: int = 0

    @classmethod
    def of(cls, *texts: str | None) -> CachedTokens:
        """The sum of what is stored."""
        found = [value_of(text) for text in texts if text is not None]
        return cls(sum(read for read, _ in found), sum(written for _, written in found))

    @property
    def text(self) -> str | None:
        return compact(self) if any(self) else None
