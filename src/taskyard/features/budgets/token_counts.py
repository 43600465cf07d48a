"""The tokens of model calls, as providers count them."""

from __future__ import annotations

from typing import NamedTuple


class TokenCounts(NamedTuple):
    """Input counts every token that a model read; those from and into a provider's cache are among them."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


def counted(tokens: TokenCounts) -> TokenCounts:
    """With the cached ones among the input, also where a provider reports them beside it, as Anthropic does."""
    cached = tokens.cache_read + tokens.cache_write
    return tokens if tokens.input >= cached else tokens._replace(input=tokens.input + cached)
