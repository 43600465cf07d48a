"""Requests as they come in: let through or not, limited while they are read, strict about what they say.

A path is matched as it was sent and its names are decoded afterwards, so that a name may have a slash in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from itertools import count
from typing import Any, cast, get_args, get_origin, get_type_hints
from urllib.parse import unquote_to_bytes

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from taskyard.api.calls import APPEND_MANY, AT, Body, Call
from taskyard.core.errors import InvalidInput, TooLarge
from taskyard.core.json_value import Json, check_text, check_values, decode
from taskyard.ledger.tracing import remote_parent
from taskyard.server.access.auth import Caller, Serving, admitted, check_lease, count_items
from taskyard.stores.turns import PATIENCE_OF_STREAMS, QUIET, TURN, giving_way, in_turns, let_go

LARGE = 64 << 10  # bytes from which on a body is decoded beside the loop
LARGE_BATCH = 100  # tasks from which on a token puts in one batch at a time
MOST_PARAMETERS = 200  # of a query
Handle = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRequest(Request):
    """A request whose body never takes more memory or time than its call may, and has one meaning."""

    serving: Serving
    bounds: Body
    media_types = frozenset({"application/json"})

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            within = min(self.bounds.within_sec, self.serving.most_sending_sec)
            try:
                async with asyncio.timeout(within):
                    self._body = await self._limited()
            except TimeoutError:
                raise HTTPException(408, f"Send the body within {within:g} s.") from None
        return self._body

    async def _limited(self) -> bytes:
        most = min(self.bounds.most_bytes, self.serving.most_bytes)
        if int(self.headers.get("content-length", 0)) > most:
            raise TooLarge(most)
        chunks: list[bytes] = []
        size = 0
        async for chunk in self.stream():
            size += len(chunk)
            if size > most:
                raise TooLarge(most)  # the protocol takes the rest for a while: who is cut off does not get the answer
            chunks.append(chunk)
        return b"".join(chunks)

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            if self.headers.get("content-type", "").partition(";")[0].strip().lower() not in self.media_types:
                raise InvalidInput("content-type", f"must be {' or '.join(sorted(self.media_types))}")
            if self.headers.get("content-encoding", "identity").lower() != "identity":
                raise InvalidInput("content-encoding", "must not be given: bodies are taken as they are")
            body = await self.body()
            decoding = self._decoded, body
            self._json = await asyncio.to_thread(*decoding) if len(body) > LARGE else self._decoded(body)
        return self._json

    def carried(self, call: Call) -> list[Any]:
        """The items of the decoded body that the call is counted by."""
        body: Json = getattr(self, "_json", None)
        items = body.get(call.carries or "") if isinstance(body, dict) else None
        return items if isinstance(items, list) else []

    def _decoded(self, body: bytes) -> Json:
        check_values(body, "body", self.bounds.most_values)
        return decode(body, max_depth=self.bounds.deepest)


class GuardedRoute(APIRoute):
    """A route of the table of calls: who may not make the call is turned away before the body is read."""

    def get_route_handler(self) -> Handle:
        call = AT[min(self.methods or ()), self.path]  # a path that is not in the table cannot be served
        handle, bounds = direct_handler(self, super().get_route_handler()), call.bounds
        needs_body = self.body_field is not None and self.body_field.field_info.is_required()
        may_repeat = {name: _is_list(annotation) for name, annotation in _query_parameters(self.dependant).items()}
        item = self._item(call)

        async def guarded(request: Request) -> Response:
            asked = StrictRequest(request.scope, request.receive)
            asked.serving, asked.bounds = request.app.state.serving, bounds
            with asked.serving.short_calls.call() as is_large:
                await admit(asked)
                async with _way(asked, call, is_large):
                    if item is not None:
                        await _check_items(await asked.json(), str(call.carries), item)
                    with remote_parent(asked.headers.get("traceparent")):
                        return await handle(asked)

        async def admit(asked: StrictRequest) -> None:
            asked.scope["path_params"] = _decoded(asked.path_params)
            asked.state.call = call
            asked.state.caller = await admitted(asked, call)
            _check_query(asked, may_repeat)
            if self.body_field is not None and (needs_body or await asked.body()):
                # Now, since the framework has an answer of its own to what is no JSON.
                body = await asked.json()
                count_items(asked.state.caller, len(asked.carried(call)), asked.serving)
                await check_lease(asked.state.caller, asked.path_params, body)

        return guarded

    def _item(self, call: Call) -> TypeAdapter[Any] | None:
        """What checks one item of a batch; None where the call carries none."""
        if call.carries is None or self.body_field is None:
            return None
        body = cast(type[BaseModel], self.body_field.field_info.annotation)
        (item,) = get_args(body.model_fields[call.carries].annotation)
        return TypeAdapter(item)


# The short way to an endpoint. The framework looks for every kind of parameter in every request and reads the type of
# the body again; most calls have nothing but names in their path and a body, which the route has read.


# Asynchronous although it waits for nothing: the framework would call a plain function in a thread.
async def let_through(connection: HTTPConnection) -> Caller:
    """The caller, whom the route has let through."""
    return connection.state.caller


def direct_handler(route: APIRoute, otherwise: Handle) -> Handle:
    """A handler that calls the endpoint itself, and hands a request with a query on to the other one."""
    dependant = route.dependant
    if not _is_direct(dependant) or get_type_hints(route.endpoint).get("return") is not Response:
        return otherwise
    endpoint: Callable[..., Awaitable[Response]] = route.endpoint
    names, bodies = dependant.path_params, dependant.body_params
    callers = [each.name or "" for each in dependant.dependencies]
    left_out = {field.name: field.default for field in dependant.query_params}

    async def handle(request: Request) -> Response:
        if request.scope["query_string"]:
            return await otherwise(request)
        arguments: dict[str, Any] = {**left_out, **dict.fromkeys(callers, request.state.caller)}
        errors: list[Any] = []
        for field in names:
            found = field.validate(request.path_params[field.alias], loc=("path", field.alias))
            arguments[field.name], wrong = found
            errors += wrong
        for field in bodies:
            if await request.body():
                arguments[field.name], wrong = field.validate(await request.json(), loc=("body",))
                errors += wrong
            else:
                arguments[field.name] = field.default
        if errors:
            raise RequestValidationError(errors)
        return await endpoint(**arguments)

    return handle


def _is_direct(dependant: Dependant) -> bool:
    """Whether the endpoint takes nothing but names, one body, the caller, and a query that may be left out."""
    given = dependant.request_param_name, dependant.response_param_name, dependant.http_connection_param_name
    others = [*dependant.header_params, *dependant.cookie_params, *dependant.body_params[1:], *filter(None, given)]
    may_be_left_out = all(
        not field.field_info.is_required() and field.default.__hash__ is not None for field in dependant.query_params
    )
    return not others and may_be_left_out and all(each.call is let_through for each in dependant.dependencies)


def _query_parameters(dependant: Dependant) -> dict[str, Any]:
    """The type of each parameter that a call takes in its query, by itself or by what it depends on."""
    found = {field.alias: field.field_info.annotation for field in dependant.query_params}
    for each in dependant.dependencies:
        found |= _query_parameters(each)
    return found


def _is_list(annotation: Any) -> bool:
    """Whether a parameter is a list, or one that may be left out."""
    return list in (get_origin(annotation), *map(get_origin, get_args(annotation)))


@asynccontextmanager
async def _way(asked: StrictRequest, call: Call, is_large: Callable[[], None]) -> AsyncGenerator[None]:
    """Let a short call go. A large one gives way to short ones; those of a token that put tasks in go one at a time.

    Appends to streams give way however few they are, where nobody waits for the answer.
    """
    items, short_calls = asked.carried(call), asked.serving.short_calls
    if call is APPEND_MANY and items and all(map(_is_patient, items)):
        is_large()
        with giving_way(short_calls, patience=PATIENCE_OF_STREAMS, quiet=QUIET):
            yield
            await let_go(asked.carried(call))
        return
    if len(items) <= LARGE_BATCH:
        yield
        return
    is_large()
    may_flood = call.carries == "tasks" and bool(asked.state.caller.token.sealed)
    async with _turn(asked) if may_flood else nullcontext():
        with giving_way(short_calls, rests=may_flood):
            yield
            await let_go(asked.carried(call))


def _is_patient(append: Json) -> bool:
    return isinstance(append, dict) and append.get("patient") is True


def _turn(asked: StrictRequest) -> AbstractAsyncContextManager[None]:
    """The turn of a large call among those of its token that put tasks in, too."""
    return asked.serving.large_calls.turn(asked.state.caller.token.id)


async def _check_items(body: Json, field: str, item: TypeAdapter[Any]) -> None:
    """Check the items of a large batch in turns: the framework, which would check all of them in one, finds it done."""
    items = body.get(field) if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(items, list) or len(items) <= TURN:
        return
    places = count()

    def checked(value: Json) -> Any:
        place = next(places)
        try:
            return item.validate_python(value)
        except ValidationError as error:
            errors = [{**each, "loc": ("body", field, place, *each["loc"])} for each in error.errors()]
            raise RequestValidationError(errors) from None

    body[field] = await in_turns(checked, items)


def _decoded(names: Mapping[str, str]) -> dict[str, str]:
    """The names in a path, which no store is asked about where they are no text."""
    decoded: dict[str, str] = {}
    for field, name in names.items():
        try:
            decoded[field] = unquote_to_bytes(name).decode()
        except UnicodeDecodeError:
            raise InvalidInput(field, "must be UTF-8") from None
        check_text(decoded[field], field)
    return decoded


def _check_query(asked: Request, may_repeat: Mapping[str, bool]) -> None:
    """Like unknown fields of a body, what is misspelt is refused: a filter that is not applied shows too much."""
    if asked.scope["query_string"].count(b"&") >= MOST_PARAMETERS:
        raise InvalidInput("query", f"must have at most {MOST_PARAMETERS} parameters")
    for name in asked.query_params:
        values = asked.query_params.getlist(name)
        if name not in may_repeat:
            raise InvalidInput(ascii(name[:100])[1:-1], "is not a parameter of this call")
        if len(values) > 1 and not may_repeat[name]:
            raise InvalidInput(name, "must be given once")
        for value in values:
            check_text(value, name)
