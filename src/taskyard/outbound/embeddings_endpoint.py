"""The embedder `openai+https:`: any endpoint that takes what OpenAI's does, such as a model server on this machine.

`openai+https://HOST/v1?model=NAME&dimensions=N` asks `https://HOST/v1/embeddings`. An operator chooses it, so it may be
on loopback. Its key is in the environment (`TASKYARD_EMBEDDER_KEY`), never in the URL. It is not followed elsewhere,
and no more is read of an answer than vectors can come to.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

import httpcore

from taskyard.core.errors import EmbedderFailed, InvalidInput
from taskyard.features.memory.embedders import TextRefused
from taskyard.outbound.addresses import checked_host

KEY = "TASKYARD_EMBEDDER_KEY"
REACHED_WITHIN = 5.0  # seconds
ANSWERED_WITHIN = 30.0
MOST_DIMENSIONS = 16_384
MOST_BYTES_OF_A_NUMBER = 32
SHOWN = 200  # characters of an answer, in an error
_REFUSED = frozenset({400, 413, 422})
_PORTS = {"http": 80, "https": 443}


class EndpointEmbedder:
    def __init__(self, parts: SplitResult, model: str, dimensions: int | None) -> None:
        self._parts = parts
        self._model = model
        self.dimensions = dimensions
        self.name = f"openai:{parts.netloc}/{model}" + ("" if dimensions is None else f":{dimensions}")

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        asked: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self.dimensions is not None:
            asked["dimensions"] = self.dimensions
        try:
            async with asyncio.timeout(ANSWERED_WITHIN):
                status, body = await self._post(json.dumps(asked).encode(), most=_most_bytes(texts))
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, TimeoutError) as error:
            raise EmbedderFailed(f"{self._parts.hostname} did not answer ({type(error).__name__})") from None
        if status != 200:
            shown = " ".join(body[:SHOWN].decode("utf-8", "replace").split())
            failed = TextRefused if status in _REFUSED else EmbedderFailed
            raise failed(f"{self._parts.hostname} answered with status {status}: {shown}")
        return _vectors(body, len(texts))

    async def _post(self, body: bytes, *, most: int) -> tuple[int, bytes]:
        parts = self._parts
        target = f"{parts.path.rstrip('/')}/embeddings"
        url = httpcore.URL(
            scheme=parts.scheme, host=parts.hostname or "", port=parts.port or _PORTS[parts.scheme], target=target
        )
        headers = {"Host": parts.netloc, "Content-Type": "application/json", "User-Agent": "Taskyard"}
        if key := os.environ.get(KEY):
            headers["Authorization"] = f"Bearer {key}"
        timeout = {"connect": REACHED_WITHIN, "read": ANSWERED_WITHIN, "write": ANSWERED_WITHIN}
        async with (
            httpcore.AsyncConnectionPool(http2=False) as pool,
            pool.stream(
                "POST",
                url,
                headers=[*headers.items(), ("Content-Length", str(len(body)))],
                content=body,
                extensions={"timeout": timeout},
            ) as answer,
        ):
            return answer.status, await _read(answer, most)


def open_endpoint(url: str) -> EndpointEmbedder:
    """Refuse what could never be asked, while it is being configured. No error repeats the URL, which may be secret."""
    try:
        parts = urlsplit(url.removeprefix("openai+"))
        _ = parts.port
    except ValueError:
        raise InvalidInput("embedder", "must be a URL with a sound host and port") from None
    if parts.username is not None or parts.fragment:
        raise InvalidInput("embedder", f"must have neither a password nor a fragment: the key is in {KEY}")
    checked_host(parts.hostname or "", "embedder")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    model, dimensions = given.pop("model", ""), given.pop("dimensions", None)
    if not model or given:
        raise InvalidInput("embedder", "must be openai+https://HOST/PATH?model=NAME, and &dimensions=N where wanted")
    if dimensions is not None and not (dimensions.isascii() and dimensions.isdigit() and int(dimensions) > 0):
        raise InvalidInput("embedder", "must have a whole number above 0 for dimensions")
    return EndpointEmbedder(parts._replace(query=""), model, None if dimensions is None else int(dimensions))


def _most_bytes(texts: Sequence[str]) -> int:
    return 65_536 + len(texts) * MOST_DIMENSIONS * MOST_BYTES_OF_A_NUMBER


async def _read(answer: httpcore.Response, most: int) -> bytes:
    found = bytearray()
    async for piece in answer.aiter_stream():
        found += piece
        if len(found) > most:
            raise EmbedderFailed(f"it answered with more than {most} bytes")
    return bytes(found)


def _vectors(body: bytes, number: int) -> list[list[float]]:
    """The vectors in the order of the texts: each says which text it is of."""
    try:
        rows: list[dict[str, Any]] = json.loads(body)["data"]
        ordered = sorted(rows, key=lambda row: row["index"])
        vectors = [[float(value) for value in row["embedding"]] for row in ordered]
        indexes = [row["index"] for row in ordered]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise EmbedderFailed("it answered with something else than vectors") from None
    if indexes != list(range(number)):
        raise EmbedderFailed(f"it answered with vectors of other texts than the {number} it was asked about")
    return vectors
