"""What is answered about triggers."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.definition.view import FLAT, About, Named, Time
from taskyard.features.sources.fires import Fire
from taskyard.features.triggers.rules import Trigger


class Watched(NamedTuple):
    """How a rule stands: the mean of the attempts it has seen since it last fired."""

    mean: float | None
    attempts: int
    quiet_until: Time | None  # it has fired, and is not to fire again before then


class TriggerView(NamedTuple):
    trigger: Annotated[Trigger, FLAT]
    fires: Annotated[tuple[Fire, ...], About("The last ones, latest first; those of one trigger only.")] = ()
    watched: Annotated[Watched | None, About("Of a rule: the attempts it has seen since it last fired.")] = None
    passed_over: Annotated[str | None, About("The last thing that was none of its business, and why.")] = None


class AddedTrigger(NamedTuple):
    """A trigger that was just made."""

    view: Annotated[TriggerView, Named("trigger")]
    secret: Annotated[str | None, About("Of a hook: what its deliveries are signed with. Shown this once.")]
