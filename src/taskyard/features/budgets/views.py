"""What an attempt has cost so far, in all: the same arguments wherever an agent reports it."""

from __future__ import annotations

from decimal import Decimal
from typing import TypedDict


class Spent(TypedDict, total=False):
    """Each is a total of the attempt; what is absent or None leaves what was reported before.

    Where only a model and tokens are given, the cost is looked up (`taskyard[prices]`).
    """

    cost_usd: str | float | int | Decimal | None
    tokens_input: int | None  # every token read, cached ones among them
    tokens_output: int | None
    tokens_cache_read: int | None
    tokens_cache_write: int | None
    model: str | None
