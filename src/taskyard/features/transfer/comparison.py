"""Comparing what two stores have, row by row. It keeps a hash of 64 bits for each row of the first one."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from hashlib import blake2b

from taskyard.core.changes import Record
from taskyard.core.json_value import compact
from taskyard.features.transfer.rules import encode_copy
from taskyard.features.transfer.service import OF_ONE_STORE
from taskyard.features.transfer.views import Compared, RowDifference
from taskyard.stores.contract import Store
from taskyard.stores.copies import START, Copy, OutboxCopy, TaskCopy, TaskPart, YardPart, place_after, place_of

PAGE = 500
MOST_NAMED = 20  # differences that the answer names
# The secret is nobody's to see, duties and signs of life move in a yard at rest too.
_COMPARED = [part for part in YardPart if part not in {YardPart.SECRET, YardPart.DUTIES, YardPart.PULSES}]


async def compare(one: Store, other: Store) -> Compared:
    """What both stores have alike, what differs, and what only one of them has."""
    counts: dict[str, Counter[str]] = {part.value: Counter() for part in _COMPARED}
    named: list[RowDifference] = []

    def note(part: YardPart, name: str, outcome: str) -> None:
        counts[part.value][outcome] += 1
        if outcome != "alike" and len(named) < MOST_NAMED:
            named.append(RowDifference(part=part.value, name=name, outcome=outcome))

    for part in _COMPARED:
        known = {name: number async for name, number in _rows(one, part)}
        async for name, number in _rows(other, part):
            before = known.pop(name, None)
            note(part, name, "alike" if before == number else "only_there" if before is None else "differs")
        for name in known:
            note(part, name, "only_here")
    return Compared(counts={part: dict(each) for part, each in counts.items() if each}, differences=tuple(named))


async def _rows(store: Store, part: YardPart) -> AsyncIterator[tuple[str, int]]:
    """The name of each row, and a hash of it; a task has one with its history."""
    name, text = "", blake2b(digest_size=8)
    after, number = START, 0
    while page := await store.dump(part, after, PAGE):
        for copy in page:
            if isinstance(copy, Record) and copy.kind in OF_ONE_STORE:
                continue
            if not isinstance(copy, TaskPart):
                if name:
                    yield name, int.from_bytes(text.digest())
                number += 1
                name, text = _name(copy, number), blake2b(digest_size=8)
            text.update(compact(encode_copy(copy)).encode())
        after = place_after(page)
    if name:
        yield name, int.from_bytes(text.digest())


def _name(copy: Copy, number: int) -> str:
    """What the row is called on both sides; rows of the outbox have no name but their place in the order."""
    if isinstance(copy, TaskCopy):
        return copy.hot.id
    return str(number) if isinstance(copy, OutboxCopy) else " ".join(map(str, place_of(copy)))
