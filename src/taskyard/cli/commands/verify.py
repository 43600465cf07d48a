"""Whether all is well: verify, doctor."""

from __future__ import annotations

import os
import platform

import typer

from taskyard.app import Yard
from taskyard.cli.extras import find_extras
from taskyard.cli.invocation import AsJson, chosen, in_yard, show
from taskyard.cli.terminal import Text, age, table
from taskyard.core.agent import AgentStatus
from taskyard.core.json_value import Json
from taskyard.core.units import MINUTE, Micros
from taskyard.features.verify.health import Finding, findings
from taskyard.worker.isolation.task_worktrees import listed, seen


def verify(context: typer.Context, as_json: AsJson = False) -> None:
    """Replay the stored history and check what the yard promises. Exit status 1 where something is wrong."""
    found = in_yard(context, lambda yard: yard.verify())
    value: dict[str, Json] = {
        "ok": found.ok,
        "tasks": found.tasks,
        "attempts": found.attempts,
        "events": found.events,
        "problems": list[Json](found.problems),
    }
    show(as_json, value, Text(str(found), style="green" if found.ok else "bold red"))
    if not found.ok:
        raise typer.Exit(1)


def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Look for what is wrong with the set-up, and say what to do about it. Exit status 1 where there is something."""

    async def use(yard: Yard) -> tuple[list[Finding], dict[str, Json]]:
        figures = await yard.health()
        found = [*await _stored_data(yard), *await _work_health(yard), *await _left_worktrees(yard)]
        return [*found, *_in_words(figures)], figures

    found, figures = in_yard(context, use)
    checks = [*_machine(), Finding("yard", True, chosen(context).shown_url), *found]
    value = {
        "checks": [{"check": each.name, "ok": each.ok, "finding": each.words} for each in checks],
        "figures": figures,
    }
    rows = [
        (Text("good", style="green") if ok else Text("look at this", style="bold red"), name, words)
        for name, ok, words in checks
    ]
    show(as_json, value, table("", "check", "finding", rows=rows))
    if not all(each.ok for each in checks):
        raise typer.Exit(1)


def _machine() -> list[Finding]:
    python = platform.python_version_tuple()
    return [
        Finding("python", (int(python[0]), int(python[1])) >= (3, 11), platform.python_version()),
        Finding("processors", True, str(os.cpu_count())),
        Finding("extras", True, str(find_extras())),
    ]


def _in_words(figures: dict[str, Json]) -> list[Finding]:
    """The words have a unit, so the name needs none."""
    names = {name: name.removesuffix("_bytes").removesuffix("_sec").replace("_", " ") for name in figures}
    return [each._replace(name=names[each.name]) for each in findings(figures)]


async def _stored_data(yard: Yard) -> list[Finding]:
    problems = await yard.store.checks()
    return [Finding("stored data", not problems, "; ".join(problems) or "sound")]


async def _work_health(yard: Yard) -> list[Finding]:
    now = yard.now()
    last = await yard.store.duty("sweep")
    swept = last is not None and now - last < MINUTE
    known = await yard.agents.list()
    views = [view for view in known if view.status is AgentStatus.ACTIVE]
    silent = [view.id for view in known if view.silent]
    dead = len(await yard.dead_letters.list(reviewed=False))
    ready = await yard.find(status="ready", limit=1)
    waiting = bool(ready) and not views
    return [
        Finding("sweeping", swept, "every second" if swept else _never_swept(last, now)),
        Finding("agents", not waiting, "none is active, and tasks are ready" if waiting else f"{len(views)} active"),
        Finding("silent agents", not silent, ", ".join(silent) or "none"),
        Finding("dead letters", not dead, f"{dead} wait for a person: taskyard dead ls" if dead else "none"),
    ]


async def _left_worktrees(yard: Yard) -> list[Finding]:
    """Only where there are any: most yards have no command agents, and this folder no worktrees."""
    found = [await seen(yard, each) for each in listed()]
    left = [each.place.name for each in found if each.is_left]
    words = f"{', '.join(left)} left: taskyard worktrees clean" if left else f"{len(found)} in use or kept"
    return [Finding("worktrees", not left, words)] if found else []


def _never_swept(last: Micros | None, now: Micros) -> str:
    when = "never" if last is None else f"last {age(last, now)} ago"
    return f"{when}: run a worker (taskyard work …) or taskyard sweep"
