"""`taskyard mcp`: the yard as tools for coding agents and other MCP clients."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from taskyard.app import connect, serve_mcp
from taskyard.cli import completion
from taskyard.cli.client_files import CLIENTS, ServerEntry, addition, client_file, write
from taskyard.cli.invocation import AsJson, chosen, show, stay
from taskyard.cli.logs import LogFormat, set_up_logs
from taskyard.cli.settings import CliSettings
from taskyard.cli.terminal import Text
from taskyard.core.errors import InvalidInput

app = typer.Typer()
ROLES = ("producer", "worker", "operator", "all")

Role = Annotated[
    str, typer.Option("--role", help="Which tools to show: producer, worker, operator or all. A token may allow fewer.")
]
AgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent", help="The id under which tasks are claimed. At first: a new one.", autocompletion=completion.agents
    ),
]


@app.callback(invoke_without_command=True)
def mcp(context: typer.Context, role: Role = "all", agent: AgentOption = None) -> None:
    """Serve the yard over standard input and output, to the client that has started this.

    The yard is that of TASKYARD_URL, with TASKYARD_TOKEN where a server has it.
    """
    if context.invoked_subcommand is not None:
        return
    settings = chosen(context)
    set_up_logs(LogFormat.TEXT)

    async def run() -> None:
        async with connect(settings.url, **settings.options) as yard:
            await serve_mcp(yard, role=role, agent=agent)

    stay(run())


@app.command()
def install(
    context: typer.Context,
    client: Annotated[str, typer.Argument(metavar="CLIENT", help=f"One of {', '.join(CLIENTS)}.")],
    role: Role = "all",
    agent: AgentOption = None,
    written: Annotated[
        bool, typer.Option("--write", help="Write the entry. Without it, the entry is only shown.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the entry that a client needs to start `taskyard mcp`, and write it into its configuration file.

    An entry that is there is never changed. A token is not written: the client passes on TASKYARD_TOKEN.
    """
    if role not in ROLES:
        raise InvalidInput("--role", f"must be one of {', '.join(ROLES)}")
    file, entry = client_file(client), _entry(chosen(context), role, agent)
    if written:
        write(file, entry)
    outcome = "written" if written else "nothing is written: --write does that"
    value = {"client": client, "file": str(file.path()), "entry": entry.members(file.more), "written": written}
    heading = Text.assemble((file.title, "bold"), f"  {file.path()}")
    show(as_json, value, heading, Text(addition(file, entry)), Text(outcome, style="dim"))


def _entry(settings: CliSettings, role: str, agent: str | None) -> ServerEntry:
    """By absolute paths: a client starts the program from a folder of its own, with a PATH of its own."""
    options = [*(["--role", role] if role != "all" else []), *(["--agent", agent] if agent else [])]
    program = Path(sys.argv[0]).absolute()
    is_program = program.stem == "taskyard" and os.access(program, os.X_OK)
    command, words = (str(program), ["mcp"]) if is_program else (sys.executable, ["-m", "taskyard", "mcp"])
    return ServerEntry(command, [*words, *options], _variables(settings))


def _variables(settings: CliSettings) -> dict[str, str]:
    """Which yard it is. A password goes into no client's file: the file that holds the URL is named instead."""
    if settings.shown_url == settings.url:
        return {"TASKYARD_URL": _absolute(settings.url)}
    if named := os.environ.get("TASKYARD_URL_FILE"):
        return {"TASKYARD_URL_FILE": str(Path(named).absolute())}
    raise InvalidInput("--url", "must not have a password in it: put it in a file, and set TASKYARD_URL_FILE to that")


def _absolute(url: str) -> str:
    """The same yard from whichever folder."""
    name = url.removeprefix("sqlite:///")
    return url if name == url or name.startswith("/") else f"sqlite:///{Path(name).absolute()}"
