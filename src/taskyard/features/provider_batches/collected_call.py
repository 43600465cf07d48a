"""A call of a batch as the agent that collects it reports it."""

from __future__ import annotations

from typing import Any

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import is_mapping
from taskyard.definition import fields
from taskyard.features.budgets.spend import Reported, reported
from taskyard.features.budgets.views import Spent
from taskyard.features.provider_batches.views import CallOutcome


class CollectedCall:
    """What came of a call. Fields that are not known are refused."""

    def __init__(self, given: object) -> None:
        if not is_mapping(given):
            raise InvalidInput("results", "must be a list of objects")
        known = {"custom_id", "outcome", "answer", "status"}
        self.custom_id = fields.name(given.get("custom_id"), "results.custom_id")
        self.outcome = fields.choice(CallOutcome)(given.get("outcome"), "results.outcome")
        self.answer: Any = given.get("answer")
        status = given.get("status")
        self.status = None if status is None else fields.whole(status, "results.status", least=100, most=599)
        self._spent: Any = {name: value for name, value in given.items() if name not in known}
        if unknown := self._spent.keys() - Spent.__annotations__.keys():
            raise InvalidInput(f"results.{min(unknown)}", "is not known")

    @property
    def model(self) -> str | None:
        model = self._spent.get("model")
        return model if isinstance(model, str) else None

    def spent(self) -> Reported:
        return reported(**self._spent, is_batch=True)
