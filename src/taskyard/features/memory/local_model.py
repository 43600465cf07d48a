"""The embedder `wordllama:`, a small model that the package of the same name brings along: nothing is downloaded.

The package itself is never imported: it would set up the logging of the whole process. Its two files are read with the
libraries that it depends on. A text's vector is the mean of the vectors of its tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from taskyard.core.errors import InvalidInput

DIMENSIONS = 256
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_NEEDS = "needs the model: pip install 'taskyard[memory-model]'"


class WordLlamaEmbedder:
    name = f"wordllama:l2_supercat_{DIMENSIONS}"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        _folder()  # refused now, and not when something is to be embedded

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return await asyncio.to_thread(_embedded, list(texts))


def _embedded(texts: list[str]) -> list[list[float]]:
    tokenizer, weights = _model()
    found = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [weights[each.ids].mean(axis=0).tolist() if each.ids else [0.0] * DIMENSIONS for each in found]


@cache
def _model() -> tuple[Any, Any]:
    """The tokenizer, and the vector of each token."""
    from safetensors import numpy as safetensors  # noqa: PLC0415 - an extra
    from tokenizers import Tokenizer  # noqa: PLC0415 - an extra

    folder = _folder()
    tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    reader: Any = safetensors
    return tokenizer, reader.load_file(folder / _WEIGHTS)["embedding.weight"].astype("float32")


def _folder() -> Path:
    found = find_spec("wordllama")
    places = [] if found is None else [Path(each) for each in found.submodule_search_locations or ()]
    for folder in places:
        if (folder / _TOKENIZER).is_file() and (folder / _WEIGHTS).is_file():
            return folder
    raise InvalidInput("embedder", _NEEDS)
