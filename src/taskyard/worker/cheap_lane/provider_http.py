"""Requests to a model provider: at the address that its operator chose, never followed elsewhere, and bounded.

The key of the provider goes to that address alone, and is in no error.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, is_list, is_mapping
from taskyard.outbound.addresses import checked_host
from taskyard.worker.cheap_lane.batch_provider import ProviderError

try:
    import httpcore
except ImportError as error:
    raise ImportError("batches need the HTTP client: pip install 'taskyard[client]'") from error

REACHED_WITHIN = 10.0  # seconds
ANSWERED_WITHIN = 600.0  # an ordinary call of a large model takes minutes
MOST_BYTES = 16 << 20  # of an answer, and of one line of results
MOST_RESULTS = 1 << 30  # bytes of the results of one batch
SHOWN = 500  # characters of an error
_PORTS = {"http": 80, "https": 443}
_PROVIDER_ID = re.compile(r"[A-Za-z0-9_.:-]{1,200}", re.ASCII)


def checked_id(given: object) -> str:
    """An id that a provider gave: it stands in paths."""
    if not isinstance(given, str) or not _PROVIDER_ID.fullmatch(given) or given.strip(".") == "":
        raise ProviderError("the provider answered with an id that is none")
    return given


class ProviderHttp:
    def __init__(self, base_url: str, headers: Mapping[str, str]) -> None:
        try:
            parts = urlsplit(base_url)
            port = parts.port
        except ValueError:
            raise InvalidInput("base_url", "must be a URL with a sound host and port") from None
        if parts.scheme not in _PORTS or parts.username is not None or parts.query or parts.fragment:
            raise InvalidInput("base_url", "must be http:// or https://, a host and a path")
        self.host = checked_host(parts.hostname or "", "base_url")
        self._origin = parts.scheme, self.host, port or _PORTS[parts.scheme]
        self._path = parts.path.rstrip("/")
        self._headers = {"Host": parts.netloc, "User-Agent": "Taskyard", **headers}

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        target = f"{path}?{urlencode(query)}" if query else path
        return _object(await self._ask("GET", target, b"", None))

    async def post(self, path: str, document: Json) -> dict[str, Any]:
        return _object(await self._ask("POST", path, json.dumps(document).encode(), "application/json"))

    async def upload(self, path: str, content: bytes, content_type: str) -> dict[str, Any]:
        return _object(await self._ask("POST", path, content, content_type))

    async def lines(self, path: str) -> AsyncGenerator[dict[str, Any]]:
        """The objects of a file of JSON lines, one after the other; at last an error where some could not be read."""
        async with self._request("GET", path, b"", None) as answer:
            _check(answer, b"" if answer.status == 200 else await _read(answer))
            buffer, total, unread = bytearray(), 0, 0
            async for piece in answer.aiter_stream():
                buffer += piece
                total += len(piece)
                *whole, rest = buffer.split(b"\n")
                buffer = bytearray(rest)
                if len(buffer) > MOST_BYTES or total > MOST_RESULTS:
                    raise ProviderError("the provider answered with results that are too large")
                for line in whole:
                    if (found := _line(line)) is not None:
                        yield found
                    elif line.strip():
                        unread += 1
            if (found := _line(buffer)) is not None:
                yield found
            elif buffer.strip():
                unread += 1
            if unread:
                raise ProviderError(f"{unread} lines of the results are no JSON objects")

    async def _ask(self, method: str, target: str, content: bytes, content_type: str | None) -> bytes:
        async with self._request(method, target, content, content_type) as answer:
            body = await _read(answer)
            _check(answer, body)
            return body

    @asynccontextmanager
    async def _request(
        self, method: str, target: str, content: bytes, content_type: str | None
    ) -> AsyncGenerator[httpcore.Response]:
        scheme, host, port = self._origin
        url = httpcore.URL(scheme=scheme, host=host, port=port, target=f"{self._path}{target}")
        headers = {**self._headers, **({} if content_type is None else {"Content-Type": content_type})}
        length = [("Content-Length", str(len(content)))] if method == "POST" else []
        timeout = {"connect": REACHED_WITHIN, "read": ANSWERED_WITHIN, "write": ANSWERED_WITHIN}
        try:
            async with (
                httpcore.AsyncConnectionPool(http2=False) as pool,
                pool.stream(
                    method, url, headers=[*headers.items(), *length], content=content, extensions={"timeout": timeout}
                ) as answer,
            ):
                yield answer
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
            raise ProviderError(f"{self.host} did not answer ({type(error).__name__})") from None


def objects(data: object) -> list[dict[str, Any]]:
    """The objects of a list that a provider answered with."""
    return [dict(each) for each in data if is_mapping(each)] if is_list(data) else []


def member(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object inside of another; an empty one where there is none."""
    found = document.get(name)
    return dict(found) if is_mapping(found) else {}


async def _read(answer: httpcore.Response) -> bytes:
    found = bytearray()
    async for piece in answer.aiter_stream():
        found += piece
        if len(found) > MOST_BYTES:
            raise ProviderError(f"the provider answered with more than {MOST_BYTES} bytes")
    return bytes(found)


def _check(answer: httpcore.Response, body: bytes) -> None:
    if answer.status == 200:
        return
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
    shown = " ".join(body[:SHOWN].decode("utf-8", "replace").split())
    raise ProviderError(f"status {answer.status}: {shown}", answer.status, headers)


def _line(line: bytearray) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return dict(found) if is_mapping(found) else None


def _object(body: bytes) -> dict[str, Any]:
    found = _line(bytearray(body))
    if found is None:
        raise ProviderError("the provider answered with something else than a JSON object")
    return found
