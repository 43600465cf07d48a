"""How things look in a terminal: one manner for all tables, states, times and money.

Most of what is shown was written by others. Every text here is text: no markup is read from it, and characters that a
terminal would obey are shown as escapes. So no other module of the command line makes a `rich` text or console.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import rich.text
from rich.console import Console
from rich.style import Style
from rich.table import Table

from taskyard.core.json_value import compact
from taskyard.core.task import ServiceTier, Status
from taskyard.core.units import Micros, MicroUsd, to_iso, to_usd
from taskyard.visible_text import visible

if TYPE_CHECKING:  # they load every feature, which a command that shows a line of text does without
    from taskyard.features.agents.views import AgentView
    from taskyard.features.approvals.views import Approval
    from taskyard.features.dead_letters.views import DeadLetter
    from taskyard.features.tasks.parts import AttemptView, TokensUsed
    from taskyard.features.tasks.task_rows import TaskInShort, TaskRow
    from taskyard.features.tasks.views import Details, Task

COLOURS = {
    Status.PENDING: "bright_black",
    Status.READY: "cyan",
    Status.CLAIMED: "blue",
    Status.RUNNING: "bold blue",
    Status.VALIDATING: "magenta",
    Status.COMPLETED: "green",
    Status.RETRYING: "yellow",
    Status.DEAD_LETTERED: "bold red",
    Status.CANCELLED: "bright_black",
}
MARKS = {
    Status.PENDING: "·",
    Status.READY: "○",
    Status.CLAIMED: "◔",
    Status.RUNNING: "◐",
    Status.VALIDATING: "◕",
    Status.COMPLETED: "✓",
    Status.RETRYING: "↻",
    Status.DEAD_LETTERED: "✗",
    Status.CANCELLED: "–",
}
SHORT = 10  # characters at the end of an id that tell tasks apart


class Text(rich.text.Text):
    """A text in which nothing is obeyed."""

    def __init__(self, text: str = "", style: str | Style = "", **options: Any) -> None:
        super().__init__(visible(text), style, **options)

    def append(self, text: rich.text.Text | str, style: str | Style | None = None) -> Self:
        super().append(visible(text) if isinstance(text, str) else text, style)
        return self

    @classmethod
    def assemble(cls, *parts: str | rich.text.Text | tuple[str, str | Style], **options: Any) -> Self:
        made = cls(**options)
        for part in parts:
            made.append(*part) if isinstance(part, tuple) else made.append(part)
        return made


class Terminal(Console):
    """A console that takes every string for what it is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, markup=False, highlight=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> rich.text.Text:
        return super().render_str(visible(text), **options)


