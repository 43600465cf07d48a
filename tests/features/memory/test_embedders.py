"""Embedders by URL: what is refused, what an endpoint is asked, and what is made of its answers."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import taskyard
from bench.recall import share_found
from taskyard.core.errors import EmbedderFailed, InvalidInput
from taskyard.features.memory.embedders import Embedder, TextRefused, open_embedder


class Endpoint:
    """A server that embeds as OpenAI's does, in reverse order, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.status, self.answer = "200 OK", ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = next(line.split(":")[1] for line in head.lower().split("\r\n") if line.startswith("content-length"))
        body = json.loads(await reader.readexactly(int(length)))
        self.asked.append((head, body))
        rows = [{"index": at, "embedding": [len(text), 1]} for at, text in enumerate(body["input"])]
        answer = self.answer or json.dumps({"data": rows[::-1]})
        writer.write(f"HTTP/1.1 {self.status}\r\nContent-Length: {len(answer)}\r\n\r\n{answer}".encode())
        await writer.drain()
        writer.close()


@asynccontextmanager
async def endpoint(query: str = "model=small") -> AsyncGenerator[tuple[Endpoint, Embedder]]:
    server = Endpoint()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield server, open_embedder(f"openai+http://127.0.0.1:{port}/v1?{query}")


async def test_an_endpoint_is_asked_for_all_texts_at_once_with_the_key_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("TASKYARD_EMBEDDER_KEY", "s3cr3t")
    async with endpoint("model=small&dimensions=2") as (server, embedder):
        assert await embedder.embed(["a", "four"]) == [[1.0, 1.0], [4.0, 1.0]]

    ((head, body),) = server.asked
    assert head.startswith("POST /v1/embeddings HTTP/1.1\r\n")
    assert "authorization: bearer s3cr3t" in head.lower()
    assert body == {"model": "small", "input": ["a", "four"], "encoding_format": "float", "dimensions": 2}
    assert embedder.name.endswith("/small:2")
    assert "s3cr3t" not in embedder.name


@pytest.mark.parametrize(
    ("status", "answer", "error"),
    [
        ("500 Oops", "{}", EmbedderFailed),
        ("429 Slow", "{}", EmbedderFailed),
        ("301 There", "{}", EmbedderFailed),
        ("400 Bad", '{"error": "too long"}', TextRefused),
        ("413 Large", "{}", TextRefused),
        ("200 OK", "no JSON", EmbedderFailed),
        ("200 OK", "[" * 100_000, EmbedderFailed),
        ("200 OK", '{"data": [{"index": 1, "embedding": [1]}]}', EmbedderFailed),
        ("200 OK", '{"data": [{"index": 0, "embedding": ["x"]}]}', EmbedderFailed),
        ("200 OK", '{"data": 5}', EmbedderFailed),
        ("200 OK", " " * 700_000, EmbedderFailed),
    ],
)
async def test_an_answer_without_vectors_is_a_failure_of_its_kind(status: str, answer: str, error: type[Exception]):
    async with endpoint() as (server, embedder):
        server.status, server.answer = status, answer
        with pytest.raises((EmbedderFailed, TextRefused)) as failed:
            await embedder.embed(["a"])
    assert type(failed.value) is error


async def test_an_endpoint_that_is_not_there_is_a_failure():
    async with endpoint() as (_, embedder):
        pass
    with pytest.raises(EmbedderFailed, match="did not answer"):
        await embedder.embed(["a"])


@pytest.mark.parametrize(
    "url",
    [
        *("nobody:", "hash:1", "hash", "wordllama:other", "openai+https://host/v1", "openai+https://?model=x"),
        *(
            "openai+https://u:p@host/v1?model=x",
            "openai+https://host:bad/v1?model=x",
            "openai+https://host?model=x&y=1",
        ),
        *("openai+https://host?model=x&dimensions=0", "openai+https://host?model=x&dimensions=many"),
    ],
)
def test_a_url_that_names_no_embedder_is_refused_where_it_is_configured(url: str):
    with pytest.raises(InvalidInput) as refused:
        taskyard.connect("memory://", embedder=url)
    assert refused.value.facts["field"] == "embedder"
    assert "u:p" not in str(refused.value)


async def test_the_small_model_of_a_wheel_finds_eight_of_ten_tasks_that_share_no_word_with_what_is_asked():
    embedder = open_embedder("wordllama:")

    assert await share_found(embedder) >= 0.8
    assert len((await embedder.embed(["x"]))[0]) == embedder.dimensions
    assert await embedder.embed([""]) == [[0.0] * 256]
