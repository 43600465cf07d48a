"""Runs a history step by step on every side at once, and compares what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from taskyard.core.changes import Event
from taskyard.core.task import TaskId
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from tests.model.answers import Answer, Ok, Refused
from tests.model.choosing import Seen
from tests.model.draining import drained
from tests.model.promises import Answers, Promises
from tests.model.sides import Place, Side
from tests.model.steps import Step, hold_of
from tests.model.stored import difference, stored
from tests.model.violations import require

OpenSides = Callable[[ManualClock], list[Place]]


@dataclass(slots=True)
class History:
    """What a run did, and what came of it."""

    steps: list[Step] = field(default_factory=list[Step])
    events: list[Event] = field(default_factory=list[Event])
    refused: dict[str, int] = field(default_factory=dict[str, int])
    bites: int = 0  # mishaps that came about


class Run:
    def __init__(self, open_sides: OpenSides) -> None:
        self.clock = ManualClock()
        self.sides = [Side(each) for each in open_sides(self.clock)]
        self.guide = self.sides[0]  # what is asked of one side only is asked of this one
        self.seen = Seen(self.clock.now())
        self.history = History()
        self.promises = Promises(self.guide)
        self._ids: list[TaskId] = []

    async def open(self) -> None:
        for side in self.sides:
            await side.open()

    async def close(self) -> None:
        for side in self.sides:
            await side.close()

    async def step(self, step: Step) -> None:
        """Make the step on every side: they answer alike, and no promise is broken."""
        calls = [step] if step.mishap is None or step.mishap.step is None else [step.mishap.step, step]
        if any("hold" in call.given and call.given["hold"] not in self.seen.holds for call in calls):
            return  # in a history that was made shorter: nobody has claimed that
        if step.verb in ("deliver", "again"):
            there = self.seen.delayed if step.verb == "deliver" else self.seen.committed
            if step.given["which"] >= there:
                return
        self.history.steps.append(step)
        if step.verb == "advance":
            self.clock.advance(seconds=step.given["seconds"])
        answers = [await side.perform(step, self.seen.holds) for side in self.sides]
        for answer in answers[1:]:
            _compare(f"the answers to {step.verb}", answers[0], answer)
        events = await self._events()
        before, calls = self.seen.tasks, calls[-len(answers[0]) :]
        await self._see(calls, answers[0], events)
        await self.promises.check(Answers(step, answers[0], before, self.seen.tasks, events, self.seen.holds))

    async def look(self) -> None:
        """Compare everything that is stored, and verify it."""
        first, *others = [await stored(side.store) for side in self.sides]
        for other in others:
            _compare("what is stored", first, other)
        await self.promises.look(first)
        for side in self.sides[1:]:
            problems = await side.store.checks()
            require(not problems, "the store's own checks", f"{problems}")

    async def drain(self) -> None:
        """Once nothing goes wrong any more, everything comes to an end, or waits for what never will."""
        async for step in drained(self.guide, self.seen):
            await self.step(step)
        self.promises.ended(await stored(self.guide.store))

    async def _events(self) -> list[Event]:
        """Those since the last step, on which all sides agree."""
        heard = [await side.new_events() for side in self.sides]
        for other in heard[1:]:
            _compare("the events", heard[0], other)
        self.history.events += heard[0]
        return heard[0]

    async def _see(self, calls: Sequence[Step], answers: Sequence[Answer], events: Iterable[Event]) -> None:
        created = (each.task_id for each in events if each.event == "task.created")
        self._ids += [task_id for task_id in created if task_id is not None]
        seen = self.seen
        seen.now = self.clock.now()
        seen.tasks = await self.guide.store.load(self._ids)
        seen.graphs = sorted({hot.dag_id for hot in seen.tasks.values() if hot.dag_id is not None})
        seen.delayed, seen.committed = len(self.guide.delayed), len(self.guide.committed)
        for call, answer in zip(calls, answers, strict=True):
            if call.verb == "claim":
                seen.claims.append(Step(call.verb, call.given))
                held = cast(list[Held], answer.value if isinstance(answer, Ok) else [])
                seen.holds.update({hold_of(each.id, each.attempt): (each.id, each.lease) for each in held})
            elif "hold" in call.given or "id" in call.given:
                seen.done.append(Step(call.verb, call.given))
            if isinstance(answer, Refused):
                self.history.refused[answer.code] = self.history.refused.get(answer.code, 0) + 1
        self.history.bites = self.guide.bites


def _compare(what: str, one: Any, other: Any) -> None:
    if one != other:
        require(False, f"{what} differ", difference(one, other))
