"""What is answered about breakers."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.core.breaker import BreakerState
from taskyard.core.planning import BreakerSettings
from taskyard.definition.view import About, Length, view


class BreakerView(NamedTuple):
    type: str
    state: BreakerState
    open_until: str | None
    why: str
    opened_at: str | None = None
    failures: Annotated[int, About("One after the other, so far.")] = 0
    failure_threshold: int = 0


@view
class BreakerOverride:
    failure_threshold: int | None
    half_open_after: Length | None


@view
class BreakerPolicyView:
    """Where the workspace's breakers differ from the preset's; null: they do not."""

    SCHEMA = "BreakerSettings"

    failure_threshold: int | None
    half_open_after: Length | None
    overrides: Annotated[dict[str, BreakerOverride], About("By type, where it differs.")]


def policy_view(settings: BreakerSettings) -> BreakerPolicyView:
    thresholds, waits = settings.thresholds, settings.waits
    overrides = {
        type_: BreakerOverride(thresholds.get(type_), waits.get(type_)) for type_ in sorted({*thresholds, *waits})
    }
    return BreakerPolicyView(settings.failure_threshold, settings.half_open_after, overrides)
