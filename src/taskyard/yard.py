"""The yard: one class, whether its verbs are carried out here or by a server."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from taskyard.core.claiming import Pace
from taskyard.core.errors import InvalidInput
from taskyard.core.units import Micros
from taskyard.host import NEEDS_THE_STORE, Host, LocalHost
from taskyard.ledger.options import Options
from taskyard.stores.contract import Store
from taskyard.verbs import Verbs
from taskyard.workspace import Workspace


class Yard:
    """A durable queue of work for agents.

    Use it as an async context manager: `async with taskyard.connect() as yard`. While it is open it sweeps every second
    (leases, delays, housekeeping), unless it was made with `sweeps=False`.
    """

    def __init__(self, host: Host) -> None:
        self.host = host
        verbs = host.verbs
        self.enqueue = verbs.arrivals.enqueue
        self.enqueue_many = verbs.arrivals.enqueue_many
        self.submit = verbs.dags.submit
        self.get = verbs.results.get
        self.result = verbs.results.result
        self.find = verbs.queries.find
        self.why = verbs.explanations.why
        self.claim = verbs.claims.claim
        self.start = verbs.claims.start
        self.heartbeat = verbs.claims.heartbeat
        self.progress = verbs.claims.progress
        self.complete = verbs.completions.complete
        self.fail = verbs.failures.fail
        self.release = verbs.failures.release
        self.cancel = verbs.cancellation.cancel
        self.rerun = verbs.reruns.rerun
        self.signal = verbs.approvals.signal
        self.events = verbs.events.events
        self.tail = verbs.events.tail
        self.mark = verbs.events.mark
        self.changed = verbs.events.changed
        self.verify = verbs.verification.verify
        self.health = verbs.health.report
        self.sweep = host.sweep
        self._name(verbs)

    def _name(self, verbs: Verbs) -> None:
        """Whatever is about one noun, and not about every task, stands under that noun."""
        self.tasks = TaskVerbs(verbs)
        self.attempts = AttemptVerbs(verbs)
        self.a2a = verbs.a2a
        self.agents = verbs.agents
        self.approvals = verbs.approvals
        self.artifacts = verbs.artifacts
        self.audit = verbs.audit
        self.board = verbs.board
        self.breakers = verbs.breakers
        self.budgets = verbs.budgets
        self.dags = verbs.dags
        self.dead_letters = verbs.dead_letters
        self.cutovers = verbs.cutovers
        self.handles = verbs.handles
        self.inbox = verbs.inbox
        self.memory = verbs.memory
        self.scores = verbs.scores
        self.variants = verbs.variants
        self.notifications = verbs.notifications
        self.overview = verbs.overview
        self.presets = verbs.presets
        self.provider_batches = verbs.provider_batches
        self.queues = verbs.queues
        self.reports = verbs.reports
        self.runtimes = verbs.runtimes
        self.saved_views = verbs.saved_views
        self.schedules = verbs.schedules
        self.streams = verbs.streams
        self.subagents = verbs.subagents
        self.tokens = verbs.tokens
        self.triggers = verbs.triggers

    @property
    def workspace(self) -> str:
        return self.host.workspace

    @property
    def pace(self) -> Pace:
        return self.host.pace

    @property
    def sweeps(self) -> bool:
        """Whether this process keeps the yard swept."""
        return self.host.sweeps

    def now(self) -> Micros:
        return self.host.now()

    # What only a process with the store can do

    @property
    def on_store(self) -> LocalHost:
        if not isinstance(self.host, LocalHost):
            raise InvalidInput("url", NEEDS_THE_STORE)
        return self.host

    @property
    def local(self) -> Workspace:
        return self.on_store.verbs

    @property
    def store(self) -> Store:
        return self.on_store.store

    @property
    def options(self) -> Options:
        return self.on_store.options

    def beside(self, workspace: str) -> Yard:
        """Another workspace of the same store. This yard sweeps for it."""
        return Yard(self.on_store.beside(workspace))

    async def open(self) -> Self:
        await self.host.open()
        return self

    async def close(self) -> None:
        await self.host.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def twin_of(yard: Yard) -> Yard | None:
    """Another connection to the same yard, for another thread's loop; None where there can be none."""
    host = yard.host.twin()
    return None if host is None else Yard(host)


class TaskVerbs:
    """`yard.tasks`."""

    def __init__(self, verbs: Verbs) -> None:
        self.count = verbs.queries.count
        self.total = verbs.queries.total
        self.rows = verbs.queries.rows
        self.relations = verbs.queries.relations
        self.suggest = verbs.queries.suggest
        self.history = verbs.queries.history
        self.stats = verbs.queries.stats
        self.details = verbs.results.details
        self.inputs = verbs.inputs.of
        self.set_priority = verbs.priorities.set
        self.spawn = verbs.children.spawn
        self.children = verbs.children.of
        self.bulk = verbs.bulk.act
        self.rerun_subject = verbs.reruns.rerun_subject
        self.enqueue_in = verbs.external_transactions.enqueue_in


class AttemptVerbs:
    """`yard.attempts`."""

    def __init__(self, verbs: Verbs) -> None:
        self.claim_marked = verbs.claims.claim_marked
        self.wait_for_work = verbs.claims.wait_for_work
        self.claim_for_runtime = verbs.claims.claim_for_runtime
        self.heartbeat_many = verbs.claims.heartbeat_many
        self.check_leases = verbs.claims.check_leases
        self.complete_many = verbs.completions.complete_many
        self.fail_many = verbs.failures.fail_many
        self.checkpoint = verbs.notes.checkpoint
        self.checkpoints = verbs.notes.checkpoints
        self.steps = verbs.notes.steps
        self.message = verbs.notes.message
        self.pin_session = verbs.conversations.pin_session
        self.sleep = verbs.suspension.sleep
        self.snooze = verbs.suspension.snooze
        self.wait_for = verbs.suspension.wait_for
        self.ask = verbs.questions.ask


def local_yard(store: Store, options: Options) -> Yard:
    """A yard on a store."""
    return Yard(LocalHost(store, options))
