"""The embedder `hash:`, which needs no model, no network and no library: it hashes pieces of words.

Words of one stem share most of their pieces ("migrate", "migrating"), so texts that share no word can be near each
other. Texts that say the same in entirely different words are not: that takes a model.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from math import sqrt

DIMENSIONS = 256
_SHORTEST, _LONGEST = 3, 5  # characters of a piece, the borders of the word included
_WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = frozenset(
    {
        *("a", "all", "an", "and", "are", "as", "at", "be", "by", "each", "every", "for", "from", "has", "have", "how"),
        *("if", "in", "into", "is", "it", "its", "must", "my", "of", "on", "one", "or", "our", "out", "should", "so"),
        *("some", "that", "the", "their", "they", "to", "was", "we", "were", "what", "when", "where", "which", "who"),
        *("will", "with", "you", "your"),
    }
)


class HashEmbedder:
    name = f"hash:{DIMENSIONS}"
    dimensions = DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for text in texts:
            vectors.append(embed_text(text))
            await asyncio.sleep(0)  # a long text takes milliseconds, and others have heartbeats to send
        return vectors


def embed_text(text: str) -> list[float]:
    """The vector of a text, of length 1; all zeros where the text has no word that counts."""
    vector = [0.0] * DIMENSIONS
    for word in sorted(words_of(text)):  # in one order, so that sums are the same to the last bit
        for place, weight in _features(word):
            vector[place] += weight
    length = sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector


def words_of(text: str) -> set[str]:
    """The words that count. A set: a word that a text repeats says no more about it."""
    return {*_WORD.findall(unicodedata.normalize("NFKC", text).casefold())} - _STOP_WORDS


@lru_cache(maxsize=20_000)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    """Which numbers of the vector a word changes, and by how much: the longer the word, the more it says."""
    pieces = list(_pieces(f"<{word}>"))
    weight = sqrt(len(word) / len(pieces))
    return tuple(_place(piece, weight) for piece in pieces)


def _pieces(bordered: str) -> Iterator[str]:
    for length in range(_SHORTEST, _LONGEST + 1):
        for start in range(len(bordered) - length + 1):
            yield bordered[start : start + length]


def _place(piece: str, weight: float) -> tuple[int, float]:
    digest = int.from_bytes(blake2b(piece.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return digest % DIMENSIONS, weight if digest >> 63 else -weight
