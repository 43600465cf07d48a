"""The day's decisions on dead letters, as Markdown for those who come after.

What agents and people wrote is quoted: none of it can be taken for a part of the report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, NamedTuple

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.units import Micros, MicroUsd, to_iso, to_usd, utc_date
from taskyard.features.dead_letters.views import Review
from taskyard.features.tasks.parts import AttemptView
from taskyard.features.tasks.views import Details

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


class DeadLetterDecision(NamedTuple):
    """What somebody decided about a dead letter, and what had led to it."""

    review: Review
    task: Details

    @property
    def made_at(self) -> Micros:
        return self.review.reviewed_at or Micros(0)

    @property
    def attempts(self) -> list[AttemptView]:
        """Those that it died of: what was tried after the decision is no part of it."""
        return [attempt for attempt in self.task.attempts if attempt.number <= self.review.attempt]

    @property
    def cost(self) -> MicroUsd:
        return MicroUsd(sum(attempt.cost for attempt in self.attempts))

    def to_dict(self) -> dict[str, Json]:
        return {
            "task_id": self.task.id,
            "title": self.task.title,
            "type": self.task.type,
            "decision": self.review.resolution,
            "by": self.review.reviewed_by,
            "at": to_iso(self.made_at),
            "why": self.review.note,
            "died_at": to_iso(self.review.at or Micros(0)),
            "reason": self.review.reason,
            "poison_pill": self.review.poison_pill,
            "cost_usd": to_usd(self.cost),
            "status": self.task.status.value,
            "attempts": write(self.attempts),
        }


def day_given(text: str | None, now: Micros) -> str:
    """The day that a report is about: today in UTC, where none is named."""
    try:
        return utc_date(now) if text is None else date.fromisoformat(text).isoformat()
    except ValueError:
        raise InvalidInput("--date", "must be a day, as 2026-11-15") from None


async def decisions_of(yard: Yard, day: str) -> list[DeadLetterDecision]:
    """What was decided on that day, in the order it was."""
    made = [DeadLetterDecision(review, await yard.get(review.task_id)) for review in await yard.dead_letters.reviews()]
    return [each for each in made if utc_date(each.made_at) == day]


def report(day: str, made: Sequence[DeadLetterDecision]) -> str:
    """A page of the review log: who decided what, when and why, what had gone wrong, and what that had cost."""
    if not made:
        return f"# Dead-letter review {day}\n\nNothing was decided.\n"
    words = Counter(str(each.review.resolution) for each in made)
    summary = ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
    cost = to_usd(MicroUsd(sum(each.cost for each in made)))
    head = f"# Dead-letter review {day}\n\nDecisions: {len(made)} ({summary}). What had failed had cost ${cost}.\n"
    return "\n".join([head, *(_section(number, each) for number, each in enumerate(made, start=1))])


def _section(number: int, decision: DeadLetterDecision) -> str:
    task, review = decision.task, decision.review
    died = f"{to_iso(review.at or Micros(0))}, of {_inline(review.reason)}"
    if review.poison_pill:
        died += " (poison pill: it had failed under several agents)"
    return "\n".join(
        [
            f"## {number}. {_inline(task.title or task.type)}",
            "",
            f"- Task: `{task.id}`, type {_inline(task.type)}, queue {_inline(task.queue)}",
            f"- Decision: **{review.resolution}** by {_inline(review.reviewed_by)}, {to_iso(decision.made_at)}",
            f"- Why: {_inline(review.note) or 'no reason was given'}",
            f"- Died: {died}",
            f"- Cost: ${to_usd(decision.cost)} in {len(decision.attempts)} attempts",
            f"- Now: {task.status.value}",
            "",
            *_history(decision.attempts),
        ]
    )


def _history(attempts: Iterable[AttemptView]) -> Iterable[str]:
    yield "### What had happened"
    yield ""
    for attempt in attempts:
        took = (attempt.ended_at - (attempt.started_at or attempt.claimed_at)) / 1_000_000
        ended = _inline(attempt.reason or attempt.outcome.value)
        yield f"{attempt.number}. {_inline(attempt.agent)}: **{ended}** after {took:.1f} s, ${to_usd(attempt.cost)}"
        yield from _quoted(attempt.error or "")
    yield ""


def _quoted(text: str) -> Iterable[str]:
    """As it stands, in a fence that it cannot close."""
    if not text.strip():
        return
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"   {fence}text"
    yield from (f"   {line}" for line in text.strip().splitlines())
    yield f"   {fence}"


def _inline(text: Any) -> str:
    """On one line, and nothing but text."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text or "").split()))