def table(
    *columns: str, rows: Iterable[Sequence[str | Text]], right: Sequence[str] = (), wraps: Sequence[str] = ()
) -> Table:
    """Columns keep their words whole; where it is too narrow, the last one gives way, or those that are named."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        gives_way = column in (wraps or columns[-1:])
        side = "right" if column in right else "left"
        made.add_column(column, justify=side, overflow="fold", no_wrap=not gives_way)
    for row in rows:
        made.add_row(*row)
    return made


def cut(text: str) -> Text:
    """On one line of a table; where the screen is too narrow, without its end."""
    return Text(one_line(text), no_wrap=True, overflow="ellipsis")


def one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"


def state(status: Status) -> Text:
    return Text(f"{MARKS[status]} {status.value}", style=COLOURS[status])


def short(identifier: str) -> str:
    """The end of an id: enough to tell recent ones apart, and enough to name one to a command."""
    return identifier[-SHORT:]


def age(at: Micros | None, now: Micros) -> str:
    """How long ago, in the largest unit that fits; in the future: in how long."""
    if at is None:
        return ""
    left = (now - at) / 1_000_000
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if abs(left) >= length:
            return _signed(left / length, unit)
    return _signed(left, "s")


def dollars(amount: MicroUsd | int | None) -> str:
    """To the cent, and further only where there is more."""
    if amount is None:
        return ""
    whole, _, cents = to_usd(MicroUsd(amount)).partition(".")
    return f"${whole}.{cents:0<2}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def seconds(duration: float) -> str:
    return f"{duration:.2f} s" if duration < 10 else f"{duration:.0f} s"


def title_of(task: Task | TaskRow | TaskInShort) -> str:
    return one_line(task.title) or task.type


def facts_of(task: Details, because: str, now: Micros) -> dict[str, str | Text]:
    """What there is to say about a task, by name: what is empty is left out."""
    constraints = task.spec.constraints
    facts: dict[str, str | Text] = {
        "type": task.type,
        "state": state(task.status),
        "": "" if because == f"is {task.status.value}" else because,
        "title": task.title,
        "dag": task.dag_id,
        "queue": task.queue if task.queue != "default" else "",
        "priority": str(task.priority),
        "agent": task.addressed_to or "",
        "variant": task.variant or "",
        "service": "batch" if task.service is ServiceTier.BATCH else "",
        "needs": ", ".join(constraints.required_capabilities),
        "created": f"{age(task.created_at, now)} ago by {task.created_by}",
        "deadline": to_iso(task.deadline) if task.deadline else "",
        "cost": f"{dollars(task.cost)} of {dollars(constraints.max_cost)}"
        if constraints.max_cost
        else dollars(task.cost),
        "tokens": _tokens(task.tokens_used),
        "attempts": f"{task.failures} of {task.max_attempts} used up",
        "tags": ", ".join(task.tags),
        "prompt": task.prompt,
        "payload": compact(task.payload) if task.payload != {} else "",
        "output": json.dumps(task.result, ensure_ascii=False) if task.output.attempt is not None else "",
    }
    return {name: value for name, value in facts.items() if value}


def _tokens(used: TokensUsed) -> str:
    cached = (("from a cache", used.cache_read), ("into a cache", used.cache_write))
    words = [f"{used.input} in", *(f"{number} of them {where}" for where, number in cached if number)]
    return ", ".join((*words, f"{used.output} out")) if used.input or used.output else ""


def attempt_cells(attempt: AttemptView) -> tuple[str, ...]:
    """attempt, agent, outcome, took, cost, reason"""
    return (
        str(attempt.number),
        attempt.agent,
        attempt.outcome.value,
        seconds((attempt.ended_at - (attempt.started_at or attempt.claimed_at)) / 1_000_000),
        dollars(attempt.cost),
        one_line(f"{attempt.reason}: {attempt.error}" if attempt.reason else ""),
    )


def approval_cells(approval: Approval, now: Micros) -> tuple[str, ...]:
    """task, type, name, question, for, waits"""
    question = approval.question
    text = approval.task.title if question is None else question.text
    who = "" if question is None else ", ".join(question.who)
    waits = age(approval.since, now)
    return short(approval.task.id), approval.task.type, approval.signal, one_line(text), who, waits


def dead_letter_cells(letter: DeadLetter, now: Micros) -> tuple[str | Text, ...]:
    """task, type, reason, fails, cost, died, error"""
    task, dead = letter.task, letter.dead
    last = task.attempts[-1] if task.attempts else None
    reason = Text(dead.reason)
    if dead.poison_pill:
        reason.append(" poison pill", style="bold red")
    if dead.reviewed:
        reason.append(f" ({dead.resolution})", style="dim")
    error = one_line(last.error or "") if last else ""
    return short(task.id), task.type, reason, str(task.failures), dollars(task.cost), f"{age(dead.at, now)} ago", error


def agent_cells(view: AgentView, now: Micros) -> tuple[str, ...]:
    """agent, type, state, tasks, left, heard, capabilities"""
    return (
        view.id,
        view.type,
        view.status.value,
        f"{view.current_tasks}/{view.max_concurrent_tasks}",
        dollars(view.budget_left),
        f"{age(view.last_heartbeat, now)} ago" if view.last_heartbeat else "never",
        ", ".join(sorted(view.capabilities)),
    )


def _signed(amount: float, unit: str) -> str:
    return f"in {-amount:.0f}{unit}" if amount < 0 else f"{amount:.0f}{unit}"
