"""`taskyard`: the commands, and how the program ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from taskyard.cli.commands import (
    a2a,
    agents,
    approvals,
    artifacts,
    attempts,
    audit,
    breakers,
    budgets,
    cutovers,
    dags,
    dead_letters,
    events,
    inbox,
    memory,
    metrics,
    notifications,
    overview,
    provider_batches,
    queues,
    retention,
    saved_views,
    schedules,
    scores,
    streams,
    subagents,
    tasks,
    tokens,
    transfer,
    triggers,
    variants,
    verify,
)
from taskyard.cli.programs import bench, demo, mcp, migrate, serve, skills, tui, worktrees
from taskyard.cli.settings import settings
from taskyard.cli.terminal import Terminal, Text
from taskyard.core.errors import TaskyardError

COMMANDS: dict[str, Callable[..., None]] = {
    "enqueue": tasks.enqueue,
    "submit": dags.submit,
    "schema": dags.schema,
    "cancel": tasks.cancel,
    "rerun": tasks.rerun,
    "signal": approvals.signal,
    "priority": tasks.priority,
    "ls": tasks.listed,
    "dags": dags.dags,
    "show": tasks.show_task,
    "why": tasks.why,
    "tree": dags.tree,
    "watch": overview.watch,
    "tui": tui.tui,
    "events": events.events,
    "stats": metrics.stats,
    "work": agents.work,
    "claim": attempts.claim,
    "start": attempts.start,
    "heartbeat": attempts.heartbeat,
    "logs": streams.logs,
    "progress": attempts.progress,
    "complete": attempts.complete,
    "fail": attempts.fail,
    "release": attempts.release,
    "verify": verify.verify,
    "doctor": verify.doctor,
    "compare": transfer.compare_yards,
    "sweep": retention.sweep,
    "demo": demo.demo,
    "bench": bench.bench,
    "serve": serve.serve_yard,
}
GROUPS: dict[str, typer.Typer] = {
    "approvals": approvals.app,
    "dead": dead_letters.app,
    "migrate": migrate.app,
    "token": tokens.app,
    "audit": audit.app,
    "agents": agents.app,
    "queues": queues.app,
    "breakers": breakers.app,
    "budget": budgets.app,
    "preset": queues.presets,
    "artifacts": artifacts.app,
    "memory": memory.app,
    "batches": provider_batches.app,
    "scores": scores.app,
    "variants": variants.app,
    "notify": notifications.app,
    "saved-views": saved_views.app,
    "schedules": schedules.app,
    "triggers": triggers.app,
    "hooks": triggers.hooks,
    "inbox": inbox.app,
    "cutover": cutovers.app,
    "subagents": subagents.app,
    "export": transfer.exports,
    "import": transfer.imports,
    "skills": skills.app,
    "mcp": mcp.app,
    "a2a": a2a.app,
    "worktrees": worktrees.app,
}

app = typer.Typer(
    name="taskyard",
    help="A durable task queue for AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # noqa: PLC0415 - slow to import, and other commands need it not

        Terminal().print(Text(f"taskyard {version('taskyard')}"))
        raise typer.Exit


@app.callback()
def taskyard(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_show_version)
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            "-u",
            help="The yard: sqlite:///FILE, postgresql://…, redis://…, http://… or memory://. Other users of this "
            "machine see it in the list of processes: where there is a password in it, use --url-file.",
            envvar="TASKYARD_URL",
        ),
    ] = None,
    url_file: Annotated[
        Path | None,
        typer.Option("--url-file", help="A file that holds the URL of the yard.", envvar="TASKYARD_URL_FILE"),
    ] = None,
    workspace: Annotated[str | None, typer.Option("--workspace", "-w", help="The tenant.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="The preset that must be stored with the workspace; an unused one takes it. See `preset set`.",
        ),
    ] = None,
) -> None:
    context.obj = settings(url=url, url_file=url_file, workspace=workspace, preset=preset)


for name, command in COMMANDS.items():
    app.command(name)(command)
for name, group in GROUPS.items():
    app.add_typer(group, name=name)


def main() -> None:
    """Run, and turn an error into one line on standard error and a status by its class."""
    try:
        app()
    except TaskyardError as error:
        Terminal(stderr=True, soft_wrap=True).print(Text.assemble((error.code, "bold red"), f": {error}"))
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader has gone, as `head` does; there is nobody to tell.
        sys.stderr.close()
        sys.exit(0)
