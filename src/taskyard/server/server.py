"""Running the server: where it listens, who may reach it, and how it stops."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from taskyard.core.errors import InvalidInput
from taskyard.features.tokens.sign_in_settings import SignInSettings, checked_issuer
from taskyard.server.access.auth import LOOPBACK, Serving
from taskyard.server.access.trusted_proxy import PeerAddress, TrustedProxy
from taskyard.server.application import application
from taskyard.server.http_protocol import BoundedProtocol
from taskyard.server.live.connections import Live
from taskyard.server.mounts.mounted import Mount
from taskyard.server.otel_metrics import export_metrics
from taskyard.server.yards import Yards
from taskyard.yard import Yard

if TYPE_CHECKING:
    from taskyard.outbound.oidc_provider import OidcProvider

logger = logging.getLogger(__name__)
NO_SIGN_IN = SignInSettings()
GRACE = 10  # seconds that requests under way get to end
TICK = 0.1  # seconds
TICKS = 864_000  # a day of them, after which they are counted from 0 again
SHORTEST_PAUSE = 0.001  # seconds between looks for requests under way, when the server has just been stopped
HANGING_UP = 50  # ticks between looks for readers that do not take the last of what they got


async def serving_of(
    yard: Yard,
    *,
    host: str,
    allowed_hosts: Iterable[str] = (),
    sign_in: SignInSettings = NO_SIGN_IN,
    oidc: OidcProvider | None = None,
) -> Serving:
    """How this yard is to be served at this address; refused where that would leave it open to others."""
    is_loopback = host in LOOPBACK
    if not is_loopback and not sign_in.is_any and not await yard.local.tokens.exist():
        raise InvalidInput(
            "host", "must be a loopback address while there is no token: make one with `taskyard token create`"
        )
    # Those who follow a link come by that name.
    public = urlsplit(yard.local.ledger.options.public_url or "").hostname
    hosts = LOOPBACK | {host.lower(), *(name.lower() for name in allowed_hosts), *([public] if public else [])}
    return Serving(
        yards=Yards(yard),
        is_open=is_loopback and not sign_in.is_any,
        hosts=hosts,
        members=sign_in.members,
        oidc=oidc,
        proxy=None if sign_in.proxy is None else TrustedProxy(sign_in.proxy, sign_in.members),
        proxies=() if sign_in.proxy is None else tuple(map(str, sign_in.proxy.networks)),
    )


class Server(uvicorn.Server):
    """A server on a socket of its own, which whoever runs it also stops."""

    def __init__(self, serving: Serving, listening: socket.socket) -> None:
        app = application(serving)
        # The last one added is around the others: who connects is noted before the address that a proxy forwards for
        # takes the place of that.
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(serving.proxies) or _forwarders())
        app.add_middleware(PeerAddress)
        super().__init__(
            uvicorn.Config(
                app,
                proxy_headers=False,  # as above
                http=BoundedProtocol,
                log_config=None,
                access_log=False,
                server_header=False,
                ws_max_size=1 << 16,
                ws_per_message_deflate=False,  # a compressor for each listener would take more memory than all else
            )
        )
        self._live: Live = app.state.live
        self._mounts = serving.mounts
        self._figures, self._yard = serving.figures, serving.yards.first
        self._parting: set[Any] = set()
        self._stopping = asyncio.Event()
        self._listening = listening
        self.port: int = listening.getsockname()[1]

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are for the program: it has a yard to close after the last request."""
        yield

    def stop(self) -> None:
        """Take no new requests, and end when those under way have."""
        self.should_exit = True
        self._stopping.set()

    async def listen(self) -> None:
        await export_metrics(lambda: self._figures.families(self._yard))
        await self.serve([self._listening])

    async def main_loop(self) -> None:
        """Tick until the server is to stop. uvicorn's own loop notices a stop with its next tick only."""
        counter = 0
        while not await self.on_tick(counter):
            counter = (counter + 1) % TICKS
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._stopping.wait()

    async def on_tick(self, counter: int) -> bool:
        if counter % HANGING_UP == 0:
            self._hang_up()
        return await super().on_tick(counter)

    def _hang_up(self) -> None:
        """End the connections that were closed by the last look: their readers have had time to take what was left."""
        for connection in self._parting & self.server_state.connections:
            connection.transport.abort()
        self._parting = {each for each in self.server_state.connections if each.transport.is_closing()}

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close what listens, and end with the last request, or without it when the grace is over.

        uvicorn's own shutdown sleeps for a tenth of a second at least.
        """
        for mount in self._mounts:
            mount.stop()
        await self._live.close()
        for each in (*self.servers, *(sockets or ())):
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(GRACE):
                await self._last_request()
        except TimeoutError:
            logger.error(
                "%s requests were under way after %s s, and are cancelled", len(self.server_state.tasks), GRACE
            )
            for task in self.server_state.tasks:
                task.cancel()
        await self.lifespan.shutdown()

    async def _last_request(self) -> None:
        """Neither a connection nor its task sets an event: they are looked at after ever longer pauses."""
        pause = SHORTEST_PAUSE
        while self.server_state.connections or self.server_state.tasks:
            await asyncio.sleep(pause)
            pause = min(2 * pause, TICK)


@asynccontextmanager
async def served(
    yard: Yard,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    allowed_hosts: Iterable[str] = (),
    sign_in: SignInSettings = NO_SIGN_IN,
    oidc: OidcProvider | None = None,
    **limits: Any,
) -> AsyncGenerator[Server]:
    """Serve an open yard while the block runs: for tests, and for programs that bring their own server along.

    `limits` are those of `Serving`.
    """
    found = await serving_of(yard, host=host, allowed_hosts=allowed_hosts, sign_in=sign_in, oidc=oidc)
    serving = replace(found, **limits)
    running = Server(serving, _listening(host, port))
    task = asyncio.create_task(running.listen(), name="taskyard server")
    try:
        yield running
    finally:
        running.stop()
        await task


def _forwarders() -> str:
    """Whose word is taken for the address and scheme of a request, where no proxy is listed: as uvicorn has it."""
    return os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1")


async def serve_until_stopped(
    yard: Yard,
    *,
    host: str,
    port: int,
    allowed_hosts: Iterable[str],
    on_up: Callable[[str, bool], object] | None,
    problems: Callable[[], list[str]] = list,
    mcp: Mount | None = None,
    issuer: str | None = None,
    a2a: Mount | None = None,
    sign_in: SignInSettings = NO_SIGN_IN,
    oidc: OidcProvider | None = None,
) -> None:
    """Serve until a signal asks to stop. `on_up` hears the address, and whether anybody on this machine may call."""
    found = await serving_of(yard, host=host, allowed_hosts=allowed_hosts, sign_in=sign_in, oidc=oidc)
    issued = None if issuer is None else checked_issuer(issuer, "issuer")
    serving = replace(found, problems=problems, mcp=mcp, a2a=a2a, issuer=issued)
    running = Server(serving, _listening(host, port))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, running.stop)
    if on_up is not None:
        shown = f"[{host}]" if ":" in host else host
        on_up(f"http://{shown}:{running.port}", serving.is_open and not await yard.local.tokens.exist())
    try:
        await running.listen()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _listening(host: str, port: int) -> socket.socket:
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        raise InvalidInput("port", f"cannot be listened on at {host}: {error}") from None
    # The loop sets this only on sockets that it made itself. Without it, an answer's body waits 40 ms for the caller to
    # acknowledge its head.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
