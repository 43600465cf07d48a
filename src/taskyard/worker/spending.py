"""What a handler's calls of models cost, each and in all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from taskyard.core.errors import InvalidInput
from taskyard.core.units import MicroUsd, to_usd, usd_spent
from taskyard.definition import fields
from taskyard.definition.arguments import MOST_TOKENS
from taskyard.features.attempts.views import StepFacts
from taskyard.features.budgets.prices import price
from taskyard.features.budgets.token_counts import TokenCounts, counted
from taskyard.features.budgets.views import Spent

Dollars = str | float | int | Decimal
# What a step costs: dollars, the arguments of `Context.spend`, or a function of the step's result that gives either.
Cost = Dollars | Mapping[str, Any] | None
Ran = tuple[int, int]  # when a call began and ended, in nanoseconds since 1970
_NO_COST, _NO_TOKENS = MicroUsd(0), TokenCounts()
StepCost = Cost | Callable[[Any], Cost]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call as a handler reports it. Without dollars its price is looked up."""

    usd: Dollars | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    model: str | None = None
    provider: str | None = None  # who serves the model, where that is known

    @property
    def tokens(self) -> TokenCounts:
        given = TokenCounts(self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens)
        return counted(_checked(given))

    @property
    def cost(self) -> MicroUsd | None:
        """None where nobody knows."""
        if self.usd is not None:
            return MicroUsd(fields.decimal(self.usd, "usd", convert=usd_spent))
        if self.model is None or not any(self.tokens):
            return None
        return price(self.model, self.tokens, self.provider)


def call_of(cost: StepCost, result: object) -> ModelCall | None:
    """What a step with this result cost; None where it cost nothing."""
    given = cost(result) if callable(cost) else cost
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return ModelCall(usd=given)
    try:
        return ModelCall(**given)
    except TypeError as error:
        raise InvalidInput("spend", f"must have the arguments of Context.spend: {error}") from None


def step_facts(call: ModelCall | None, ran: Ran | None) -> StepFacts:
    """What is known of one step by itself."""
    facts = StepFacts()
    if ran is not None:
        facts["took_sec"] = max(ran[1] - ran[0], 0) / 1e9  # a clock may be set back meanwhile
    if call is not None:
        cost, tokens = call.cost, call.tokens
        if cost is not None:
            facts["cost_usd"] = to_usd(cost)
        if any(tokens):
            facts["tokens_input"], facts["tokens_output"] = tokens.input, tokens.output
            facts["tokens_cache_read"], facts["tokens_cache_write"] = tokens.cache_read, tokens.cache_write
        if call.model is not None:
            facts["model"] = call.model
    return facts


@dataclass(slots=True)
class Totals:
    """What an attempt has spent so far."""

    cost: MicroUsd = _NO_COST
    tokens: TokenCounts = _NO_TOKENS
    model: str | None = None

    def add(self, call: ModelCall) -> None:
        # All or nothing: what the yard would refuse could not be reported with the attempt's end either.
        tokens = _checked(TokenCounts(*(before + more for before, more in zip(self.tokens, call.tokens, strict=True))))
        self.cost, self.tokens = MicroUsd(self.cost + (call.cost or 0)), tokens
        self.model = call.model or self.model

    @property
    def is_nothing(self) -> bool:
        """Whether there is no cost, no token and no model to report."""
        return self.model is None and not self.cost and not any(self.tokens)

    def report(self) -> Spent:
        """As the yard takes it. Tokens without any cost go with their model: the server may know its price."""
        if not self.cost and not any(self.tokens):
            return {"model": self.model}
        return {
            "cost_usd": to_usd(self.cost) if self.cost else None,
            "tokens_input": self.tokens.input,
            "tokens_output": self.tokens.output,
            "tokens_cache_read": self.tokens.cache_read,
            "tokens_cache_write": self.tokens.cache_write,
            "model": self.model,
        }


def _checked(tokens: TokenCounts) -> TokenCounts:
    for name, number in tokens._asdict().items():
        fields.whole(number, f"{name}_tokens", least=0, most=MOST_TOKENS)
    return tokens
