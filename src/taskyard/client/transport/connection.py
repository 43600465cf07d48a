"""The way to the servers of a yard: which of them is asked, how long, and what is made of silence.

A call that does no harm when it is made again is made again until it is answered, by the next server where there is
one. Any other is made again only where it certainly was not heard.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from time import monotonic, monotonic_ns
from typing import Any
from urllib.parse import urlencode, urlsplit

from taskyard.api.calls import NOW, Call
from taskyard.client.transport.headers import checked_id
from taskyard.client.transport.http_client import (
    HttpAnswer,
    HttpClient,
    HttpRequest,
    HttpServer,
    HttpTransport,
    Unreachable,
    http_server,
)
from taskyard.client.transport.long_polling import ServerMarks
from taskyard.core.errors import Contended, InvalidInput, StoreUnavailable, TaskyardError, TooManyRequests, YardClosed
from taskyard.core.units import Micros
from taskyard.definition.error_view import error_of
from taskyard.definition.fields import text
from taskyard.features.artifacts.content import Content, may_repeat, pieces
from taskyard.features.tokens.rules import presented
from taskyard.stores.shared.timeouts import CALL_TIMEOUT

REACHED_WITHIN = 0.2  # of the time that a call may take
TRIED_FOR = 0.5  # of that time, where the call may be made again: the line may be silent, and another not
PER_BYTE = 2e-6  # seconds more for each byte that is sent
IDLE = 3.0  # seconds that a connection is kept: less than servers do, or a call may meet one that is just being closed
MOST_CONNECTIONS = 200
MOST_CHARACTERS = 255  # of a name in a path
FIRST_DELAY, LONGEST_DELAY = 0.05, 2.0

_NOTHING_STORED = (Contended, TooManyRequests)
_HEADERS = {"Accept": "application/json, */*", "User-Agent": "taskyard"}
_JSON = {"Content-Type": "application/json"}
_NO_SUCH_CALL = frozenset({"no_such_route", "no_such_method"})

Query = Mapping[str, str | int | float | bool | Sequence[str] | None]


class Connection:
    """Calls to one yard, through any of its servers."""

    def __init__(
        self,
        urls: str,
        token: str | None = None,
        *,
        patience: float = CALL_TIMEOUT,
        transport: HttpTransport | None = None,  # another way than the network, such as into this process
    ) -> None:
        self._given = urls
        self._servers = [http_server(_checked(url.strip())) for url in urls.split(",")]
        self._token = token
        # Within the process, what stands for a caller may also be the word of a trusted proxy.
        if transport is None and token is not None and presented(token) is None:
            raise InvalidInput("token", "must be as `taskyard token create` printed it")
        self._given_transport = transport
        self._patience = patience  # seconds in which a call ends, beside what the server is asked to wait
        self._at = 0  # the server that is asked
        self._transport: HttpTransport | None = None
        self._headers = _HEADERS if token is None else {**_HEADERS, "Authorization": f"Bearer {token}"}
        self._ahead = 0  # microseconds from the monotonic clock's time to the yard's
        self._latest = Micros(0)
        self.marks = ServerMarks()

    def twin(self) -> Connection:
        return Connection(self._given, self._token, patience=self._patience)

    async def open(self) -> None:
        self._transport = self._given_transport or HttpClient(
            most=MOST_CONNECTIONS, idle_sec=IDLE, reached_within=REACHED_WITHIN * self._patience
        )

    async def close(self) -> None:
        if self._transport is not None:
            transport, self._transport = self._transport, None
            await transport.close()

    def now(self) -> Micros:
        """The yard's time, as of its last answer and what has passed since. It never goes back."""
        self._latest = max(self._latest, Micros(monotonic_ns() // 1000 + self._ahead))
        return self._latest

    async def ask(
        self,
        call: Call,
        body: bytes | None = None,
        *,
        query: Query | None = None,
        wait_sec: float = 0,
        headers: Mapping[str, str] | None = None,
        **names: str,
    ) -> Any:
        """Make the call until it is answered, and give the answer's document; a refusal is raised as it was there."""
        asked_for = _query(query)
        sent = {**self._headers, **(_JSON if body is not None else {}), **(headers or {})}
        wait_sec = max(wait_sec, call.takes_sec)
        within = wait_sec + (call.within_sec or self._patience) + len(body or b"") * PER_BYTE
        until = monotonic() + within
        tried_for = wait_sec + (within - wait_sec) * TRIED_FOR if call.is_repeatable else within

        async def make(server: HttpServer, path: str) -> HttpAnswer:
            # As a whole: a server that sends a byte now and then would keep any other time-out from running out.
            async with asyncio.timeout(max(min(tried_for, until - monotonic()), 0)):
                return await self._way.ask(HttpRequest(server, call.method, path + asked_for, sent, body))

        return json.loads((await self._answered(call, make, names, until=until)).content)

    async def send(self, call: Call, content: Content, *, headers: dict[str, str], **names: str) -> Any:
        """Make a call whose body is a file, piece by piece. What can be read only once is sent only once."""

        sent = {**self._headers, **headers}

        def make(server: HttpServer, path: str) -> Awaitable[HttpAnswer]:
            return self._way.ask(HttpRequest(server, call.method, path, sent, pieces(content), self._patience))

        until = monotonic() + (self._patience if may_repeat(content) else 0)
        return json.loads((await self._answered(call, make, names, until=until)).content)

    @property
    def is_streaming(self) -> bool:
        """Whether an answer can be read while it comes: within the process it is there as a whole."""
        return self._given_transport is None

    async def receive(
        self,
        call: Call,
        *,
        headers: dict[str, str],
        query: Query | None = None,
        silence: float = 0,
        on_begin: Callable[[], None] | None = None,
        **names: str,
    ) -> AsyncGenerator[bytes]:
        """Make a call whose answer is a file, until it begins to come. It may be silent for so many seconds more.

        `on_begin` hears of a good answer before any of it has come: what is lost from then on was cut off.
        """

        sent, asked_for = {**self._headers, **headers}, _query(query)

        async def make(server: HttpServer, path: str) -> HttpAnswer:
            request = HttpRequest(server, call.method, path + asked_for, sent, silence=self._patience + silence)
            answer = await self._way.begin(request)
            return answer if answer.is_success else await _read_whole(answer)

        answer = await self._answered(call, make, names, until=monotonic() + self._patience)
        if on_begin is not None:
            on_begin()
        try:
            async for piece in answer.pieces():
                yield piece
        except OSError as lost:
            raise _silence(lost, call, self._servers[self._at].url) from None
        finally:
            answer.close()

    async def _answered(
        self,
        call: Call,
        make: Callable[[HttpServer, str], Awaitable[HttpAnswer]],
        names: Mapping[str, str],
        *,
        until: float,
    ) -> HttpAnswer:
        """A good answer, by whichever server; a refusal, or silence for too long, is raised."""
        path = call.to(**{name: _sayable(name, value) for name, value in names.items()})
        tried = 0
        while True:
            asked = self._at
            try:
                answer = await make(self._servers[asked], path)
            except OSError as lost:  # a time-out is one, too
                failure, delay = _silence(lost, call, self._servers[asked].url), self._go_on(asked, tried)
                again = call.is_repeatable or isinstance(lost, Unreachable)
            else:
                self._hear_time(answer)
                if answer.is_success:
                    return answer
                failure, retryable = _refusal(answer, self._servers[asked].host)
                again = retryable and (call.is_repeatable or isinstance(failure, _NOTHING_STORED))
                delay = _asked_delay(answer, _delay(tried))
            if not again or monotonic() + delay > until:
                raise failure
            tried += 1
            await asyncio.sleep(delay)

    @property
    def _way(self) -> HttpTransport:
        if self._transport is None:
            raise YardClosed
        return self._transport

    def _go_on(self, asked: int, tried: int) -> float:
        """Turn to the next server, unless another call has done so; and say when to try it."""
        if self._at == asked:
            self._at = (asked + 1) % len(self._servers)
        return 0 if tried + 1 < len(self._servers) else _delay(tried)

    def _hear_time(self, answer: HttpAnswer) -> None:
        if now := answer.headers.get(NOW):
            self._ahead = int(now) - monotonic_ns() // 1000


async def _read_whole(answer: HttpAnswer) -> HttpAnswer:
    try:
        found = [piece async for piece in answer.pieces()]
    finally:
        answer.close()
    for piece in found:
        answer.add(piece)
    return answer


def _query(query: Query | None) -> str:
    """What follows the path."""
    given = {name: _spelled(value) for name, value in (query or {}).items() if value is not None}
    return f"?{urlencode(given, doseq=True)}" if given else ""


def _spelled(value: str | int | float | bool | Sequence[str]) -> str | Sequence[str]:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InvalidInput("url", "must be http://HOST:PORT or https://HOST, or several of these with commas between")
    if parts.username is not None:
        raise InvalidInput("url", "must not have a secret in it: give it as TASKYARD_TOKEN")
    return url.rstrip("/")


def _sayable(name: str, value: str) -> str:
    """Refuse what a path cannot carry: nothing, what it means something else by, and what can be the id of no task."""
    if name == "task_id":
        return checked_id(value)
    text(value, name, most=MOST_CHARACTERS)
    if value in (".", ".."):
        raise InvalidInput(name, "must not be made of dots, where it is asked for over HTTP")
    return value


def _silence(lost: OSError, call: Call, url: str) -> StoreUnavailable:
    words = f"the server {url} cannot be reached or did not answer ({type(lost).__name__})"
    if call.is_repeatable or isinstance(lost, Unreachable):
        return StoreUnavailable(words)
    return StoreUnavailable(f"{words}, and whether it did what it was asked is not known")


def _refusal(answer: HttpAnswer, host: str) -> tuple[TaskyardError, bool]:
    """What the answer says, and whether the same call may succeed later."""
    try:
        document = json.loads(answer.content)
        code, retryable = document["code"], document["retryable"]
    except (ValueError, TypeError, KeyError):
        # Not the server's own words: what stands before it may be waiting for it to come back.
        return StoreUnavailable(f"{host} answered with status {answer.status}"), answer.status >= 500
    if code in _NO_SUCH_CALL:
        return InvalidInput("url", "names a server that does not know this call"), False
    return error_of(document), retryable


def _delay(tried: int) -> float:
    """Longer each time, and never the same for two clients."""
    return random.uniform(0.5, 1) * min(FIRST_DELAY * 2 ** min(tried, 10), LONGEST_DELAY)


def _asked_delay(answer: HttpAnswer, least: float) -> float:
    """The delay that the server asks for, or our own where that is longer."""
    asked = answer.headers.get("retry-after", "")
    return max(least, int(asked) * random.uniform(1, 1.25)) if asked.isdigit() else least
