"""Where the contents of artifacts are: a folder, or a bucket of any of the large object stores, by URL.

What is here has no names and no owners; it is found by keys that the yard chose. Credentials come from the environment
in the way of each provider (AWS_ACCESS_KEY_ID, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_KEY, …).

A package adds a place by an entry point of the group `taskyard.object_stores`, named by the scheme of its URLs.

The library is called from threads of ours. Its own asynchronous calls answer from threads that Python does not know of:
one that was not done with its answer yet when the interpreter ended took the whole process down with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable
from urllib.parse import parse_qsl, unquote, urlsplit

from taskyard import plugins
from taskyard.core.errors import InvalidInput, StoreUnavailable, TooLarge

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Backend

PART = 8 << 20  # bytes sent at once, and held in memory: a bucket takes 10,000 of them
PARALLEL = 2  # parts under way
AT_ONCE = 32  # reads and removals
_SETTINGS = frozenset({"endpoint", "region", "virtual_hosted_style_request", "allow_http", "skip_signature"})
_SCHEMES = ("file", "memory", "s3", "gs", "az")


class WrittenObject(NamedTuple):
    size: int
    sha256: str


class ObjectMissing(Exception):
    """There is nothing under the key."""


class ObjectStore(Protocol):
    """One place for objects. A key is written once, and may be removed while nobody reads it any more."""

    async def write(self, key: str, pieces: AsyncIterator[bytes], *, most: int) -> WrittenObject:
        """Store what comes, and say how much it was and what it hashes to. `TooLarge` beyond `most`: nothing stays."""
        ...

    def read(self, key: str, start: int = 0, end: int | None = None) -> AsyncGenerator[bytes]:
        """What is stored there, from one byte up to another; `ObjectMissing` where nothing is."""
        ...

    async def remove(self, key: str) -> None:
        """Make sure that nothing is stored there, also where nothing was."""
        ...


@runtime_checkable
class OpensObjectStore(Protocol):
    """Opens the place that a URL names, when an artifact is first written or read; `InvalidInput` for `artifacts`."""

    def __call__(self, url: str, /) -> ObjectStore: ...


def open_object_store(url: str) -> ObjectStore:
    if urlsplit(url).scheme in _SCHEMES:
        return Objects(url)
    return _installed(urlsplit(url).scheme)(url)


def _installed(scheme: str) -> OpensObjectStore:
    found = plugins.load(plugins.OBJECT_STORES, scheme, "artifacts")
    if found is None:
        installed = "".join(f"{name}://, " for name in sorted(plugins.names(plugins.OBJECT_STORES)))
        raise InvalidInput("artifacts", f"must begin with {installed}file://, s3://, gs:// or az://")
    if not isinstance(found, OpensObjectStore):
        raise plugins.unfit(plugins.OBJECT_STORES, scheme, "artifacts", "function that opens an object store")
    return found


class Objects:
    """A folder, a bucket or this process's memory, by the object_store library."""

    def __init__(self, url: str) -> None:
        self._store = _opened(url)
        parts = urlsplit(url)
        self._folder = Path(unquote(parts.path)) if parts.scheme == "file" else None
        self._threads = ThreadPoolExecutor(AT_ONCE, "taskyard objects")

    async def write(self, key: str, pieces: AsyncIterator[bytes], *, most: int) -> WrittenObject:
        """Store what comes, and say how much it was and what it hashes to. More than `most`: nothing is stored."""
        import obstore  # noqa: PLC0415 - it is an extra

        counted = _Counted(pieces, most)
        try:
            writer: Any = obstore.open_writer(self._store, key, buffer_size=PART, max_concurrency=PARALLEL)
            try:
                # A thread is held while something is written, and never while the next piece is waited for.
                async for piece in counted:
                    await self._do(writer.write, piece)
                await self._do(writer.close)
                await self._do(self._make_private, key)
            except BaseException as error:
                await self._do(writer.__exit__, type(error), error, error.__traceback__)  # what was written goes
                raise
        except (obstore.exceptions.BaseError, OSError) as error:
            raise _unavailable(error) from None
        return WrittenObject(counted.size, counted.hash.hexdigest())

    def _make_private(self, key: str) -> None:
        """In a folder: for the owner alone, as the folder itself is. A bucket has rules of its own."""
        if self._folder is not None:
            file = self._folder / key
            file.chmod(0o600)
            if file.parent != self._folder:
                file.parent.chmod(0o700)

    async def read(self, key: str, start: int = 0, end: int | None = None) -> AsyncGenerator[bytes]:
        """What is stored there, from one byte to another; `ObjectMissing` where nothing is."""
        import obstore  # noqa: PLC0415 - it is an extra

        # The whole is asked for as such: of nothing there is no range, and not every server has ranges.
        part = {"offset": start} if end is None else (start, end)
        options: Any = {"range": part} if start or end is not None else None
        try:
            found = await self._do(obstore.get, self._store, key, options=options)
            stream = found.stream(min_chunk_size=1 << 18)
            while (piece := await self._do(next, stream, None)) is not None:
                yield bytes(piece)
        except FileNotFoundError:
            raise ObjectMissing(key) from None
        except (obstore.exceptions.BaseError, OSError) as error:
            raise _unavailable(error) from None

    async def remove(self, key: str) -> None:
        """Make sure that nothing is stored there."""
        import obstore  # noqa: PLC0415 - it is an extra

        try:
            await self._do(obstore.delete, self._store, key)
        except FileNotFoundError:
            return  # it was never written, or another sweep was here before
        except (obstore.exceptions.BaseError, OSError) as error:
            raise _unavailable(error) from None

    async def _do(self, call: Callable[..., Any], *given: Any, **options: Any) -> Any:
        """Call the library in a thread. Whoever is cancelled meanwhile waits for the call: it cannot be taken back."""
        doing = asyncio.get_running_loop().run_in_executor(self._threads, partial(call, *given, **options))
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            await asyncio.wait([doing])
            raise


