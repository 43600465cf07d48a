"""A file that no export wrote is refused before anything is stored, with the line and the field that is wrong."""

import io
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.features.transfer import export_file
from taskyard.features.transfer.service import Transfer
from taskyard.ledger.clock import ManualClock
from taskyard.stores.contract import Store
from taskyard.stores.copies import START, YardPart
from tests.transfer.moving import exported, given_a_lived_in_yard, opened, yard_on

Line = dict[str, Any]


@pytest.fixture
async def lines(tmp_path: Path, clock: ManualClock) -> list[Line]:
    async with opened("memory", tmp_path, clock) as here:
        await given_a_lived_in_yard(yard_on(here), clock)
        return [json.loads(line) for line in (await exported(here)).getvalue().splitlines()]


def written(lines: list[Line]) -> io.BytesIO:
    """The lines as a file whose end fits them."""
    counts: dict[str, int] = {}
    for line in lines[1:-1]:
        counts[next(iter(line))] = counts.get(next(iter(line)), 0) + 1
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines[:-1])
    end = {"end": {"counts": counts, "sha256": sha256(body).hexdigest()}}
    return io.BytesIO(body + json.dumps(end).encode() + b"\n")


def place(lines: list[Line], kind: str) -> int:
    return next(number for number, line in enumerate(lines) if kind in line)


async def refusal(store: Store, file: io.BytesIO) -> str:
    with pytest.raises(InvalidInput) as refused:
        await Transfer(store).load(file, "yard.jsonl")
    for part in (YardPart.RECORDS, YardPart.TASKS, YardPart.EVENTS):
        assert await store.dump(part, START, 1) == []
    return str(refused.value)


def altered(kind: str, change: Callable[[Line], object]) -> Callable[[list[Line]], object]:
    return lambda lines: change(lines[place(lines, kind)][kind])


def swap(lines: list[Line], one: str, other: str) -> None:
    a, b = place(lines, one), place(lines, other)
    lines[a], lines[b] = lines[b], lines[a]


def twice(kind: str) -> Callable[[list[Line]], object]:
    return lambda lines: lines.insert(place(lines, kind), lines[place(lines, kind)])


WRONG: dict[str, tuple[Callable[[list[Line]], object], str]] = {
    "a field of a record that nobody knows": (altered("record", lambda row: row.update(more=1)), "record.more: is no"),
    "a field of a row that nobody knows": (altered("task", lambda row: row["row"].update(x=1)), "task.row.x: is no"),
    "a field of a definition that nobody knows": (
        altered("task", lambda row: row["definition"].update(spell="abra")),
        "task.definition.spell: is no",
    ),
    "a field beside the row": (altered("task", lambda row: row.update(also={})), "task.also: is no"),
    "a field of the wrong type": (altered("task", lambda row: row["row"].update(version="1")), "task.row.version"),
    "a definition of the wrong type": (
        altered("task", lambda row: row["definition"].update(priority="high")),
        "task.definition.priority",
    ),
    "a policy of the wrong type": (
        altered("task", lambda row: row["definition"].update(retry=["exponential", "soon", 2.0, None, 0.0, [], []])),
        "task.definition",
    ),
    "a number that no store holds": (altered("task", lambda row: row["row"].update(rank=2**70)), "task.row.rank"),
    "a state that there is not": (altered("task", lambda row: row["row"].update(status="lost")), "task.row.status"),
    "a field that is missing": (altered("attempt", lambda row: row.pop("lease")), "attempt.lease: is missing"),
    "a number of the store": (altered("task", lambda row: row["row"].update(seq=7)), "task.row.seq: is given"),
    "another task's definition": (
        altered("task", lambda row: row["definition"].update(workspace="other")),
        "definition of another task",
    ),
    "a kind of row that nobody knows": (lambda lines: lines.insert(2, {"spell": {}}), "spell: is no kind"),
    "two rows in one line": (lambda lines: lines[1].update(duty={"name": "a", "until": 1}), "one kind of row"),
    "a task twice": (twice("task"), "has the id of a task before it"),
    "a record twice": (twice("record"), "comes twice"),
    "an event twice": (twice("event"), "comes twice"),
    "an attempt twice": (twice("attempt"), "comes twice"),
    "events before tasks": (lambda lines: swap(lines, "task", "event"), "out of order"),
    "an attempt of another task": (
        altered("attempt", lambda row: row.update(task_id="task_01M7JS9Q2YE7FW59Y19QQQ7WSP")),
        "belongs to task_01M7JS9Q2YE7FW59Y19QQQ7WSP",
    ),
    "an event of no task": (
        altered("event", lambda row: row.update(task_id="task_01M7JS9Q2YE7FW59Y19QQQ7WSP")),
        "which is not in the file",
    ),
    "a pulse of nobody": (altered("pulse", lambda row: row.update(name="agent:garbage")), "pulse agent:garbage"),
    "another format": (altered("taskyard", lambda row: row.update(format=9)), "format 1"),
    "another header": (altered("taskyard", lambda row: row.update(more=9)), "and no others"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_file_that_is_wrong_is_refused_by_line_and_field(
    what: str, lines: list[Line], tmp_path: Path, clock: ManualClock
):
    break_it, said = WRONG[what]
    break_it(lines)
    async with opened("memory", tmp_path, clock) as store:
        sentence = await refusal(store, written(lines))
    assert said in sentence
    assert "yard.jsonl line" in sentence or "pulse" in sentence


async def test_a_file_that_was_cut_off_or_changed_is_refused(lines: list[Line], tmp_path: Path, clock: ManualClock):
    whole = written(lines).getvalue()
    pieces = whole.splitlines(keepends=True)
    async with opened("memory", tmp_path, clock) as store:
        assert "cut off" in await refusal(store, io.BytesIO(whole[: len(whole) // 2]))
        assert "cut off" in await refusal(store, io.BytesIO(b"".join(pieces[:-1])))
        assert "another hash" in await refusal(store, io.BytesIO(b"".join([*pieces[:5], *pieces[6:]])))
        assert "the last line" in await refusal(store, io.BytesIO(whole + b"{}\n"))
        assert "header" in await refusal(store, io.BytesIO(b"".join(pieces[1:])))
        assert "must be JSON" in await refusal(store, io.BytesIO(pieces[0] + b"garbage\n"))
        assert "must be an object" in await refusal(store, io.BytesIO(b"[]\n"))


async def test_a_line_is_bounded(
    lines: list[Line], tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(export_file, "MAX_LINE", 4096)
    lines[place(lines, "record")]["record"]["body"]["more"] = "x" * 5000
    async with opened("memory", tmp_path, clock) as store:
        assert "must have at most 4096 bytes" in await refusal(store, written(lines))
