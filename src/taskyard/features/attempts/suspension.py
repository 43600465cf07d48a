"""Waits of a task that an agent has in hand: for a time, for a signal, or until later. None of them holds a slot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set

from taskyard.core import outcomes
from taskyard.core.changes import ChangeSet, Checkpoint, Outbox, Signal
from taskyard.core.errors import InvalidInput
from taskyard.core.identifiers import TIME_BLOCKER, signal_blocker
from taskyard.core.json_value import Json, compact
from taskyard.core.lease import Lease, seal
from taskyard.core.notice import Notice, notice_row
from taskyard.core.outcomes import Report
from taskyard.core.task import Hot, TaskId
from taskyard.core.units import Micros, to_iso
from taskyard.definition import arguments
from taskyard.features.attempts.endings.completions import answered
from taskyard.features.attempts.endings.failure_path import receipt
from taskyard.features.attempts.notes import Notes
from taskyard.features.attempts.views import Receipt, Waited
from taskyard.ledger.ledger import Ledger


class Suspension:
    def __init__(self, ledger: Ledger, notes: Notes) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._notes = notes

    async def sleep(self, task_id: str, lease: str, name: str, duration_sec: float) -> Waited:
        """Wait for a time, without a slot."""
        name = arguments.name("name", name)
        duration = arguments.duration("duration_sec", duration_sec)

        async def decide() -> tuple[ChangeSet | None, Waited]:
            hot = await self.held_until(TaskId(task_id), Lease(lease), name)
            if hot is None:
                return None, Waited(False)
            noted = await self.note(hot, name, _SLEEP)
            until = Micros(self._ledger.now() + duration) if noted is None else until_of(noted) or self._ledger.now()
            if until <= self._ledger.now():
                return None if noted else self._notes.noted(hot, name, compact({"until": until})), Waited(True)
            return await self.suspended(hot, [TIME_BLOCKER], until, name, {"until": until}, new=noted is None), Waited(
                False
            )

        return await self._ledger.commit(decide)

    async def snooze(self, task_id: str, lease: str, duration_sec: float) -> Receipt:
        """Not now: the task comes back after a time, and no attempt is counted."""
        wait = arguments.duration("duration_sec", duration_sec)
        digest = str(wait)

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            hot = await self._ledger.load(TaskId(task_id))
            if hot.lease != seal(lease):
                return None, answered(await self._ledger.replayed(hot, seal(lease), "snooze", digest))
            until = Micros(self._ledger.now() + wait)
            step = outcomes.suspended(
                hot,
                Report("snooze", digest),
                type_=await self._ledger.type_of(hot),
                blockers=[TIME_BLOCKER],
                wake_at=until,
                now=self._ledger.now(),
            )
            return step, receipt(step.changes[0].after)

        return await self._ledger.commit(decide)

    async def wait_for(
        self, task_id: str, lease: str, name: str, signal: str, *, timeout_sec: float | None = None
    ) -> Waited:
        """Wait for a signal. Each wait that is not in vain takes one, in the order they were sent, also from before."""
        name = arguments.name("name", name)
        signal = arguments.name("signal", signal)
        patience = None if timeout_sec is None else arguments.duration("timeout_sec", timeout_sec)

        async def decide() -> tuple[ChangeSet | None, Waited]:
            hot = await self.held_until(TaskId(task_id), Lease(lease), name)
            if hot is None:
                return None, Waited(False)
            noted, now = await self.note(hot, name, _WAIT), self._ledger.now()
            sent = [row for row in await self._store.signals(hot.id) if row.name == signal]
            until = None if patience is None else Micros(now + patience)
            place = _place(await self._notes.of(hot), signal, sent) if noted is None else 0
            note = noted or {"signal": signal, "place": place, "before": len(sent), "until": until}
            until = until_of(note)
            heard = heard_by(note, sent)
            if heard is None and (until is None or until > now):
                blockers = [signal_blocker(signal)]
                return await self.suspended(hot, blockers, until, name, note, new=noted is None), Waited(False)
            answer = (
                Waited(True, timed_out=True)
                if heard is None
                else Waited(True, json.loads(heard.data), by=heard.sent_by)
            )
            return None if noted else self._notes.noted(hot, name, compact(dict(note))), answer

        return await self._ledger.commit(decide)

    async def held_until(self, task_id: TaskId, lease: Lease, name: str) -> Hot | None:
        """The task at hand; None where this very call has suspended it before, and its answer may have been lost."""
        hot = await self._ledger.load(task_id)
        if hot.lease is not None and hot.lease == seal(lease):
            return hot
        await self._ledger.replayed(hot, seal(lease), "suspend", name)
        return None

    async def suspended(
        self,
        hot: Hot,
        blockers: list[str],
        wake_at: Micros | None,
        name: str,
        note: Mapping[str, Json] | None,
        *,
        new: bool,
    ) -> ChangeSet:
        type_ = await self._ledger.type_of(hot)
        step = outcomes.suspended(
            hot, Report("suspend", name), type_=type_, blockers=blockers, wake_at=wake_at, now=self._ledger.now()
        )
        if not new or note is None:
            return step
        noted = step._replace(checkpoints=(Checkpoint(hot.id, name, hot.attempt, compact(dict(note))),))
        # One notice for each wait: a handler that comes back to it after a crash does not ask again.
        return noted._replace(outbox=(_asking(hot, note, step.at),)) if not _WAIT.symmetric_difference(note) else noted

    async def note(self, hot: Hot, name: str, kind: Set[str]) -> dict[str, Json] | None:
        """What is remembered under this name; refused where that is something of another kind."""
        notes = await self._notes.of(hot)
        if name not in notes:
            return None
        note = notes[name]
        if not isinstance(note, dict) or note.keys() != kind:
            raise InvalidInput("name", f"{name} stands for something else in this task already")
        return note


# What is remembered of each kind of wait, by which they are distinguished.
_SLEEP = frozenset({"until"})


_WAIT = frozenset({"signal", "place", "before", "until"})  # before: how many were sent before it began
ASKED = _WAIT | {"question"}  # a wait for a person's answer


def _asking(hot: Hot, note: Mapping[str, Json], now: Micros) -> Outbox:
    until = until_of(note)
    facts: dict[str, Json] = {
        "signal": note["signal"],
        "wait": hot.wait + 1,
        "until": None if until is None else to_iso(until),
    }
    return notice_row(Notice.APPROVAL_WANTED, hot.workspace, facts, at=now, task_id=hot.id)


def until_of(note: Mapping[str, Json]) -> Micros | None:
    until = note["until"]
    return Micros(until) if isinstance(until, int) else None


def _number(note: Mapping[str, Json], name: str) -> int:
    number = note[name]
    return number if isinstance(number, int) else 0


def heard_by(note: Mapping[str, Json], sent: Sequence[Signal]) -> Signal | None:
    """The signal that a wait took. One that came after its end is not it, however often the handler is run again."""
    place, before, until = _number(note, "place"), _number(note, "before"), until_of(note)
    if len(sent) <= place:
        return None
    in_time = until is None or place < before or sent[place].at < until
    return sent[place] if in_time else None


def _place(notes: Mapping[str, Json], signal: str, sent: Sequence[Signal]) -> int:
    """Which of the signals sent is the next wait's: the one after the last that was taken."""
    waits = [note for note in notes.values() if isinstance(note, dict) and note.keys() in (_WAIT, ASKED)]
    mine = [note for note in waits if note["signal"] == signal]
    return max((_number(note, "place") + (heard_by(note, sent) is not None) for note in mine), default=0)
