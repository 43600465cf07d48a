"""What a model call costs, from the price list of genai-prices, an extra that is loaded when it is first asked.

Nothing is fetched: the prices are those of the installed release. A model without a price costs nothing here, and is
named once in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import cache, partial
from typing import TYPE_CHECKING

from taskyard.core.units import MicroUsd, usd_spent
from taskyard.features.budgets.token_counts import TokenCounts

if TYPE_CHECKING:
    from decimal import Decimal
    from types import ModuleType

logger = logging.getLogger("taskyard.prices")
BATCH_FACTOR = 2  # a call in a provider's batch costs half, where the list has no batch price of the model
_IN_BATCH = {"processing": "batch"}


async def load(models: Iterable[str | None]) -> None:
    """Load the list beside the loop, where a price of one of these may be asked for next: it takes a second."""
    if not _list.cache_info().currsize and any(model is not None for model in models):
        await asyncio.to_thread(_list)


@cache
def _list() -> ModuleType | None:
    try:
        import genai_prices  # noqa: PLC0415 - an extra, and it takes a while to load
    except ImportError:
        _warn("the cost of model calls is not looked up: genai-prices is missing (pip install 'taskyard[prices]')")
        return None
    genai_prices.calc_price(
        genai_prices.Usage(), model_ref="gpt-4o"
    )  # the prices themselves are read by the first look
    return genai_prices


def price(model: str, tokens: TokenCounts, provider: str | None = None, *, is_batch: bool = False) -> MicroUsd | None:
    """What these tokens cost, rounded up to a micro-dollar; None where nobody knows.

    Some models are found only where their provider is known. In a provider's batch tokens cost what the list says of
    batches, or half where it says nothing of them.
    """
    prices = _list()
    if prices is None:
        return None
    usage = prices.Usage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
    )

    def total(name: str, provider: str | None) -> Decimal:
        asked = partial(prices.calc_price, usage, model_ref=name, provider_id=provider)
        full = asked().total_price
        if not is_batch:
            return full
        try:
            in_batch = asked(price_context=_IN_BATCH).total_price
        except TypeError:  # a release of the list that has no batch prices
            in_batch = full
        return full / BATCH_FACTOR if in_batch == full else in_batch

    for maker, name in [*([(provider, model)] if provider else []), *_readings(model)]:
        try:
            return usd_spent(total(name, maker))
        except (LookupError, ValueError):
            continue
    _warn(f"no price is known for model {model}: its tokens are recorded without a cost")
    return None


def _readings(model: str) -> list[tuple[str | None, str]]:
    """The model as it is called, and as frameworks call it: `openai:gpt-4o`, `anthropic/claude-sonnet-4-5`."""
    readings: list[tuple[str | None, str]] = [(None, model)]
    for mark in (":", "/"):
        provider, found, name = model.partition(mark)
        if found:
            readings += [(provider, name), (None, name)]
    return readings


@cache
def _warn(words: str) -> None:
    logger.warning("%s", words)
