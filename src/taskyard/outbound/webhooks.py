"""Sending requests, signed webhooks among them: to an address that was checked, and never where the answer leads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

import httpcore

from taskyard.core.units import SECOND, Micros
from taskyard.ledger.signing import signed
from taskyard.outbound.addresses import AllowedTargets
from taskyard.outbound.channels import Request
from taskyard.outbound.safe_connect import Lookup, Undelivered, looked_up, reachable

REACHED_WITHIN = 5.0  # seconds
ANSWERED_WITHIN = 15.0
_PORTS = {"http": 80, "https": 443}


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Looks up, judges and connects in one place, so that a name cannot lead elsewhere in between.

    The name stays in the Host header and in the TLS handshake.
    """

    def __init__(self, permitted: AllowedTargets, lookup: Lookup) -> None:
        self._permitted = permitted
        self._lookup = lookup
        self._beneath = cast(httpcore.AsyncNetworkBackend, httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        *first, last = await reachable(host, port, self._permitted, self._lookup)
        for address in first:
            try:
                return await self._beneath.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue  # it has other addresses
        return await self._beneath.connect_tcp(last, port, timeout, local_address, socket_options)


async def send_webhook(
    target: str,
    secret: str,
    id_: str,
    body: bytes,
    *,
    now: Micros,
    permitted: AllowedTargets,
    lookup: Lookup = looked_up,
) -> None:
    """Send a signed webhook once; `Undelivered` where nobody said that it was taken."""
    stamp = now // SECOND
    sent_id = id_.replace(".", "-")  # what is signed is joined by dots, and must have one reading
    headers = {
        "Content-Type": "application/json",
        "webhook-id": sent_id,
        "webhook-timestamp": str(stamp),
        "webhook-signature": signed(secret, sent_id, stamp, body),
    }
    await deliver(Request("POST", target, headers, body), permitted=permitted, lookup=lookup)


async def deliver(request: Request, *, permitted: AllowedTargets, lookup: Lookup = looked_up) -> None:
    """Send a request once, through the guarded connector; `Undelivered` where it was not answered with 2xx."""
    # The rest of the answer is not read: it could go on for ever.
    async with _answer(request, permitted, lookup, ANSWERED_WITHIN) as answer:
        status = answer.status
    if 300 <= status < 400:
        raise Undelivered(f"it answered with status {status}, and is not followed elsewhere")
    if not 200 <= status < 300:
        raise Undelivered(f"it answered with status {status}")


async def fetch(
    request: Request, *, most_bytes: int, within: float, permitted: AllowedTargets, lookup: Lookup = looked_up
) -> tuple[int, bytes]:
    """Ask once, through the guarded connector: the status and the body. `Undelivered` where there is no such answer.

    Nobody is followed elsewhere, and an answer of more bytes, or one that takes longer, is none.
    """
    found = bytearray()
    async with _answer(request, permitted, lookup, within) as answer:
        async for piece in answer.aiter_stream():
            found += piece
            if len(found) > most_bytes:
                raise Undelivered(f"it answered with more than {most_bytes} bytes")
        return answer.status, bytes(found)


@asynccontextmanager
async def _answer(
    request: Request, permitted: AllowedTargets, lookup: Lookup, within: float
) -> AsyncGenerator[httpcore.Response]:
    try:
        async with asyncio.timeout(within), _opened(request, CheckedBackend(permitted, lookup)) as answer:
            yield answer
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, TimeoutError) as error:
        raise Undelivered(f"its host did not answer ({type(error).__name__})") from None


@asynccontextmanager
async def _opened(request: Request, network: CheckedBackend) -> AsyncGenerator[httpcore.Response]:
    parts = urlsplit(request.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    port = parts.port or _PORTS[parts.scheme]
    url = httpcore.URL(scheme=parts.scheme, host=(parts.hostname or ""), port=port, target=path)
    length = str(len(request.body))
    headers = {"Host": parts.netloc, "Content-Length": length, "User-Agent": "Taskyard", **request.headers}
    timeout = {"connect": REACHED_WITHIN, "read": ANSWERED_WITHIN, "write": ANSWERED_WITHIN, "pool": ANSWERED_WITHIN}
    async with (
        httpcore.AsyncConnectionPool(network_backend=network, http2=False) as pool,
        pool.stream(
            request.method,
            url,
            headers=list(headers.items()),
            content=request.body,
            extensions={"timeout": timeout},
        ) as answer,
    ):
        yield answer
