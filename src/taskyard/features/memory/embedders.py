"""What turns texts into vectors, so that similar texts have vectors of nearly the same direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


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
        """One vector for each text, in their order. `EmbedderFailed` where there is none to be had now."""
        ...


@runtime_checkable
class OpensEmbedder(Protocol):
    """Makes the embedder that a URL names; nothing is connected before it is first used.

    A package adds an embedder by an entry point of the group `taskyard.embedders`, named by the scheme of its URLs.
    """

    def __call__(self, url: str, /) -> Embedder: ...
