"""`taskyard serve`: the yard over HTTP, with its maintenance, in this process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from taskyard.app import connect, serve
from taskyard.cli.invocation import chosen, console_for_people, keep_loaded, stay
from taskyard.cli.logs import LogFormat, LogFormatOption, set_up_logs
from taskyard.cli.settings import sign_in
from taskyard.cli.terminal import Text

# Seconds for which a thread at work keeps the loop waiting, each time that the loop has something to do. Python's own
# 5 ms would make a call that waits for the loop ten times 50 ms slower beside a thread that writes or decodes a batch.
SWITCH_INTERVAL = 0.0005
# Objects that are made before Python's collector looks at them, and how often it does so before it looks at older ones.
# While a batch is made all of its objects live, and a look at 10,000 of them took 2 to 5 ms in which nobody was served.
COLLECT_AFTER = 2_000, 50


def serve_yard(
    context: typer.Context,
    host: Annotated[
        str, typer.Option(help="Where to listen. Beyond loopback only once there is a token, or people can sign in.")
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
    member: Annotated[
        list[str] | None,
        typer.Option(
            help="What a group of people is here: GROUP=ROLE or GROUP=ROLE@WORKSPACE, * for everybody; may be "
            "repeated, and the first that fits counts. TASKYARD_MEMBERS has semicolons between.",
        ),
    ] = None,
    oidc_issuer: Annotated[
        str | None, typer.Option(help="The OpenID provider where people sign in (TASKYARD_OIDC_ISSUER).")
    ] = None,
    oidc_client_id: Annotated[
        str | None, typer.Option(help="What the provider knows this server by (TASKYARD_OIDC_CLIENT_ID).")
    ] = None,
    oidc_client_secret_file: Annotated[
        Path | None, typer.Option(help="The file with the secret of that; or TASKYARD_OIDC_CLIENT_SECRET.")
    ] = None,
    oidc_name_claim: Annotated[
        str | None, typer.Option(help="The claim with a person's name. Default: preferred_username.")
    ] = None,
    oidc_groups_claim: Annotated[str | None, typer.Option(help="The claim with their groups. Default: groups.")] = None,
    oidc_scope: Annotated[str | None, typer.Option(help="What is asked for. Default: openid profile email.")] = None,
    oidc_label: Annotated[str | None, typer.Option(help="What the provider is called on the button.")] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="An address or network whose proxy says who is calling; may be repeated (TASKYARD_PROXY_ADDRESSES)."
        ),
    ] = None,
    proxy_user_header: Annotated[
        str | None, typer.Option(help="In which header the proxy names the person. Default: X-Forwarded-User.")
    ] = None,
    proxy_groups_header: Annotated[
        str | None, typer.Option(help="And their groups, with commas between. Default: X-Forwarded-Groups.")
    ] = None,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Serve the yard over HTTP until it is asked to stop, and keep it swept."""
    settings = chosen(context)
    ways = sign_in(
        settings.workspace or "default",
        {
            "members": member,
            "oidc_issuer": oidc_issuer,
            "oidc_client_id": oidc_client_id,
            "oidc_client_secret_file": oidc_client_secret_file,
            "oidc_name_claim": oidc_name_claim,
            "oidc_groups_claim": oidc_groups_claim,
            "oidc_scope": oidc_scope,
            "oidc_label": oidc_label,
            "proxy_addresses": ",".join(proxy or ()),
            "proxy_user_header": proxy_user_header,
            "proxy_groups_header": proxy_groups_header,
        },
    )
    set_up_logs(log_format)
    sys.setswitchinterval(SWITCH_INTERVAL)

    def announce(address: str, is_open: bool) -> None:
        keep_loaded()  # again: the application is made after the program has begun to stay
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
                sign_in=ways,
                on_up=announce,
            )

    stay(run(), loop=_quick_loop(), collect_after=COLLECT_AFTER)


def _quick_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """A loop that takes the server a tenth less for each call; None where there is none, as on Windows."""
    try:
        import uvloop  # noqa: PLC0415 - comes with the extra of the server
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop
