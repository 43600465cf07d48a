"""What is held and spent under every ceiling, summed up page by page from the tasks and their attempts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from taskyard.core.changes import Limit
from taskyard.core.claiming import money_names
from taskyard.core.identifiers import key_ceiling, probe_ceiling, slots_ceiling, type_slots_ceiling
from taskyard.core.task import HELD, KEY_HELD, Hot
from taskyard.core.units import MicroUsd
from taskyard.features.provider_batches.rules import CallBody, settled
from taskyard.features.verify.rules import TaskPage


class CeilingSums:
    """Keeps a number for each ceiling, and nothing of the tasks."""

    def __init__(self) -> None:
        self._held = Counter[str]()
        self._spent = Counter[str]()

    def add(self, page: TaskPage) -> None:
        for hot in page.tasks.values():
            self._add_held(hot, page.types[hot.id])
        for task_id, attempts in page.attempts.items():
            dag_id = page.tasks[task_id].dag_id
            for attempt in attempts:
                if attempt.cost:
                    names = money_names(attempt.agent, attempt.agent_type, dag_id, attempt.claimed_at)
                    self._spent.update(dict.fromkeys(names, attempt.cost))

    def add_calls(self, in_batches: Iterable[CallBody]) -> None:
        """Calls that providers still have: their money is held too."""
        for item in in_batches:
            for spend in settled(item, "", None, MicroUsd(0)):
                self._held[spend.name] -= spend.held

    def _add_held(self, hot: Hot, type_: str) -> None:
        held = self._held
        if hot.status in HELD:
            held[slots_ceiling(hot.agent)] += 1
            if hot.type_slot:
                held[type_slots_ceiling(hot.agent_type)] += 1
        if hot.status not in KEY_HELD or hot.agent is None:
            return
        if hot.key is not None:
            held[key_ceiling(hot.key)] += 1
        if hot.circuit % 2:
            held[probe_ceiling(type_, hot.circuit)] += 1
        if hot.reserved:
            at = hot.claimed_at or hot.updated_at
            held.update(dict.fromkeys(money_names(hot.agent, hot.agent_type, hot.dag_id, at), hot.reserved))

    def held_problems(self, stored: Mapping[str, Limit]) -> list[str]:
        there = {name: limit.held for name, limit in stored.items()}
        return [
            f"{name}: {there.get(name, 0)} is held, and its attempts hold {self._held[name]}"
            for name in sorted({*there, *self._held})
            if there.get(name, 0) != self._held[name]
        ]

    def spent_problems(self, stored: Mapping[str, Limit]) -> list[str]:
        there = {name: limit.spent for name, limit in stored.items()}
        return [
            f"{name}: {there.get(name, 0)} was spent, and its attempts cost {self._spent[name]}"
            for name in sorted({*there, *self._spent})
            if there.get(name, 0) != self._spent[name]
        ]
