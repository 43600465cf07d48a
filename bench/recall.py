"""The share of questions whose own task an embedder finds among the first three: `python -m bench.recall EMBEDDER …`.

The pairs were made for this: no question shares a word that counts with its task. An embedder is named by its URL, as
in `TASKYARD_EMBEDDER`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from operator import mul
from pathlib import Path

from taskyard.features.memory.embedders import Embedder, open_embedder
from taskyard.features.memory.rules import unit

PAIRS = [
    tuple(line.split("\t"))
    for line in (Path(__file__).parents[1] / "tests/data/similar-tasks.tsv").read_text(encoding="utf-8").splitlines()
]
STORED, ASKED = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]
FIRST = 3
AT_ONCE = 32  # texts, as a yard hands them over


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Of two vectors of length 1."""
    return sum(map(mul, one, other))


def found_in_first(similarity: Callable[[int, int], float], first: int = FIRST) -> float:
    """The share of questions whose own task is strictly among the nearest."""
    hits = 0
    for place in range(len(PAIRS)):
        scores = [similarity(place, other) for other in range(len(PAIRS))]
        better = sum(score >= scores[place] for other, score in enumerate(scores) if other != place)
        hits += better < first
    return hits / len(PAIRS)


async def share_found(embedder: Embedder) -> float:
    stored, asked = await vectors_of(embedder, STORED), await vectors_of(embedder, ASKED)
    return found_in_first(lambda question, answer: cosine(asked[question], stored[answer]))


async def vectors_of(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    found: list[list[float]] = []
    for start in range(0, len(texts), AT_ONCE):
        vectors = await embedder.embed(texts[start : start + AT_ONCE])
        found += [unit(vector, len(vector)) or [0.0] * len(vector) for vector in vectors]
    return found


async def main() -> None:
    for url in sys.argv[1:]:
        print(f"{url}: {await share_found(open_embedder(url)):.1%} of {len(PAIRS)} among the first {FIRST}")


if __name__ == "__main__":
    asyncio.run(main())
