"""Keeping the yard sound: verify, doctor, sweep."""

from __future__ import annotations

import os
import platform

import apsw
import typer
from rich.text import Text

from taskyard.app import Yard
from taskyard.cli.running import AsJson, chosen, in_yard, show
from taskyard.cli.tables import age, table
from taskyard.core.agent import AgentStatus
from taskyard.core.task import Json
from taskyard.core.units import MINUTE, Micros

SILENT = Micros(5 * MINUTE)


def add_to(app: typer.Typer) -> None:
    for command in (verify, doctor, sweep):
        app.command()(command)


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
    """Look for what is wrong with the set-up, and say what to do about it."""

    async def use(yard: Yard) -> list[tuple[str, bool, str]]:
        return [*await _store_health(yard), *await _work_health(yard)]

    checks = [*_machine(), ("yard", True, chosen(context).url), *in_yard(context, use)]
    value = [{"check": name, "ok": ok, "finding": finding} for name, ok, finding in checks]
    rows = [
        (Text("✓", style="green") if ok else Text("✗", style="bold red"), name, found) for name, ok, found in checks
    ]
    show(as_json, value, table("", "check", "finding", rows=rows))
    if not all(ok for _, ok, _ in checks):
        raise typer.Exit(1)


def sweep(context: typer.Context, as_json: AsJson = False) -> None:
    """Do once what a worker does every second: expire leases, end delays, prune."""
    swept = in_yard(context, lambda yard: yard.sweep())
    done = ", ".join(f"{count} {word}" for word, count in swept._asdict().items() if count)
    show(as_json, swept._asdict(), Text(done or "nothing was due"))


def _machine() -> list[tuple[str, bool, str]]:
    python = platform.python_version_tuple()
    return [
        ("python", (int(python[0]), int(python[1])) >= (3, 11), platform.python_version()),
        ("sqlite", True, apsw.sqlite_lib_version()),
        ("processors", True, str(os.cpu_count())),
    ]


async def _store_health(yard: Yard) -> list[tuple[str, bool, str]]:
    problems = await yard.store.checks()
    return [("stored data", not problems, "; ".join(problems) or "sound")]


async def _work_health(yard: Yard) -> list[tuple[str, bool, str]]:
    now = yard.now()
    last = await yard.store.duty("sweep")
    swept = last is not None and now - last < MINUTE
    views = [view for view in await yard.agents() if view.agent.status is AgentStatus.ACTIVE]
    silent = [view.agent.id for view in views if view.last_heartbeat and now - view.last_heartbeat > SILENT]
    dead = len(await yard.dead_letters(reviewed=False))
    ready = await yard.find(status="ready", limit=1)
    waiting = bool(ready) and not views
    return [
        ("sweeping", swept, "every second" if swept else _never_swept(last, now)),
        ("agents", not waiting, f"{len(views)} active" if not waiting else "none is active, and tasks are ready"),
        ("silent agents", not silent, ", ".join(silent) or "none"),
        ("dead letters", not dead, f"{dead} wait for a person: taskyard dead ls" if dead else "none"),
    ]


def _never_swept(last: Micros | None, now: Micros) -> str:
    when = "never" if last is None else f"last {age(last, now)} ago"
    return f"{when}: run a worker (taskyard work …) or taskyard sweep"
