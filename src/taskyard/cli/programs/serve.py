"""`taskyard serve`: the yard over HTTP, with its maintenance, in this process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from taskyard.app import connect, serve
from taskyard.cli.invocation import chosen, console_for_people, stay
from taskyard.cli.logs import LogFormat, LogFormatOption, set_up_logs
from taskyard.cli.terminal import Text

# Seconds for which a thread at work keeps the loop waiting, each time that the loop has something to do. Python's own
# 5 ms would make a call that waits for the loop ten times 50 ms slower beside a thread that writes or decodes a batch.
SWITCH_INTERVAL = 0.0005


def serve_yard(
    context: typer.Context,
    host: Annotated[
        str, typer.Option(help="Where to listen. Beyond loopback only once there is a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", help="0: any that is free.")] = 8420,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name under which clients reach it; may be repeated.")
    ] = None,
    watch: Annotated[
        list[Path] | None, typer.Option(help="A folder whose files triggers may wait for; may be repeated.")
    ] = None,
    retention_days: Annotated[
        float | None,
        typer.Option(
            help="How long finished work is kept. Stored: it counts for all processes until another is given. "
            "At first: 7."
        ),
    ] = None,
    issuer: Annotated[
        str | None,
        typer.Option(
            help="The OAuth server that hands out tokens of this yard, for MCP clients to find.",
            envvar="TASKYARD_OAUTH_ISSUER",
        ),
    ] = None,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Serve the yard over HTTP until it is asked to stop, and keep it swept."""
    settings = chosen(context)
    set_up_logs(log_format)
    sys.setswitchinterval(SWITCH_INTERVAL)

    def announce(address: str, is_open: bool) -> None:
        lines = Text.assemble(("taskyard", "bold"), " serves ", settings.shown_url, " at ", (address, "bold"))
        lines.append(f"\n  look   {address}\n  try    curl {address}/api/stats\n  docs   {address}/docs")
        if is_open:
            lines.append("\n  open to every program on this machine: `taskyard token create` closes it", style="dim")
        console_for_people().print(lines)

    async def run() -> None:
        yard = connect(settings.url, **settings.options, retention_days=retention_days)
        async with yard:
            await serve(
                yard,
                host=host,
                port=port,
                allowed_hosts=allow_host or (),
                watch=watch or (),
                issuer=issuer,
                on_up=announce,
            )

    stay(run())
