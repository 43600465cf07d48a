"""The tokens of model calls, as providers count them."""

from __future__ import annotations

from typing import Any, NamedTuple

from taskyard.core.json_value import is_mapping


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


def openai_usage(usage: Any) -> dict[str, int]:
    """The usage that both of OpenAI's APIs answer with, as the arguments of `Context.spend`.

    They count cached tokens among the input. An answer may be without usage.
    """
    details = _of(usage, "input_tokens_details", "prompt_tokens_details")
    return {
        "input_tokens": _count(usage, "input_tokens", "prompt_tokens"),
        "output_tokens": _count(usage, "output_tokens", "completion_tokens"),
        "cache_read_tokens": _count(details, "cached_tokens"),
        "cache_write_tokens": _count(details, "cache_write_tokens"),
    }


def anthropic_usage(usage: Any) -> dict[str, int]:
    """The same of Anthropic's API, which counts cached tokens beside the input."""
    read, written = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens")
    return {
        "input_tokens": _count(usage, "input_tokens") + read + written,
        "output_tokens": _count(usage, "output_tokens"),
        "cache_read_tokens": read,
        "cache_write_tokens": written,
    }


def _count(usage: Any, *names: str) -> int:
    """A number of tokens; 0 for what is none, such as the text of a server that is no provider's."""
    found = _of(usage, *names)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def _of(value: Any, *names: str) -> Any:
    """The first of these that an object or document has."""
    found = (value.get(name) if is_mapping(value) else getattr(value, name, None) for name in names)
    return next((each for each in found if each is not None), None)
