"""`taskyard`: the commands, and how the program ends."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from taskyard.cli import bench, demo, migrate, serve
from taskyard.cli.commands import (
    agents,
    artifacts,
    dead_letters,
    inbox,
    look,
    notifications,
    presets,
    producing,
    schedules,
    tokens,
    triggers,
    upkeep,
    work,
)
from taskyard.cli.settings import settings
from taskyard.cli.tables import Terminal, Text
from taskyard.core.errors import TaskyardError

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


for module in (producing, look, work, upkeep):
    module.add_to(app)
app.command()(demo.demo)
app.command()(bench.bench)
app.command("serve")(serve.serve_yard)
app.add_typer(dead_letters.app, name="dead")
app.add_typer(migrate.app, name="migrate")
app.add_typer(tokens.app, name="token")
app.add_typer(agents.agents, name="agents")
app.add_typer(agents.queues, name="queues")
app.add_typer(agents.breakers, name="breakers")
app.add_typer(agents.budget, name="budget")
app.add_typer(presets.app, name="preset")
app.add_typer(artifacts.app, name="artifacts")
app.add_typer(notifications.app, name="notify")
app.add_typer(schedules.app, name="schedules")
app.add_typer(triggers.app, name="triggers")
app.add_typer(triggers.hooks, name="hooks")
app.add_typer(inbox.inbox, name="inbox")
app.add_typer(inbox.background, name="subagents")


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
