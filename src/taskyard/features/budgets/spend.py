"""What agents report as spent, read and priced. It is gone already, so its form is never a reason to refuse it."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from taskyard.core.cached_tokens import CachedTokens
from taskyard.core.units import MicroUsd
from taskyard.definition import arguments
from taskyard.features.budgets.prices import price
from taskyard.features.budgets.token_counts import TokenCounts, counted


class Reported(NamedTuple):
    """None: what was reported before stands."""

    cost: MicroUsd | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: str | None = None  # JSON, as `CachedTokens`
    model: str | None = None

    @property
    def fields(self) -> dict[str, int | str]:
        """The fields of the task's row that are reported anew."""
        totals = {
            "spent": self.cost,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "tokens_cached": self.tokens_cached,
        }
        return {field: total for field, total in totals.items() if total is not None}


NOTHING = Reported()


def reported(
    *,
    cost_usd: str | float | int | Decimal | None = None,
    tokens_input: int | None = None,
    tokens_output: int | None = None,
    tokens_cache_read: int | None = None,
    tokens_cache_write: int | None = None,
    model: str | None = None,
    is_batch: bool = False,
) -> Reported:
    """The totals of an attempt, as they are stored. In a provider's batch, the batch price is looked up."""
    if cost_usd is tokens_input is tokens_output is tokens_cache_read is tokens_cache_write is model is None:
        return NOTHING  # as with most heartbeats
    read = arguments.tokens("tokens_cache_read", tokens_cache_read)
    written = arguments.tokens("tokens_cache_write", tokens_cache_write)
    given = arguments.tokens("tokens_input", tokens_input)
    output = arguments.tokens("tokens_output", tokens_output)
    tokens = counted(TokenCounts(given or 0, output or 0, read or 0, written or 0))
    name = None if model is None else arguments.name("model", model)
    cost = arguments.spent("cost_usd", cost_usd)
    if cost is None and name is not None and any(tokens):
        cost = price(name, tokens, is_batch=is_batch)
    cached = CachedTokens(tokens.cache_read, tokens.cache_write)
    taken_in = tokens.input if given is not None or any(cached) else None
    return Reported(cost, taken_in, output, cached.text, name)
