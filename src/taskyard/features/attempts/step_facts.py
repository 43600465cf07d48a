"""What a step took and cost by itself: read from its agent, written into the event of the step, and shown.

The event is where it belongs: a task's events are kept as long as the task, on every store. Begin and end are counted
back from the event's time, since a worker's clock may be wrong and the time that it measured is not. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from taskyard.core.changes import Checkpoint, StoredEvent
from taskyard.core.json_value import Json, value_of
from taskyard.core.units import SECOND, Micros
from taskyard.definition import fields
from taskyard.features.attempts.views import StepFacts, StepView
from taskyard.features.budgets.spend import NOTHING, reported

EVENT = "task.step"
LONGEST = 366 * 24 * 3600  # seconds that a step may have taken


def facts_given(step: StepFacts | None) -> dict[str, Json]:
    """What an agent says of a step, as its event has it; what it does not know is left out."""
    if step is None:
        return {}
    facts: dict[str, Json] = {}
    if (took := step.get("took_sec")) is not None:
        facts["took"] = round(fields.number(took, "step.took_sec", least=0, most=LONGEST) * SECOND)
    call = reported(
        cost_usd=step.get("cost_usd"),
        tokens_input=step.get("tokens_input"),
        tokens_output=step.get("tokens_output"),
        tokens_cache_read=step.get("tokens_cache_read"),
        tokens_cache_write=step.get("tokens_cache_write"),
        model=step.get("model"),
    )
    if call != NOTHING:
        facts["call"] = {name: value for name, value in call._asdict().items() if value is not None}
    return facts


def step_views(checkpoints: Iterable[Checkpoint], events: Iterable[StoredEvent]) -> list[StepView]:
    """The steps in the order in which they were stored; what older releases stored has no facts."""
    by_name: dict[str, tuple[Micros, Mapping[str, Any]]] = {}
    for _, event, _ in events:
        if event.event == EVENT:
            facts = value_of(event.data or "{}")
            by_name[facts["step"]] = event.at, facts
    return [_view(each, by_name.get(each.name)) for each in checkpoints]


def _view(checkpoint: Checkpoint, event: tuple[Micros, Mapping[str, Any]] | None) -> StepView:
    ended, facts = event or (None, dict[str, Any]())
    took: int | None = facts.get("took")
    call: Mapping[str, Any] = facts.get("call", {})
    return StepView(
        name=checkpoint.name,
        attempt=checkpoint.attempt,
        began_at=None if ended is None or took is None else Micros(ended - took),
        ended_at=ended,
        model=call.get("model"),
        cost=call.get("cost"),
        tokens_input=call.get("tokens_in"),
        tokens_output=call.get("tokens_out"),
    )
