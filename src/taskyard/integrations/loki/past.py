"""What scripts did with a task before the yard heard of it, or beside it: claims and failures without a call.

The core decides each step; the ledger stores it. A claim from a file takes the task whatever its place in the queue,
and a failure of the past opens no breaker and notifies nobody: it has done so already.
"""

from __future__ import annotations

from taskyard.core import outcomes, transitions
from taskyard.core.changes import ChangeSet, Spend
from taskyard.core.errors import IllegalTransition
from taskyard.core.failure import Decision, FollowUp
from taskyard.core.identifiers import slots_ceiling
from taskyard.core.lease import Lease, asked, mint, seal, seal_stem, token
from taskyard.core.outcomes import Report
from taskyard.core.task import AgentId, Failure, Hot, Status, TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.workspace import Workspace

FAILED = "agent_error"  # the reason of failures that a file tells of


class Past:
    def __init__(self, workspace: Workspace) -> None:
        self._ledger = workspace.ledger

    def lease_of(self, hot: Hot, attempt: int | None = None) -> Lease:
        """The lease of an attempt that was claimed in a file. It is worked out from the yard's secret, not stored."""
        return token(self._stem(hot.id), hot.attempt if attempt is None else attempt)

    def is_held(self, hot: Hot) -> bool:
        """Whether the attempt under way was claimed in a file."""
        return hot.lease is not None and hot.lease == seal(self.lease_of(hot))

    def _stem(self, task_id: TaskId) -> str:
        return mint(self._ledger.store.secret, asked(self._ledger.workspace, "loki", task_id), 1)[0]

    async def claim(self, task_id: TaskId, agent: str) -> Hot:
        """Lease the task to whom a file names. `IllegalTransition` where it is not ready."""

        async def decide() -> tuple[ChangeSet, Hot]:
            hot, now = await self._ledger.load(task_id), self._ledger.now()
            change = transitions.claim(
                hot,
                agent=AgentId(agent),
                runtime=None,
                lease=seal_stem(self._stem(task_id)),
                circuit=await self._circuit(hot),
                reserved=MicroUsd(0),
                start=True,
                now=now,
            )
            taken = Spend(hot.workspace, slots_ceiling(agent), 1)
            return ChangeSet(changes=(change,), spends=(taken,), at=now), change.after

        return await self._ledger.commit(decide)

    async def _circuit(self, hot: Hot) -> int:
        breaker = (await self._ledger.configuration.fresh()).breaker(await self._ledger.type_of(hot))
        return breaker.generation & ~1  # even: an attempt of a file is no probe

    async def fail(self, task_id: TaskId, error: str, *, dies: bool, wake_at: Micros | None = None) -> Hot:
        """End the attempt as a failure of the past."""

        async def decide() -> tuple[ChangeSet, Hot]:
            hot, now = await self._ledger.load(task_id), self._ledger.now()
            if not self.is_held(hot):
                raise IllegalTransition(hot.id, hot.status, "fail")
            follow_up = FollowUp.BURY if dies else FollowUp.RETRY
            decision = Decision(follow_up, FAILED, Micros(max(wake_at or now, now)), counted=True)
            circuit = (await self._ledger.configuration.fresh()).breaker(await self._ledger.type_of(hot))
            failure = Failure(reason=FAILED, error=error)
            failed = outcomes.failed(hot, decision, failure, Report("fail", ""), circuit=circuit, now=now)
            return failed._replace(outbox=()), failed.changes[0].after

        return await self._ledger.commit(decide)

    async def wake(self, task_id: TaskId) -> None:
        """End the wait after a failure that was followed by another one."""

        async def decide() -> tuple[ChangeSet | None, None]:
            hot, now = await self._ledger.load(task_id), self._ledger.now()
            if hot.status is not Status.RETRYING:
                return None, None
            return ChangeSet(changes=(transitions.promote(hot, now=now),), at=now), None

        await self._ledger.commit(decide)
