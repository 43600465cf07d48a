"""Prompts: what a person may ask a model to do with the yard, in words that have proved themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mcp.types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from taskyard.api import calls
from taskyard.api.calls import Call
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.mcp.desk import Desk, Toolset

LONGEST = 10_000  # characters of an argument


class Template(NamedTuple):
    name: str
    description: str
    call: Call  # whoever may make it is shown the prompt
    sets: frozenset[Toolset]
    arguments: tuple[PromptArgument, ...]
    text: Callable[..., str]

    def is_for(self, desk: Desk) -> bool:
        return self.call.allows(desk.role) and (desk.toolset is Toolset.ALL or desk.toolset in self.sets)


def _argument(name: str, description: str, *, required: bool = False) -> PromptArgument:
    return PromptArgument(name=name, description=description, required=required)


def work_loop(agent: str = "", type: str = "", queue: str = "") -> str:
    chosen = "".join(
        f" {name}: {value!r}." for name, value in (("agent", agent), ("types", type), ("queues", queue)) if value
    )
    return f"""Work through the tasks of the yard until none is left.{chosen}
1. Call claim_task with wait_sec 30. `claimed` false twice in a row: report what you did, and stop.
2. Read the prompt, the payload, `inputs` and `previous_attempts`. Do not repeat steps that are among `checkpoints`.
3. Do the work. Store results of long steps with save_checkpoint. Call heartbeat when you have done a part of it; stop \
at once where `words` has cancelled, lease_lost or budget_exceeded.
4. Hand in with complete_task: a short JSON output that others can build on. Where it cannot be done, call fail_task \
with what went wrong. Where a person must decide, call ask_human, and claim the next task.
5. Begin again."""


def plan_dag(goal: str) -> str:
    return f"""Plan this goal as a graph of tasks: {goal}
Find the smallest tasks that one agent can finish alone, and what each needs from others. Give each a name, a type, a \
prompt that stands by itself, and `depends_on` with the names it needs; independent tasks must not wait for others. \
Set max_cost_usd where money matters. Show the plan to the user, and after they agree call submit_dag once. Then \
follow it with find_tasks by its dag_id, and say with why_waiting what keeps it."""


def triage_dead_letters(type: str = "") -> str:
    only = f" of the type {type!r}" if type else ""
    return f"""Go through the dead letters{only} that nobody has reviewed: list_dead_letters with reviewed false.
For each, read get_task with attempts. Group those that failed for the same reason. Say for each group what went \
wrong, whether trying again can help, and what to change. Propose one of retry, modify_and_retry (with the changed \
spec), cancel or escalate. Call resolve_dead_letter only for what the user agrees to."""


def daily_report(days: str = "1") -> str:
    return f"""Write a report on the yard for the last {days} day(s), for people who did not watch.
Use yard_overview, spend_report, list_dead_letters and list_approvals. Begin with what asks for a decision today, \
then what was done, what failed and why, what it cost and where most of it went. Name tasks by their titles and ids. \
At most one page."""


PROMPTS = {
    each.name: each
    for each in (
        Template(
            "work_loop",
            "Claim and finish tasks until none is left.",
            calls.CLAIM,
            frozenset({Toolset.WORKER}),
            (
                _argument("agent", "The id that claims."),
                _argument("type", "Only tasks of this type."),
                _argument("queue", "Only tasks of this queue."),
            ),
            work_loop,
        ),
        Template(
            "plan_dag",
            "Plan a goal as a graph of tasks, and submit it.",
            calls.SUBMIT,
            frozenset({Toolset.PRODUCER}),
            (_argument("goal", "What is to be reached.", required=True),),
            plan_dag,
        ),
        Template(
            "triage_dead_letters",
            "Go through tasks that are out of attempts.",
            calls.DEAD_LETTERS,
            frozenset({Toolset.OPERATOR}),
            (_argument("type", "Only tasks of this type."),),
            triage_dead_letters,
        ),
        Template(
            "daily_report",
            "Report what was done, what failed and what it cost.",
            calls.OVERVIEW,
            frozenset({Toolset.OPERATOR}),
            (_argument("days", "How many days."),),
            daily_report,
        ),
    )
}


def listed(desk: Desk) -> list[Prompt]:
    return [
        Prompt(name=each.name, description=each.description, arguments=list(each.arguments))
        for each in PROMPTS.values()
        if each.is_for(desk)
    ]


async def filled(desk: Desk, name: str, given: dict[str, str]) -> GetPromptResult:
    template = PROMPTS.get(name)
    if template is None or not template.is_for(desk):
        raise NotFound("prompt", name[:255])
    known = {each.name: each for each in template.arguments}
    for argument, value in given.items():
        if argument not in known or len(value) > LONGEST:
            raise InvalidInput(argument[:255], f"must be one of {', '.join(known)}, at most {LONGEST} characters")
    for argument in known.values():
        if argument.required and not given.get(argument.name):
            raise InvalidInput(argument.name, "must be given")
    message = PromptMessage(role="user", content=TextContent(text=template.text(**given)))
    return GetPromptResult(description=template.description, messages=[message])
