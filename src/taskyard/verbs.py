"""The features of a yard that its users see, whoever carries them out."""

from __future__ import annotations

from taskyard.features.a2a.service import A2A
from taskyard.features.agents.runtimes import Runtimes
from taskyard.features.agents.service import Agents
from taskyard.features.approvals.questions import Questions
from taskyard.features.approvals.service import Approvals
from taskyard.features.artifacts.service import Artifacts
from taskyard.features.attempts.claims import Claims
from taskyard.features.attempts.conversations import Conversations
from taskyard.features.attempts.endings.completions import Completions
from taskyard.features.attempts.endings.failures import Failures
from taskyard.features.attempts.notes import Notes
from taskyard.features.attempts.suspension import Suspension
from taskyard.features.audit.service import Audit
from taskyard.features.board.service import Boards
from taskyard.features.breakers.service import Breakers
from taskyard.features.budgets.service import Budgets
from taskyard.features.cutovers.service import Cutovers
from taskyard.features.dags.service import Dags
from taskyard.features.dead_letters.service import DeadLetters
from taskyard.features.events.service import Events
from taskyard.features.handles.service import Handles
from taskyard.features.inbox.service import Inboxes
from taskyard.features.memory.service import Memory
from taskyard.features.notifications.service import Notifications
from taskyard.features.overview.service import Overviews
from taskyard.features.provider_batches.service import ProviderBatches
from taskyard.features.queues.presets import Presets
from taskyard.features.queues.service import Queues
from taskyard.features.reports.service import Reports
from taskyard.features.saved_views.service import SavedViews
from taskyard.features.schedules.service import Schedules
from taskyard.features.scores.service import Scores
from taskyard.features.streams.service import Streams
from taskyard.features.subagents.service import Subagents
from taskyard.features.tasks.bulk import Bulk
from taskyard.features.tasks.cancellation import Cancellation
from taskyard.features.tasks.creation.arrivals import Arrivals
from taskyard.features.tasks.creation.children import Children
from taskyard.features.tasks.creation.in_transaction import ExternalTransactions
from taskyard.features.tasks.creation.reruns import Reruns
from taskyard.features.tasks.lookup.inputs import Inputs
from taskyard.features.tasks.lookup.queries import Queries
from taskyard.features.tasks.lookup.results import Results
from taskyard.features.tasks.lookup.why import Explanations
from taskyard.features.tasks.priorities import Priorities
from taskyard.features.tokens.service import Tokens
from taskyard.features.triggers.service import Triggers
from taskyard.features.variants.service import Variants
from taskyard.features.verify.health import Health
from taskyard.features.verify.service import Verification


class Verbs:
    """What a host has for a yard to bind. A local one has more, for itself; see `workspace`."""

    a2a: A2A
    agents: Agents
    approvals: Approvals
    arrivals: Arrivals
    artifacts: Artifacts
    audit: Audit
    board: Boards
    breakers: Breakers
    budgets: Budgets
    bulk: Bulk
    cancellation: Cancellation
    children: Children
    claims: Claims
    completions: Completions
    conversations: Conversations
    dags: Dags
    dead_letters: DeadLetters
    events: Events
    explanations: Explanations
    external_transactions: ExternalTransactions
    failures: Failures
    cutovers: Cutovers
    handles: Handles
    health: Health
    inbox: Inboxes
    inputs: Inputs
    memory: Memory
    scores: Scores
    variants: Variants
    notes: Notes
    notifications: Notifications
    overview: Overviews
    presets: Presets
    provider_batches: ProviderBatches
    priorities: Priorities
    queries: Queries
    questions: Questions
    queues: Queues
    reports: Reports
    reruns: Reruns
    results: Results
    runtimes: Runtimes
    saved_views: SavedViews
    schedules: Schedules
    streams: Streams
    subagents: Subagents
    suspension: Suspension
    tokens: Tokens
    triggers: Triggers
    verification: Verification
