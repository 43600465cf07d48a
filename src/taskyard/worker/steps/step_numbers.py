"""Numbers of steps that have no name: the same in every attempt of a handler that does the same.

A step that fails is not stored, and a handler may go on after that. Nothing that is done later may be given out as the
result of what failed, in this attempt or another: see decision 194.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

Work = Callable[[], Any]  # what a step does
_VALUES = (str, bytes, int, float, bool, type(None))
_LATE = "+"  # ends the kind of what follows a step that an earlier attempt saw fail


class StepNumbers:
    def __init__(self) -> None:
        self._latest: dict[str, int] = {}  # of each kind of step
        self._failed: dict[str, list[tuple[int, list[object]]]] = {}  # by kind: the numbers, and what was done
        self._renamed: dict[str, str] = {}  # kinds that go on under another one
        self._before: dict[str, int] | None = None  # the latest of each kind that earlier attempts have stored

    def next(self, kind: str, work: Work | None = None) -> str:
        """The kind and how many there were before, or the number under which the same work has failed."""
        while kind in self._renamed:
            kind = self._renamed[kind]
        failed = self._failed.get(kind, [])
        for place, (number, before) in enumerate(failed):
            if work is not None and _are_same(before, _parts_of(work)):
                del failed[place]
                return f"{kind}:{number}"
        self._latest[kind] = self._latest.get(kind, 0) + 1
        return f"{kind}:{self._latest[kind]}"

    def found(self, name: str, stored: Collection[str], work: Work | None) -> str:
        """The name to look for, and to store under: of a step without a number, its own.

        Where an earlier attempt saw the step fail and did others after it, a result that comes now has a name of its
        own, and so has what follows: a handler may well go another way when nothing fails.
        """
        if self._before is None:
            self._before = _latest_of(stored)
        if work is None or name in stored:
            return name
        kind, _, number = name.rpartition(":")
        late = f"{name}{_LATE}:1"
        if late in stored:
            self.keep(late)
            return late
        return late if self._before.get(kind, 0) > int(number) else name

    def keep(self, name: str) -> None:
        """The step is done."""
        kind, _, number = name.rpartition(":")
        if kind.endswith(_LATE) and number == "1":
            before, _, _ = kind.removesuffix(_LATE).rpartition(":")
            self._renamed[before], self._latest[kind] = kind, 1

    def leave(self, name: str, work: Work | None = None) -> None:
        """The step was not done. Where its work is not known, the next of its kind is taken for the same once more."""
        kind, _, number = name.rpartition(":")
        if work is not None:
            self._failed.setdefault(kind, []).append((int(number), _parts_of(work)))
        elif number == f"{self._latest.get(kind)}":
            self._latest[kind] -= 1


def _latest_of(stored: Collection[str]) -> dict[str, int]:
    latest: dict[str, int] = {}
    for name in stored:
        kind, _, number = name.rpartition(":")
        if number.isdecimal():
            latest[kind] = max(latest.get(kind, 0), int(number))
    return latest


def _parts_of(work: Work) -> list[object]:
    """The code of a function and all that it was given: two lambdas of one line differ by what they close over."""
    parts, function = list[object](), work
    while isinstance(function, partial):
        parts += [*function.args, *(part for item in sorted(function.keywords.items()) for part in item)]
        function = function.func
    parts += [getattr(function, "__self__", None), getattr(function, "__code__", function)]
    parts += getattr(function, "__defaults__", None) or ()
    return [*parts, *map(_content, getattr(function, "__closure__", None) or ())]


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return cell  # it has none yet


def _are_same(parts: list[object], others: list[object]) -> bool:
    return len(parts) == len(others) and all(map(_is_same, parts, others))


def _is_same(part: object, other: object) -> bool:
    return part is other or (type(part) is type(other) and isinstance(part, _VALUES) and part == other)
