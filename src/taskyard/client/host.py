"""What a yard runs on that a server has: a connection, and every verb over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taskyard.api import calls
from taskyard.client.a2a import RemoteA2A
from taskyard.client.agents import RemoteAgents, RemoteRuntimes
from taskyard.client.approvals import RemoteApprovals, RemoteQuestions
from taskyard.client.artifacts import RemoteArtifacts
from taskyard.client.attempts import (
    RemoteClaims,
    RemoteCompletions,
    RemoteConversations,
    RemoteFailures,
    RemoteNotes,
    RemoteSuspension,
)
from taskyard.client.audit import RemoteAudit
from taskyard.client.board import RemoteBoards
from taskyard.client.breakers import RemoteBreakers
from taskyard.client.budgets import RemoteBudgets
from taskyard.client.cutovers import RemoteCutovers
from taskyard.client.dags import RemoteDags
from taskyard.client.dead_letters import RemoteDeadLetters
from taskyard.client.events import RemoteEvents
from taskyard.client.handles import RemoteHandles
from taskyard.client.inbox import RemoteInbox
from taskyard.client.memory import RemoteMemory
from taskyard.client.notifications import RemoteNotifications
from taskyard.client.overview import RemoteOverviews
from taskyard.client.provider_batches import RemoteProviderBatches
from taskyard.client.queues import RemotePresets, RemoteQueues
from taskyard.client.reports import RemoteReports
from taskyard.client.saved_views import RemoteSavedViews
from taskyard.client.schedules import RemoteSchedules
from taskyard.client.scores import RemoteScores
from taskyard.client.streams import RemoteStreams
from taskyard.client.subagents import RemoteSubagents
from taskyard.client.tasks import (
    RemoteArrivals,
    RemoteBulk,
    RemoteCancellation,
    RemoteChildren,
    RemoteExplanations,
    RemoteExternalTransactions,
    RemoteInputs,
    RemotePriorities,
    RemoteQueries,
    RemoteReruns,
    RemoteResults,
)
from taskyard.client.tokens import RemoteTokens
from taskyard.client.triggers import RemoteTriggers
from taskyard.client.variants import RemoteVariants
from taskyard.client.verify import RemoteHealth, RemoteVerification
from taskyard.core.claiming import Pace
from taskyard.core.errors import InvalidInput
from taskyard.core.policy import other_preset
from taskyard.core.units import Micros
from taskyard.features.notifications.views import OutboxRun
from taskyard.features.retention.views import Swept
from taskyard.features.tokens.rules import Role
from taskyard.verbs import Verbs

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection


class RemoteVerbs(Verbs):
    def __init__(self, connection: Connection) -> None:  # noqa: PLR0915 - one statement for each feature
        self.artifacts = RemoteArtifacts(connection)
        self.inbox = RemoteInbox(connection)
        self.subagents = RemoteSubagents(connection)
        self.streams = streams = RemoteStreams(connection)
        self.events = RemoteEvents(connection)
        self.results = RemoteResults(connection)
        self.queries = RemoteQueries(connection)
        self.explanations = RemoteExplanations(connection)
        self.inputs = RemoteInputs(connection)
        self.arrivals = arrivals = RemoteArrivals(connection, self.results)
        self.external_transactions = RemoteExternalTransactions(connection)
        self.cancellation = RemoteCancellation(connection)
        self.reruns = RemoteReruns(connection)
        self.priorities = RemotePriorities(connection)
        self.bulk = RemoteBulk(connection)
        self.children = RemoteChildren(connection)
        self.notes = RemoteNotes(connection)
        self.claims = claims = RemoteClaims(connection)
        self.conversations = RemoteConversations(connection)
        self.completions = completions = RemoteCompletions(connection)
        self.failures = failures = RemoteFailures(connection)
        self.suspension = RemoteSuspension(connection)
        self.dead_letters = RemoteDeadLetters(connection)
        self.approvals = RemoteApprovals(connection)
        self.questions = RemoteQuestions(connection)
        self.dags = RemoteDags(connection, self.queries, self.results)
        self.a2a = RemoteA2A(connection)
        self.agents = RemoteAgents(connection)
        self.runtimes = RemoteRuntimes(connection)
        self.queues = RemoteQueues(connection)
        self.presets = RemotePresets(connection)
        self.provider_batches = RemoteProviderBatches(connection)
        self.audit = RemoteAudit(connection)
        self.board = RemoteBoards(connection)
        self.breakers = RemoteBreakers(connection)
        self.budgets = RemoteBudgets(connection)
        self.verification = RemoteVerification(connection)
        self.memory = RemoteMemory(connection)
        self.reports = RemoteReports(connection)
        self.saved_views = RemoteSavedViews(connection)
        self.scores = RemoteScores(connection)
        self.variants = RemoteVariants(connection)
        self.notifications = RemoteNotifications(connection)
        self.overview = RemoteOverviews(connection)
        self.schedules = RemoteSchedules(connection)
        self.triggers = RemoteTriggers(connection)
        self.cutovers = RemoteCutovers(connection)
        self.handles = RemoteHandles(connection)
        self.tokens = RemoteTokens(connection)
        self.health = RemoteHealth(connection)
        self._close = (arrivals.close, completions.close, failures.close, claims.close, streams.close)

    async def close(self) -> None:
        """Let what is on its way arrive."""
        await self.events.close()
        for close in self._close:
            await close()


class RemoteHost:
    """The workspace that a token is for. The servers keep it swept."""

    pace = Pace()
    sweeps = False  # the servers do

    def __init__(self, connection: Connection, workspace: str | None = None, preset: str | None = None) -> None:
        self.verbs = RemoteVerbs(connection)
        self.workspace = workspace or ""
        self._connection = connection
        self._wanted = workspace
        self._preset = preset

    def now(self) -> Micros:
        """The yard's time, as its last answer gave it."""
        return self._connection.now()

    async def role(self) -> Role:
        return Role((await self._connection.ask(calls.WHO))["role"])

    def twin(self) -> RemoteHost | None:
        return RemoteHost(self._connection.twin(), self._wanted)

    async def open(self) -> None:
        await self._connection.open()
        try:
            self.workspace = (await self._connection.ask(calls.CHANGED))["workspace"]
            if self._wanted not in (None, self.workspace):
                raise InvalidInput("workspace", f"is said by the token, and this one is for {self.workspace}")
            if self._preset is not None and (stored := await self.verbs.presets.current()) != self._preset:
                raise other_preset(stored, self.workspace)
        except BaseException:
            await self._connection.close()
            raise

    async def close(self) -> None:
        await self.verbs.close()
        await self._connection.close()

    async def sweep(self) -> Swept:
        """Nothing is left to do from here: every server sweeps, once a second."""
        return Swept()

    async def run_outbox(self) -> OutboxRun:
        """Nothing is left to do from here: every server does, once a second."""
        return OutboxRun()
