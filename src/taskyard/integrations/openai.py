"""OpenAI's clients, each call a step of the task: `from taskyard.integrations.openai import AsyncOpenAI`.

Inside of a handler, what a POST created is stored with what it cost, and a later attempt gets it back. Elsewhere the
clients are OpenAI's own. Calls for raw responses and for files of bytes go through as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, get_args

try:
    import openai
    from openai import AsyncStream, BaseModel, NotGiven, Stream
    from pydantic import create_model
except ImportError as error:
    raise ImportError("openai is missing or too old (pip install 'taskyard[openai]')") from error

from taskyard.core.json_value import is_mapping
from taskyard.features.budgets.token_counts import openai_usage
from taskyard.integrations.agent_steps import call_model, find_asking_task, rate_limits_park, show
from taskyard.worker.context import Context
from taskyard.worker.current import find_task

_HOST = "api.openai.com"
_RATE_LIMITED = (429, 529)
_RAW = "x-stainless-raw-response"  # the header by which `with_raw_response` marks a call


class AsyncOpenAI(openai.AsyncOpenAI):
    """OpenAI's client for handlers that are coroutines."""

    async def request(
        self, cast_to: Any, options: Any, *, stream: bool = False, stream_cls: Any = None
    ) -> Any:  # the types of a call are those of the method that makes it
        task = find_asking_task()
        if task is None or not _is_a_step(cast_to, options):
            return await super().request(cast_to, options, stream=stream, stream_cls=stream_cls)
        kind, model = _kind(options), _model_of(options)
        if stream:

            async def begin(request: Any) -> Any:
                return await super(AsyncOpenAI, self).request(cast_to, request, stream=True, stream_cls=stream_cls)

            return _StepStream(task, kind, get_args(stream_cls)[0], begin, options)
        plain = _without_parser(options)

        async def ask() -> Any:
            answer = await super(AsyncOpenAI, self).request(cast_to, plain)
            return answer.model_dump(mode="json", exclude_unset=True, warnings=False)

        stored = await call_model(task, kind, ask, spend=lambda answer: _cost(answer, model, self.base_url.host))
        return _parsed(options, _read(cast_to, stored))

    def _should_retry(self, response: Any) -> bool:
        return _retries_here(response) and super()._should_retry(response)


class OpenAI(openai.OpenAI):
    """OpenAI's client for handlers that are plain functions."""

    def request(self, cast_to: Any, options: Any, *, stream: bool = False, stream_cls: Any = None) -> Any:
        task = find_asking_task()
        if task is None or not _is_a_step(cast_to, options):
            return super().request(cast_to, options, stream=stream, stream_cls=stream_cls)
        _check_thread(task)
        kind, model = _kind(options), _model_of(options)
        if stream:
            return self._streamed(task, kind, cast_to, options, stream_cls)
        plain = _without_parser(options)

        def ask() -> Any:
            answer = super(OpenAI, self).request(cast_to, plain)
            return answer.model_dump(mode="json", exclude_unset=True, warnings=False)

        with rate_limits_park():
            stored = task.sync.step(
                task.next_name(kind), ask, spend=lambda answer: _cost(answer, model, self.base_url.host)
            )
        return _parsed(options, _read(cast_to, stored))

    def _streamed(self, task: Context, kind: str, cast_to: Any, options: Any, stream_cls: Any) -> Any:
        """The whole answer is read before its first chunk is given: a plain function shows it to nobody meanwhile."""
        (counting, is_asked), chunk_type = _counting(options), get_args(stream_cls)[0]

        def ask() -> Any:
            with super(OpenAI, self).request(cast_to, counting, stream=True, stream_cls=stream_cls) as chunks:
                return [chunk.model_dump(mode="json", exclude_unset=True, warnings=False) for chunk in chunks]

        with rate_limits_park():
            stored = task.sync.step(task.next_name(kind), ask, spend=lambda all_: _stream_cost(all_, options))
        chunks = [_read(chunk_type, each) for each in stored]
        task.sync.stream("".join(map(_text_of, chunks)))
        return _StoredStream([chunk for chunk in chunks if _is_shown(chunk, is_asked)])

    def _should_retry(self, response: Any) -> bool:
        return _retries_here(response) and super()._should_retry(response)


class _StepStream(AsyncStream[Any]):
    """A stream whose chunks are stored when all of them have come; of a step that was done, the stored ones."""

    def __init__(self, task: Context, kind: str, chunk_type: Any, begin: Any, options: Any) -> None:
        self._task, self._kind, self._chunk_type = task, kind, chunk_type
        self._counting, self._is_asked = _counting(options)
        self._begin, self._request = begin, options
        self._asking: asyncio.Task[Any] | None = None
        self._items = self._all()
        self.response = _closing(self.close)

    async def __anext__(self) -> Any:
        return await anext(self._items)

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for chunk in self._items:
            yield chunk

    async def close(self) -> None:
        """Leave it. What was not read to its end is not stored, and asked for again by a later attempt."""
        if self._asking is not None:
            self._asking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._asking

    async def _all(self) -> AsyncIterator[Any]:
        chunks = asyncio.Queue[Any]()
        came = list[Any]()

        async def ask() -> Any:
            async with await self._begin(self._counting) as stream:
                async for chunk in stream:
                    came.append(chunk.model_dump(mode="json", exclude_unset=True, warnings=False))
                    chunks.put_nowait(chunk)
            return came

        def cost(stored: Any) -> Mapping[str, Any] | None:
            return _stream_cost(stored, self._request)

        asking = self._asking = asyncio.create_task(call_model(self._task, self._kind, ask, spend=cost))
        asking.add_done_callback(lambda _: chunks.put_nowait(None))
        try:
            while (chunk := await chunks.get()) is not None:
                await show(self._task, _text_of(chunk))
                if _is_shown(chunk, self._is_asked):
                    yield chunk
            stored = await asking
        finally:
            asking.cancel()
        if not came:
            for each in stored:
                await show(self._task, _text_of(chunk := _read(self._chunk_type, each)))
                if _is_shown(chunk, self._is_asked):
                    yield chunk


