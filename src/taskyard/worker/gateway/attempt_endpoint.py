"""The endpoint of one attempt: a port of this machine and a key that only the attempt's program is given.

It ends with the attempt: nobody can use its key afterwards, and the calls that are under way end with it. What a call
has cost is reported under the attempt's lease before the program gets the end of its answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from hmac import compare_digest
from importlib import import_module
from secrets import token_urlsafe
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any

from taskyard.core.errors import InvalidInput, LeaseLost, TaskyardError
from taskyard.core.task import Reason
from taskyard.core.units import to_usd
from taskyard.features.budgets import prices
from taskyard.features.budgets.token_counts import TokenCounts
from taskyard.visible_text import visible
from taskyard.worker.attempt_spans import record_call
from taskyard.worker.context import Context
from taskyard.worker.control import Control, Fail, Retry, Stopped
from taskyard.worker.gateway.forwarding import (
    AskedCall,
    CallRefused,
    ForwardedCall,
    Send,
    forwarded_call,
    new_client,
    send_error,
)
from taskyard.worker.gateway.upstreams import FIELD, Route, Upstream
from taskyard.worker.providers import Diagnosis
from taskyard.worker.spending import ModelCall

if TYPE_CHECKING:
    from uvicorn.server import ServerState

Receive = Callable[[], Awaitable[dict[str, Any]]]
logger = logging.getLogger("taskyard.worker")
MOST_REQUEST = 64 << 20  # bytes of what a program asks
MOST_HEAD = 64 << 10  # bytes of a request's line and headers
MOST_CALLS = 64  # of an attempt at a time
MOST_CONNECTIONS = 256
READ_WITHIN = 60.0  # seconds that a request may take to come in
KEPT_ALIVE = 75.0  # seconds that an idle connection stays: longer than programs wait before they use it again
PARTING = 5.0  # seconds for the calls that are cut off to be counted
NEEDED = ("genai_prices", "httpx", "uvicorn", "uvicorn.protocols.http.h11_impl")
UNSAID = 60.0  # seconds to leave a provider alone that did not say for how long
LONGEST_WAIT = 3600.0  # seconds
SHOWN = 300  # characters of what a provider refused with


@dataclass(frozen=True, slots=True)
class Gateway:
    """What endpoints of attempts forward to."""

    upstreams: Sequence[Upstream]

    def check(self) -> None:
        """Load the libraries before an attempt needs them; InvalidInput names one that is missing."""
        try:
            for name in NEEDED:
                import_module(name)
        except ImportError as error:
            raise InvalidInput(FIELD, f"needs {error.name}: pip install 'taskyard[gateway]'") from None
        prices.price("gpt-4o", TokenCounts(input=1))  # reads the price list, which takes a second

    async def open(self, task: Context) -> AttemptEndpoint:
        """An endpoint for this attempt. The caller closes it."""
        endpoint = AttemptEndpoint(task, self.upstreams)
        await endpoint.listen()
        return endpoint


class AttemptEndpoint:
    def __init__(self, task: Context, upstreams: Sequence[Upstream]) -> None:
        self._task = task
        self._upstreams = {each.provider.prefix: each for each in upstreams}
        self._key = f"sk-taskyard-{token_urlsafe(32)}"
        self._client = new_client()
        self._context = copy_context()  # with the attempt's span, below which calls are traced
        self._owner = asyncio.current_task()
        self._over = asyncio.Event()
        self._calls: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._state: ServerState | None = None
        self._refused: tuple[Diagnosis, float, int | None] | None = None  # of the last call: why, when, its status
        self.ended: Control | Stopped | None = None  # how the attempt ends, where a call has decided it

    async def listen(self) -> None:
        import uvicorn  # noqa: PLC0415 - only a worker with a gateway loads it
        from uvicorn.protocols.http.h11_impl import H11Protocol  # noqa: PLC0415
        from uvicorn.server import ServerState  # noqa: PLC0415

        config = uvicorn.Config(
            self._serve,
            interface="asgi3",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=MOST_HEAD,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=round(KEPT_ALIVE),
        )
        config.load()
        state = self._state = ServerState()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: H11Protocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )

    @property
    def variables(self) -> dict[str, str]:
        """What the program is given, by the names that the providers' own libraries read."""
        assert self._server is not None
        address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        found: dict[str, str] = {}
        for prefix, upstream in self._upstreams.items():
            provider = upstream.provider
            found |= {provider.base_variable: address + prefix, provider.key_variable: self._key}
        return found

    async def close(self) -> None:
        """Take no call, end those under way, and count what they used."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        self._over.set()
        if self._calls:
            await asyncio.wait(self._calls, timeout=PARTING)
        for call in self._calls:
            call.cancel()
        for connection in list(self._state.connections if self._state is not None else ()):
            connection.transport.abort()
        await self._client.aclose()

    def explain(self, failure: Fail) -> Control:
        """How the attempt failed: as the program says, or by what its provider has refused last."""
        if self._refused is None or failure.reason not in (Reason.AGENT_ERROR, Reason.RATE_LIMIT):
            return failure
        diagnosis, at, status = self._refused
        error = f"{failure.error} (the last answer of its provider: {status}, {diagnosis.reason})"
        if diagnosis.reason is Reason.RATE_LIMIT and diagnosis.retry_after_sec is not None:
            return Retry(max(diagnosis.retry_after_sec - (monotonic() - at), 1.0), error, reason=diagnosis.reason)
        return Fail(diagnosis.reason, error)

    # What a program asks

    async def _serve(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        call = asyncio.get_running_loop().create_task(
            self._answer(scope, receive, send), name=f"model call of {self._task.id}", context=self._context.copy()
        )
        self._calls.add(call)
        try:
            await asyncio.wait([call])
        finally:
            self._calls.discard(call)
        if not call.cancelled() and (error := call.exception()) is not None:
            logger.error("%s: a call of the gateway failed", self._task.id, exc_info=error)
            raise error

    async def _answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        upstream = self._upstream(scope["path"])
        try:
            call = await self._admitted(upstream, scope, receive)
        except CallRefused as refused:
            await send_error(send, upstream, refused)
            return
        is_heard = await self._relay(call, receive, send)
        if call.route.operation is not None:
            await self._account(call, call.route.operation)
        if is_heard:
            await call.finish(send)

    def _upstream(self, path: str) -> Upstream:
        """The upstream whose prefix the path has. Without one it is the first: the error needs a provider's shape."""
        found = (each for prefix, each in self._upstreams.items() if path.startswith(prefix))
        return next(found, next(iter(self._upstreams.values())))

    async def _admitted(self, upstream: Upstream, scope: dict[str, Any], receive: Receive) -> ForwardedCall:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not self._is_ours(headers):
            raise CallRefused(401, "the key must be that of the attempt: it is in the program's environment")
        method, path = scope["method"], scope["path"].removeprefix(upstream.provider.prefix)
        route = upstream.provider.route(method, path)
        if route is None or not scope["path"].startswith(upstream.provider.prefix):
            raise CallRefused(404, f"{method} {path} is no call that the gateway forwards")
        if len(self._calls) > MOST_CALLS:
            raise CallRefused(429, f"an attempt may have {MOST_CALLS} calls at a time")
        self._check_money(route)
        body = await self._body(receive) if method == "POST" else b""
        asked = AskedCall(method, path, scope["query_string"].decode("latin-1"), headers, body)
        return await forwarded_call(upstream, route, asked)

    def _is_ours(self, headers: Mapping[str, str]) -> bool:
        shown = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        return compare_digest(shown.encode(), self._key.encode())

    def _check_money(self, route: Route) -> None:
        if self._over.is_set() or self._task.stopped is not None:
            raise CallRefused(403, f"the attempt is over: {self._task.stopped or 'ended'}")
        most = self._task.max_cost
        if route.operation is not None and most is not None and self._task.cost >= most:
            why = f"the task's max_cost_usd of ${to_usd(most)} is spent: a model call was refused"
            self._end(Fail(Reason.BUDGET_EXCEEDED, why))
            raise CallRefused(402, why)

    async def _body(self, receive: Receive) -> bytes:
        body = bytearray()
        try:
            async with asyncio.timeout(READ_WITHIN):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise CallRefused(400, "the request was cut off")
                    body += message.get("body", b"")
                    if len(body) > MOST_REQUEST:
                        raise CallRefused(413, f"a request may have {MOST_REQUEST} bytes")
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise CallRefused(408, f"a request must come in within {READ_WITHIN:g} s") from None

    async def _relay(self, call: ForwardedCall, receive: Receive, send: Send) -> bool:
        """Pass the answer on until it ends, the program hangs up or the attempt is over; True: the program listens."""
        relaying = asyncio.create_task(call.relay(self._client, send))
        gone = asyncio.create_task(_until_gone(receive))
        over = asyncio.create_task(self._over.wait())
        waiting = (relaying, gone, over)
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_done, is_gone = relaying.done(), gone.done()
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        if is_done:
            relaying.result()
        elif is_gone:
            call.refuse(499, "the program has hung up")
        else:
            call.refuse(403, f"the attempt is over: {self._task.stopped or 'ended'}")
        return not is_gone

    # What it costs

    async def _account(self, call: ForwardedCall, operation: str) -> None:
        """Report what a call cost under the lease, and keep a record of it among the task's events."""
        says_usage = call.usage.is_known
        if not (call.is_done and says_usage):
            call.usage.estimate()
        ran, used = (call.began, time_ns()), call.usage.call
        await prices.load([used.model])
        cost, task = used.cost, self._task
        if call.diagnosis is not None:
            self._refused = (call.diagnosis, monotonic(), call.status)
        elif call.is_done:
            self._refused = None
            if not says_usage:
                logger.warning("%s: %s says nothing of its usage", task.id, visible(used.model or "a model"))
        task.spent.add(used)
        record_call(used, used.model, ran, operation=operation, failure=call.failure)
        record = _record(call, used, None if cost is None else str(to_usd(cost)), ran[1] - ran[0])
        if call.diagnosis is not None and call.diagnosis.reason is Reason.RATE_LIMIT:
            asked = call.diagnosis.retry_after_sec
            record["rate_limited_sec"] = min(UNSAID if asked is None else asked, LONGEST_WAIT)
        # What goes beyond the maximum ends the attempt when it is reported: nothing can be recorded afterwards.
        is_last = task.max_cost is not None and task.cost > task.max_cost
        for step in (self._record, self._report) if is_last else (self._report, self._record):
            await step(record)

    async def _report(self, record: Mapping[str, Any]) -> None:
        """Report what was spent, and that the provider is busy: other workers leave it alone then, too."""
        try:
            answer = await self._task.report_spent(record.get("rate_limited_sec"))
        except TaskyardError as error:
            logger.warning("%s: what was spent is reported later: %s", self._task.id, error)
            return
        if answer.must_stop:
            self._task.stop(answer.words[0])
            self._end(Stopped(answer.words[0]))

    async def _record(self, record: Mapping[str, Any]) -> None:
        if self._task.stopped is not None:
            return  # the yard takes nothing more of this attempt
        try:
            await self._task.message(record["text"], kind="model_call", **record["facts"])
        except LeaseLost:
            logger.info("%s: the lease is lost; not recorded: %s", self._task.id, record["text"])
        except TaskyardError as error:
            logger.warning("%s: a model call could not be recorded: %s", self._task.id, error)

    def _end(self, ended: Control | Stopped) -> None:
        """Store how the attempt ends, and interrupt the worker, which waits for the program."""
        if self.ended is None:
            self.ended = ended
            if self._owner is not None and not self._over.is_set():
                self._owner.cancel()


def _record(call: ForwardedCall, used: ModelCall, cost_usd: str | None, took: int) -> dict[str, Any]:
    tokens, seconds = used.tokens, round(took / 1e9, 3)
    name = visible(used.model or call.asked.path)
    about = "about " if call.usage.is_estimate else ""
    counts = f"{about}{tokens.input} tokens in, {tokens.output} out" if call.usage.is_known else "usage unknown"
    price = "" if cost_usd is None else f", ${cost_usd}"
    failed = "" if call.is_done else f"; failed: {call.failure}"
    facts = {
        "provider": call.upstream.provider.name,
        "call": call.asked.path,
        "model": used.model,
        "status": call.status,
        "failure": call.failure,
        "tokens": tokens._asdict() if call.usage.is_known else None,
        "is_estimate": call.usage.is_estimate,
        "cost_usd": cost_usd,
        "seconds": seconds,
    }
    return {"text": f"{name}: {counts}{price}, {seconds:g} s{failed}", "facts": facts}


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