class _Counted:
    """Pieces on their way, counted and hashed as they pass."""

    def __init__(self, pieces: AsyncIterator[bytes], most: int) -> None:
        self._pieces = pieces
        self._most = most
        self.size = 0
        self.hash = sha256()

    def __aiter__(self) -> _Counted:
        return self

    async def __anext__(self) -> bytes:
        piece = await anext(self._pieces)
        self.size += len(piece)
        if self.size > self._most:
            raise TooLarge(self._most)
        self.hash.update(piece)
        return piece


def checked_place(url: str) -> str:
    """The URL of a place for objects, if it is one."""
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("artifacts", "must not have a secret in it: the provider's own variables carry it")
    if parts.scheme not in _SCHEMES:
        _installed(parts.scheme)
        return url
    if parts.scheme == "file" and (parts.netloc or not parts.path.startswith("/") or parts.query):
        raise InvalidInput("artifacts", "must be file:///DIRECTORY")
    if unknown := sorted({name for name, _ in parse_qsl(parts.query)} - _SETTINGS):
        raise InvalidInput("artifacts", f"has {', '.join(unknown)}, and may have only {', '.join(sorted(_SETTINGS))}")
    return url


def _opened(url: str) -> Backend:
    try:
        from obstore.store import LocalStore, MemoryStore, from_url  # noqa: PLC0415 - it is an extra
    except ModuleNotFoundError as missing:
        if missing.name != "obstore":
            raise
        raise InvalidInput("artifacts", "need the object store library: pip install 'taskyard[artifacts]'") from missing
    from obstore.exceptions import BaseError  # noqa: PLC0415 - it is an extra

    parts = urlsplit(checked_place(url))
    if parts.scheme == "memory":
        return MemoryStore()
    try:
        if parts.scheme == "file":
            return LocalStore(_private_folder(Path(unquote(parts.path))))
        settings: Any = dict(parse_qsl(parts.query))
        client: Any = {"allow_http": settings.pop("allow_http", "false") == "true"}
        return from_url(parts._replace(query="").geturl(), client_options=client, **settings)
    except (BaseError, OSError, ValueError) as error:
        raise InvalidInput("artifacts", f"cannot be opened: {_first_line(error)}") from None


def _private_folder(folder: Path) -> Path:
    """A new folder is its owner's alone, and with it everything inside. One that is there keeps its mode."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _unavailable(error: Exception) -> StoreUnavailable:
    return StoreUnavailable(f"where artifacts are kept cannot be used: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    """What went wrong, without the details for those who wrote the library."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