class _StoredStream(Stream[Any]):
    """Chunks that have all come."""

    def __init__(self, chunks: list[Any]) -> None:
        self._chunks = iter(chunks)
        self.response = _closing(self.close)

    def __next__(self) -> Any:
        return next(self._chunks)

    def __iter__(self) -> Iterator[Any]:
        return self._chunks

    def close(self) -> None:
        self._chunks = iter(())


class _Closing:
    """Stands where a stream has its HTTP response, of which nothing is stored: `.stream()` of the library closes it."""

    def __init__(self, close: Callable[[], Any]) -> None:
        self.aclose = self.close = close


def _closing(close: Callable[[], Any]) -> Any:
    return _Closing(close)


def _read(type_: Any, stored: Any) -> Any:
    """An object of the library from what is stored of it, read as the library reads an answer: it checks nothing."""
    holder: Any = _holder(type_)
    answer = holder.construct(value=stored).value
    if isinstance(answer, BaseModel):
        answer._request_id = None  # pyright: ignore[reportPrivateUsage] - documented, and read by those who log it
    return answer


@cache
def _holder(type_: Any) -> type[BaseModel]:
    return create_model("Stored", __base__=BaseModel, value=(type_, ...))


def _is_a_step(cast_to: Any, options: Any) -> bool:
    names: list[str] = [] if isinstance(options.headers, NotGiven) else list(options.headers)
    is_raw = _RAW in [name.lower() for name in names]
    is_typed = isinstance(cast_to, type) and issubclass(cast_to, BaseModel)
    return options.method.lower() == "post" and is_typed and not is_raw


def _kind(options: Any) -> str:
    """Names a call by what it asks, so that its answer is never given to another question."""
    files: Any = options.files or ()
    asked = json.dumps([options.json_data, list(files)], sort_keys=True, default=_named)
    return f"openai:{options.url.strip('/')}:{sha256(asked.encode()).hexdigest()[:12]}"


def _named(part: Any) -> Any:
    """What is no JSON, as far as it is the same in every attempt."""
    if isinstance(part, BaseModel):
        return part.model_dump(mode="json")
    if isinstance(part, bytes):
        return sha256(part).hexdigest()
    return str(getattr(part, "name", type(part).__name__))  # of a file that is open, its path


def _model_of(options: Any) -> str | None:
    model = options.json_data.get("model") if is_mapping(options.json_data) else None
    return model if isinstance(model, str) else None


def _without_parser(options: Any) -> Any:
    """A parsed answer is made from the stored one, each time that it is asked for."""
    return options.model_copy(update={"post_parser": NotGiven()})


def _parsed(options: Any, answer: Any) -> Any:
    return answer if isinstance(options.post_parser, NotGiven) else options.post_parser(answer)


def _counting(options: Any) -> tuple[Any, bool]:
    """The request, such that its stream ends with what it cost; and whether the caller had asked for that."""
    body: dict[str, Any] = options.json_data or {}
    if not options.url.endswith("completions"):
        return _without_parser(options), True
    wanted: dict[str, Any] = body.get("stream_options") or {}
    counted = {**body, "stream_options": {**wanted, "include_usage": True}}
    return options.model_copy(update={"post_parser": NotGiven(), "json_data": counted}), bool(
        wanted.get("include_usage")
    )


def _is_shown(chunk: Any, is_asked: bool) -> bool:
    """The chunk that only says what the others cost is for those who asked for it."""
    return is_asked or getattr(chunk, "usage", None) is None or bool(getattr(chunk, "choices", True))


def _text_of(chunk: Any) -> str:
    """The text that a chunk of either API adds to the answer."""
    if getattr(chunk, "type", None) == "response.output_text.delta":
        return chunk.delta
    choices: list[Any] = getattr(chunk, "choices", None) or []
    return (getattr(getattr(choices[0], "delta", None), "content", None) or "") if choices else ""


def _cost(stored: Any, model: str | None, host: str) -> Mapping[str, Any] | None:
    if (usage := stored.get("usage")) is None:
        return None
    provider = "openai" if host == _HOST else None  # whose embeddings have a price only where the provider is known
    return {**openai_usage(usage), "model": stored.get("model") or model, "provider": provider}


def _stream_cost(stored: Any, options: Any) -> Mapping[str, Any] | None:
    """What the last chunk with a count says: of a completion itself, of a response the one that it completes."""
    for chunk in reversed(stored):
        answer = chunk.get("response") or chunk
        if usage := answer.get("usage"):
            return {**openai_usage(usage), "model": answer.get("model") or _model_of(options)}
    return {"model": _model_of(options)}


def _retries_here(response: Any) -> bool:
    """Whether the client may try again by itself. In a task a rate limit parks it: nobody waits in a slot."""
    return find_task() is None or response.status_code not in _RATE_LIMITED


def _check_thread(task: Context) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    if loop is task.loop:
        raise RuntimeError("OpenAI would block the worker: use AsyncOpenAI in a handler that is a coroutine")
