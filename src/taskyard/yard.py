"""The yard: every use case over one store and one workspace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from math import inf
from time import monotonic
from types import TracebackType
from typing import Self

from taskyard.core.claiming import Pace
from taskyard.core.errors import TaskyardError
from taskyard.core.units import Micros
from taskyard.ledger.options import Options
from taskyard.outbox import OutboxRunner
from taskyard.stores.contract import Store
from taskyard.sweeper import Sweeper
from taskyard.workspaces import Workspaces

logger = logging.getLogger("taskyard")
SWEEP_EVERY = 1.0  # seconds
SWEPT_LATELY = 5.0


class Yard:
    """A durable queue of work for agents.

    Use it as an async context manager: `async with taskyard.connect() as yard`. While it is open it sweeps every second
    (leases, delays, housekeeping), unless it was made with `sweeps=False`.
    """

    def __init__(self, store: Store, options: Options, workspaces: Workspaces | None = None) -> None:  # noqa: PLR0915 - one for each verb
        self.store = store
        self.options = options
        self.workspace = options.workspace
        self.workspaces = workspaces or Workspaces(store, options)
        self.features = features = self.workspaces.of(options.workspace)
        self.sweeper = Sweeper(features, self.workspaces.of)
        self._outbox = OutboxRunner(self.sweeper, features, self.workspaces.of)
        self._keepers: list[asyncio.Task[None]] = []
        self._swept_at = -inf  # by `monotonic`: when it last fell to this process to sweep
        self.sweep = self.sweeper.sweep
        self.run_errands = self._outbox.run

        self.breakers = features.breakers.list
        self.set_breaker_policy = features.breakers.set_policy
        self.open_breaker = features.breakers.open
        self.close_breaker = features.breakers.close
        self.put_artifact = features.artifacts.put
        self.artifact = features.artifacts.get
        self.artifacts = features.artifacts.list
        self.read_artifact = features.artifacts.read
        self.remove_artifact = features.artifacts.remove
        self.complete = features.completions.complete
        self.complete_many = features.completions.complete_many
        self.fail = features.failures.fail
        self.fail_many = features.failures.fail_many
        self.fail_attempt = features.failures.fail_attempt
        self.release = features.failures.release
        self.checkpoint = features.notes.checkpoint
        self.checkpoints = features.notes.checkpoints
        self.message = features.notes.message
        self.pin_session = features.conversations.pin_session
        self.claim = features.claims.claim
        self.claim_for_runtime = features.claims.claim_for_runtime
        self.start = features.claims.start
        self.heartbeat = features.claims.heartbeat
        self.heartbeat_many = features.claims.heartbeat_many
        self.check_leases = features.claims.check_leases
        self.progress = features.claims.progress
        self.sleep = features.suspension.sleep
        self.snooze = features.suspension.snooze
        self.wait_for = features.suspension.wait_for
        self.set_preset = features.presets.set
        self.adopt_preset = features.presets.adopt
        self.get = features.results.get
        self.details = features.results.details
        self.result = features.results.result
        self.enqueue = features.arrivals.enqueue
        self.enqueue_many = features.arrivals.enqueue_many
        self.enqueue_in = features.external_transactions.enqueue_in
        self.cancel = features.cancellation.cancel
        self.finish_cascade = features.cancellation.finish_cascade
        self.history = features.queries.history
        self.find = features.queries.find
        self.rows = features.queries.rows
        self.costs_of = features.queries.costs_of
        self.count = features.queries.count
        self.total = features.queries.total
        self.relations = features.queries.relations
        self.stats = features.queries.stats
        self.inputs = features.inputs.of
        self.set_priority = features.priorities.set
        self.rerun = features.reruns.rerun
        self.rerun_subject = features.reruns.rerun_subject
        self.spawn = features.children.spawn
        self.children = features.children.of
        self.why = features.explanations.why
        self.submit = features.dags.submit
        self.add = features.dags.add
        self.dag = features.dags.get
        self.tasks_of = features.dags.tasks
        self.dags = features.dags.list
        self.cancel_dag = features.dags.cancel
        self.set_dag_budget = features.dags.set_budget
        self.set_dag_limit = features.dags.set_limit
        self.signal = features.approvals.signal
        self.approvals = features.approvals.list
        self.dead_letters = features.dead_letters.list
        self.reviews = features.dead_letters.reviews
        self.resolve = features.dead_letters.resolve
        self.queues = features.queues.list
        self.pause_queue = features.queues.pause
        self.resume_queue = features.queues.resume
        self.set_queue_preset = features.queues.set_preset
        self.set_report_policy = features.queues.set_report_policy
        self.waiting_by_tier = features.queues.waiting_by_tier
        self.throttles = features.queues.throttles
        self.register = features.agents.register
        self.drain_agent = features.agents.drain
        self.resume_agent = features.agents.resume
        self.sign_off_agent = features.agents.sign_off
        self.set_agent_budget = features.agents.set_budget
        self.remove_agent = features.agents.remove
        self.agents = features.agents.list
        self.agent = features.agents.get
        self.agent_heartbeat = features.agents.heartbeat
        self.runtimes = features.runtimes.list
        self.register_runtime = features.runtimes.register
        self.runtime_heartbeat = features.runtimes.heartbeat
        self.orphans = features.runtimes.orphans
        self.metrics = features.metrics.read
        self.settings = features.budgets.show
        self.set_budget = features.budgets.set
        self.preset = features.budgets.preset
        self.spending = features.budgets.spending
        self.spend_report = features.budgets.report
        self.add_schedule = features.schedules.add
        self.schedules = features.schedules.list
        self.schedule = features.schedules.get
        self.schedule_fires = features.schedules.fires
        self.pause_schedule = features.schedules.pause
        self.resume_schedule = features.schedules.resume
        self.remove_schedule = features.schedules.remove
        self.run_schedule = features.schedules.run
        self.add_trigger = features.triggers.add
        self.triggers = features.triggers.list
        self.trigger = features.triggers.get
        self.trigger_fires = features.triggers.fires
        self.pause_trigger = features.triggers.pause
        self.resume_trigger = features.triggers.resume
        self.remove_trigger = features.triggers.remove
        self.rotate_hook = features.triggers.rotate
        self.fire_trigger = features.triggers.fire
        self.hook_at = features.incoming_webhooks.hook_at
        self.receive = features.incoming_webhooks.receive
        self.transcript = features.transcripts.read
        self.inbox_enqueue = features.inbox.put
        self.inbox_dequeue = features.inbox.take
        self.inbox_consume = features.inbox.consume
        self.inbox_clear = features.inbox.clear
        self.inbox_peek = features.inbox.peek
        self.inboxes = features.inbox.list
        self.start_subagent = features.subagents.start
        self.spawn_subagent = features.subagents.spawn
        self.subagents = features.subagents.list
        self.subagent = features.subagents.get
        self.set_notifier = features.notifications.set
        self.notifiers = features.notifications.list
        self.remove_notifier = features.notifications.remove
        self.try_notifier = features.notifications.try_out
        self.notifications = features.notifications.deliveries
        self.resend_notification = features.notifications.resend
        self.dismiss_notification = features.notifications.dismiss
        self.begin_session = features.sessions.begin
        self.session_by = features.sessions.of
        self.end_session = features.sessions.end
        self.create_token = features.tokens.create
        self.grant = features.tokens.grant
        self.tokens = features.tokens.list
        self.revoke_token = features.tokens.revoke
        self.known_by = features.tokens.known_by
        self.has_tokens = features.tokens.exist
        self.agent_type = features.permissions.agent_type
        self.is_addressed = features.permissions.is_addressed
        self.holders = features.permissions.holders
        self.lease_holders = features.permissions.lease_holders
        self.readable_by = features.permissions.readable_by
        self.events = features.events.events
        self.tail = features.events.tail
        self.mark = features.events.mark
        self.changed = features.events.changed
        self.overview = features.overview.figures
        self.series = features.overview.series
        self.verify = features.verification.verify
        self.health = features.health.report
        self.note_watcher = features.health.note_watcher
        self.act_on_all = features.bulk.act

    @property
    def pace(self) -> Pace:
        return self.store.pace

    @property
    def sweeps(self) -> bool:
        """Whether this process keeps the yard swept."""
        return self.options.sweeps

    def now(self) -> Micros:
        return self.store.now()

    def beside(self, workspace: str) -> Yard:
        """Another workspace of the same store. This yard sweeps for it."""
        return Yard(self.store, replace(self.options, workspace=workspace, preset=None, sweeps=False), self.workspaces)

    def twin(self) -> Self | None:
        """Another connection to the same yard, for another thread's loop; None where there can be none."""
        store = self.store.twin()
        return (
            None
            if store is None
            else type(self)(store, replace(self.options, preset=None, retention_days=None, sweeps=False))
        )

    async def open(self) -> Self:
        await self.store.open()
        try:
            await self.features.presets.agree()
            await self.features.retention.agree()
        except BaseException:
            await self.store.close()
            raise
        if self.options.sweeps:
            # Apart, since housekeeping and what is outside of the store take their time, and leases do not wait for it.
            acts: dict[str, Callable[[], Awaitable[object]]] = {
                "sweep": self._sweep_time,
                "events": partial(self._house, partial(self.sweeper.look_back, at_length=True)),
                "pruning": partial(self._house, partial(self.sweeper.make_room, at_length=True)),
                "outbox": self._outbox.run,
            }
            self._keepers = [
                asyncio.create_task(self._keep(act, name), name=f"taskyard {name}") for name, act in acts.items()
            ]
        return self

    async def close(self) -> None:
        for keeper in self._keepers:
            keeper.cancel()
        if self._keepers:
            await asyncio.wait(self._keepers)
        self._keepers = []
        await self.workspaces.close()
        await self.store.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _sweep_time(self) -> None:
        if await self.sweeper.begin():
            self._swept_at = monotonic()
            await self.sweeper.pass_time()

    async def _house(self, act: Callable[[], Awaitable[int]]) -> None:
        """Only where this process sweeps: the others need not ask whose duty it is."""
        if monotonic() - self._swept_at < SWEPT_LATELY:
            await act()

    async def _keep(self, act: Callable[[], Awaitable[object]], name: str) -> None:
        while True:
            try:
                await act()
            except TaskyardError as error:
                # The next time finds what this one left; a store that is away comes back or its users hear of it.
                logger.warning("%s failed: %s", name, error)
            await asyncio.sleep(SWEEP_EVERY)
