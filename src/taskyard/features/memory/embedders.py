"""What turns texts into vectors, so that similar texts have vectors of nearly the same direction; chosen by URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from taskyard import plugins
from taskyard.core.errors import InvalidInput
from taskyard.features.memory.hashing import HashEmbedder

FIELD = "embedder"  # what an error about a URL names


class TextRefused(Exception):
    """An embedder never takes one of these texts, such as one that is too long for its model."""


class Embedder(Protocol):
    """Turns texts into vectors.

    Vectors of embedders with different names are never compared, so a name says everything that the vectors depend on:
    the model, and its version where it has one.
    """

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int | None:
        """How many numbers a vector has; None: as many as the first answer has."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in their order.

        `EmbedderFailed` where there is none to be had now: it is asked again later. `TextRefused` where one of the
        texts is refused for good: the others are asked about one by one, and this one once more, shorter.
        """
        ...


@runtime_checkable
class OpensEmbedder(Protocol):
    """Makes the embedder that a URL names; nothing is connected before it is first used.

    A package adds an embedder by an entry point of the group `taskyard.embedders`, named by the scheme of its URLs.
    """

    def __call__(self, url: str, /) -> Embedder: ...


def open_embedder(url: str) -> Embedder:
    """The embedder that a URL names; `InvalidInput` where there is none."""
    scheme = url.partition(":")[0]
    opens = _EMBEDDERS.get(scheme) or _installed(scheme)
    return opens(url)


def _installed(scheme: str) -> OpensEmbedder:
    found = plugins.load(plugins.EMBEDDERS, scheme, FIELD)
    if found is None:
        known = ", ".join(f"{name}:" for name in [*_EMBEDDERS, *sorted(plugins.names(plugins.EMBEDDERS))])
        raise InvalidInput(FIELD, f"must begin with one of {known}")
    if not isinstance(found, OpensEmbedder):
        raise plugins.unfit(plugins.EMBEDDERS, scheme, FIELD, "function that opens an embedder")
    return found


def _hash(url: str) -> Embedder:
    if url != "hash:":
        raise InvalidInput(FIELD, "must be hash: with nothing behind it")
    return HashEmbedder()


def _wordllama(url: str) -> Embedder:
    if url != "wordllama:":
        raise InvalidInput(FIELD, "must be wordllama: with nothing behind it")
    from taskyard.features.memory.local_model import WordLlamaEmbedder  # noqa: PLC0415 - an extra

    return WordLlamaEmbedder()


def _openai(url: str) -> Embedder:
    try:
        from taskyard.outbound.embeddings_endpoint import open_endpoint  # noqa: PLC0415 - its HTTP library is an extra
    except ModuleNotFoundError as missing:
        if missing.name not in ("httpcore", "anyio"):
            raise
        raise InvalidInput(FIELD, "needs the HTTP client: pip install 'taskyard[memory]'") from missing
    return open_endpoint(url)


# Looked at before what is installed.
_EMBEDDERS: Mapping[str, Callable[[str], Embedder]] = {
    "hash": _hash,
    "wordllama": _wordllama,
    "openai+https": _openai,
    "openai+http": _openai,
}
