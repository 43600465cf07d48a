"""Attempts that end without an output: failed, or given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from taskyard.core import outcomes
from taskyard.core.changes import ChangeSet
from taskyard.core.errors import LeaseLost, TaskyardError
from taskyard.core.json_value import Json, encode, mended
from taskyard.core.lease import seal
from taskyard.core.outcomes import BY_THE_YARD, Report
from taskyard.core.task import (
    Failure,
    Hot,
    Reason,
    TaskId,
)
from taskyard.core.units import Micros
from taskyard.definition import arguments, fields
from taskyard.features.attempts.endings.batch_answers import answer_each, check_batch
from taskyard.features.attempts.endings.completions import answered, call_digest
from taskyard.features.attempts.endings.failure_path import receipt
from taskyard.features.attempts.keys import ReturnedKeys
from taskyard.features.attempts.validation.validators import Validators
from taskyard.features.attempts.views import Receipt
from taskyard.features.budgets import prices
from taskyard.features.budgets.spend import reported
from taskyard.features.budgets.views import Spent
from taskyard.ledger.ledger import Ledger


class Failures:
    def __init__(self, ledger: Ledger, returned_keys: ReturnedKeys, validators: Validators) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._returned_keys = returned_keys
        self._validators = validators

    async def fail(
        self,
        task_id: str,
        lease: str,
        reason: str = Reason.AGENT_ERROR,
        error: str = "",
        *,
        details: Json = None,
        retry_after_sec: float | None = None,
        **spent: Unpack[Spent],
    ) -> Receipt:
        """Say that the attempt failed. What follows is decided by the reason and the task's policy."""
        encode(details, field="details", max_bytes=self._ledger.options.sizes.max_output_bytes)
        failure = Failure(reason=fields.text(reason, "reason", most=100), error=_printable(error), details=details)
        digest = call_digest("fail", failure.reason, failure.error, details)
        await prices.load([spent.get("model")])
        report = Report("fail", digest, *reported(**spent))
        wait = None if retry_after_sec is None else arguments.duration("retry_after_sec", retry_after_sec)
        return await self.fail_attempt(TaskId(task_id), seal(lease), failure, report, retry_after=wait)

    async def fail_many(self, results: Sequence[Mapping[str, Any]]) -> list[Receipt | TaskyardError]:
        """Report many failures. Each stands or falls alone, and its answer stands in its place."""
        check_batch(results)
        return await answer_each([self.fail(**result) for result in results])

    async def fail_attempt(
        self,
        task_id: TaskId,
        sealed: str,
        failure: Failure,
        report: Report = BY_THE_YARD,
        *,
        retry_after: Micros | None = None,
        in_company: bool = False,
    ) -> Receipt:
        """Fail the attempt under this sealed lease; the answer to a repeated call is the first one's."""

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            hot = await self._ledger.load(task_id)
            if hot.lease != sealed:
                return None, await self._failed_before(hot, sealed, report)
            return await self._validators.failed(hot, failure, report, retry_after=retry_after, in_company=in_company)

        return await self._ledger.commit_keyed(decide)

    async def _failed_before(self, hot: Hot, sealed: str, report: Report) -> Receipt:
        for attempt in await self._store.attempts(hot.id):
            if attempt.lease == sealed and attempt.verb == report.verb and attempt.digest == report.digest:
                return answered(attempt)
        raise LeaseLost(hot.id)

    async def release(self, task_id: str, lease: str) -> Receipt:
        """Give the task back unfinished. No attempt is counted."""

        async def decide() -> tuple[ChangeSet | None, Receipt]:
            hot = await self._ledger.load(TaskId(task_id))
            if hot.lease != seal(lease):
                return None, answered(await self._ledger.replayed(hot, seal(lease), "release", ""))
            change_set = outcomes.released(
                hot, Report("release", ""), type_=await self._ledger.type_of(hot), now=self._ledger.now()
            )
            change_set = await self._returned_keys.keyed_again(change_set)
            return change_set, receipt(change_set.changes[0].after)

        return await self._ledger.commit_keyed(decide)


def _printable(error: str) -> str:
    """An error is shown to people and kept by every store alike. It is mended where it must be, never refused."""
    return mended(error)[:10_000]
