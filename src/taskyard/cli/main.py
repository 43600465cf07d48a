"""`taskyard`: the commands, and how the program ends."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from taskyard.cli.settings import settings
from taskyard.cli.terminal import Terminal, Text
from taskyard.core.errors import TaskyardError

# By name, where each is written below `taskyard.cli`.
COMMANDS: dict[str, str] = {
    "enqueue": "commands.tasks:enqueue",
    "submit": "commands.dags:submit",
    "schema": "commands.dags:schema",
    "cancel": "commands.tasks:cancel",
    "rerun": "commands.tasks:rerun",
    "signal": "commands.approvals:signal",
    "priority": "commands.tasks:priority",
    "ls": "commands.tasks:listed",
    "dags": "commands.dags:dags",
    "show": "commands.tasks:show_task",
    "why": "commands.tasks:why",
    "tree": "commands.dags:tree",
    "board": "commands.board:board",
    "watch": "commands.overview:watch",
    "tui": "programs.tui:tui",
    "events": "commands.events:events",
    "stats": "commands.metrics:stats",
    "report": "commands.reports:report",
    "work": "commands.agents:work",
    "claim": "commands.attempts:claim",
    "start": "commands.attempts:start",
    "heartbeat": "commands.attempts:heartbeat",
    "logs": "commands.streams:logs",
    "progress": "commands.attempts:progress",
    "complete": "commands.attempts:complete",
    "fail": "commands.attempts:fail",
    "release": "commands.attempts:release",
    "verify": "commands.verify:verify",
    "doctor": "commands.verify:doctor",
    "compare": "commands.transfer:compare_yards",
    "sweep": "commands.retention:sweep",
    "demo": "programs.demo:demo",
    "bench": "programs.bench:bench",
    "serve": "programs.serve:serve_yard",
}
GROUPS: dict[str, str] = {
    "approvals": "commands.approvals:app",
    "dead": "commands.dead_letters:app",
    "migrate": "programs.migrate:app",
    "token": "commands.tokens:app",
    "audit": "commands.audit:app",
    "agents": "commands.agents:app",
    "queues": "commands.queues:app",
    "breakers": "commands.breakers:app",
    "budget": "commands.budgets:app",
    "preset": "commands.queues:presets",
    "artifacts": "commands.artifacts:app",
    "memory": "commands.memory:app",
    "batches": "commands.provider_batches:app",
    "scores": "commands.scores:app",
    "variants": "commands.variants:app",
    "notify": "commands.notifications:app",
    "saved-views": "commands.saved_views:app",
    "schedules": "commands.schedules:app",
    "triggers": "commands.triggers:app",
    "hooks": "commands.triggers:hooks",
    "inbox": "commands.inbox:app",
    "cutover": "commands.cutovers:app",
    "subagents": "commands.subagents:app",
    "export": "commands.transfer:exports",
    "import": "commands.transfer:imports",
    "skills": "programs.skills:app",
    "mcp": "programs.mcp:app",
    "a2a": "commands.a2a:app",
    "worktrees": "programs.worktrees:app",
}


class LoadedCommands(MutableMapping[str, Any]):
    """Every command by its name. Its module is loaded when the command is asked for.

    A line names one command; the others would be loaded and built for nothing, on every start of the program.
    """

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _build(name)
        return self._built[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        del self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*COMMANDS, *GROUPS))

    def __len__(self) -> int:
        return len(COMMANDS) + len(GROUPS)


class CommandGroup(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LoadedCommands()


def _build(name: str) -> Any:
    module, _, attribute = (COMMANDS | GROUPS)[name].partition(":")
    written = getattr(import_module(f"taskyard.cli.{module}"), attribute)
    alone = typer.Typer(rich_markup_mode="rich", add_completion=False)
    if isinstance(written, typer.Typer):
        alone.add_typer(written, name=name)
        return get_group(alone).commands[name]
    alone.command(name)(written)
    return get_command(alone)


app = typer.Typer(
    name="taskyard",
    cls=CommandGroup,
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
    finally:
        # Python looks for garbage once more when it ends, in all that is loaded: a fifth of what a short command takes.
        gc.freeze()
