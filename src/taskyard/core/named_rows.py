"""Named tuples, made in a third of the time that `_make` takes, which also counts the values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar, cast

_Row = TypeVar("_Row", bound=tuple[Any, ...])


class _NewRow(Protocol):
    def __call__(self, kind: type[_Row], values: Iterable[Any], /) -> _Row: ...


new_row = cast(_NewRow, tuple.__new__)  # pyright: ignore[reportUnknownMemberType]
