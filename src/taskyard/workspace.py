"""Every feature of one workspace, built in one place."""

from __future__ import annotations

from taskyard.features.a2a.asked_tasks import AskedTasks
from taskyard.features.a2a.push_feed import PushFeed
from taskyard.features.a2a.service import A2A
from taskyard.features.agents.lost_work import LostWork
from taskyard.features.agents.runtimes import Runtimes
from taskyard.features.agents.service import Agents
from taskyard.features.approvals.answer_links import AnswerLinks
from taskyard.features.approvals.questions import Questions
from taskyard.features.approvals.service import Approvals
from taskyard.features.artifacts.checks import ArtifactChecks
from taskyard.features.artifacts.orphans import OrphanObjects
from taskyard.features.artifacts.service import Artifacts
from taskyard.features.artifacts.visibility import Visibility
from taskyard.features.attempts.claims import Claims
from taskyard.features.attempts.conversations import Conversations
from taskyard.features.attempts.endings.completions import Completions
from taskyard.features.attempts.endings.expiry import Expiry
from taskyard.features.attempts.endings.failure_path import FailurePath
from taskyard.features.attempts.endings.failures import Failures
from taskyard.features.attempts.handed_out import HandedOut
from taskyard.features.attempts.keys import ReturnedKeys
from taskyard.features.attempts.notes import Notes
from taskyard.features.attempts.suspension import Suspension
from taskyard.features.attempts.validation.validators import Validators
from taskyard.features.audit.audit_feed import AuditFeed
from taskyard.features.audit.service import Audit
from taskyard.features.board.service import Boards
from taskyard.features.breakers.service import Breakers
from taskyard.features.breakers.trips import BreakerTrips
from taskyard.features.budgets.service import Budgets
from taskyard.features.cutovers.service import Cutovers
from taskyard.features.dags.estimates import Estimates
from taskyard.features.dags.lifecycle import Lifecycle
from taskyard.features.dags.service import Dags
from taskyard.features.dead_letters.reviews import Reviews
from taskyard.features.dead_letters.service import DeadLetters
from taskyard.features.events.service import Events
from taskyard.features.handles.service import Handles
from taskyard.features.inbox.checks import InboxChecks
from taskyard.features.inbox.inbox_feed import InboxFeed
from taskyard.features.inbox.service import Inboxes
from taskyard.features.inbox.transcripts import Transcripts
from taskyard.features.memory.recall import Recall
from taskyard.features.memory.recollection import Recollection
from taskyard.features.memory.service import Memory
from taskyard.features.metrics.service import MetricCounts
from taskyard.features.notifications.addressing import Addressing
from taskyard.features.notifications.callbacks import CallbackFeed
from taskyard.features.notifications.checks import NotificationChecks
from taskyard.features.notifications.delivery import Delivery
from taskyard.features.notifications.event_feed import NotificationFeed
from taskyard.features.notifications.receivers import Receivers
from taskyard.features.notifications.service import Notifications
from taskyard.features.overview.service import Overviews
from taskyard.features.provider_batches.service import ProviderBatches
from taskyard.features.queues.presets import Presets
from taskyard.features.queues.service import Queues
from taskyard.features.reports.service import Reports
from taskyard.features.retention.pruning import Pruning
from taskyard.features.retention.service import Retention
from taskyard.features.saved_views.service import SavedViews
from taskyard.features.schedules.agenda import Agenda
from taskyard.features.schedules.checks import FireChecks
from taskyard.features.schedules.schedule_firing import ScheduleFiring
from taskyard.features.schedules.service import Schedules
from taskyard.features.scores.service import Scores
from taskyard.features.sources.fire_log import FireLog
from taskyard.features.sources.from_template import TemplatedWork
from taskyard.features.sources.retention import FireRetention
from taskyard.features.streams.service import Streams
from taskyard.features.subagents.service import Subagents
from taskyard.features.tasks.bulk import Bulk
from taskyard.features.tasks.cancellation import Cancellation
from taskyard.features.tasks.creation.arrivals import Arrivals
from taskyard.features.tasks.creation.children import Children
from taskyard.features.tasks.creation.drafts import Drafts
from taskyard.features.tasks.creation.growth import Growth
from taskyard.features.tasks.creation.in_transaction import ExternalTransactions
from taskyard.features.tasks.creation.reruns import Reruns
from taskyard.features.tasks.lookup.inputs import Inputs
from taskyard.features.tasks.lookup.queries import Queries
from taskyard.features.tasks.lookup.results import Results
from taskyard.features.tasks.lookup.why import Explanations
from taskyard.features.tasks.priorities import Priorities
from taskyard.features.tasks.wakeups import WakeUps
from taskyard.features.tokens.permissions import Permissions
from taskyard.features.tokens.service import Tokens
from taskyard.features.tokens.sessions import Sessions
from taskyard.features.triggers.event_triggers import EventTriggers
from taskyard.features.triggers.incoming_webhooks import IncomingWebhooks
from taskyard.features.triggers.service import Triggers
from taskyard.features.triggers.trigger_firing import TriggerFiring
from taskyard.features.variants.service import Variants
from taskyard.features.verify.health import Health
from taskyard.features.verify.service import Verification
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import Options
from taskyard.ledger.queue import CommitQueue
from taskyard.stores.contract import Store
from taskyard.verbs import Verbs


class Workspace(Verbs):
    """The features of one workspace over its ledger. Each is given what it needs; none knows who else is here."""

    def __init__(self, store: Store, options: Options, queue: CommitQueue) -> None:  # noqa: PLR0915 - one statement for each feature
        self.ledger = ledger = Ledger(store, options, queue)
        self.handed_out = HandedOut()
        self.dag_lifecycle = Lifecycle(ledger)
        self.breaker_trips = BreakerTrips(ledger)
        self.breakers = Breakers(ledger)
        self.visibility = Visibility(ledger)
        self.orphan_objects = OrphanObjects(ledger, self.visibility)
        self.artifacts = Artifacts(ledger, self.visibility, self.orphan_objects)
        self.artifact_checks = ArtifactChecks(ledger, self.visibility)
        self.returned_keys = ReturnedKeys(ledger)
        self.failure_path = FailurePath(ledger, self.returned_keys)
        self.validators = Validators(ledger, self.breaker_trips, self.failure_path)
        self.completions = Completions(ledger, self.handed_out, self.breaker_trips, self.visibility, self.validators)
        self.failures = Failures(ledger, self.returned_keys, self.validators)
        self.expiry = Expiry(ledger, self.validators)
        self.streams = Streams(ledger)
        self.notes = Notes(ledger, self.artifacts, self.streams)
        self.conversations = Conversations(ledger)
        self.claims = Claims(ledger, self.handed_out, self.failures, self.streams, self.conversations)
        self.suspension = Suspension(ledger, self.notes)
        self.questions = Questions(ledger, self.suspension)
        self.provider_batches = ProviderBatches(ledger, self.suspension, self.notes, self.artifacts)
        self.presets = Presets(ledger)
        self.drafts = Drafts(ledger, self.presets)
        self.growth = Growth(ledger, self.drafts)
        self.results = Results(ledger)
        self.arrivals = Arrivals(ledger, self.drafts, self.growth, self.results)
        self.external_transactions = ExternalTransactions(ledger, self.drafts)
        self.reviews = Reviews(ledger)
        self.cancellation = Cancellation(ledger, self.dag_lifecycle, self.validators, self.reviews)
        self.wakeups = WakeUps(ledger, self.cancellation)
        self.queries = Queries(ledger)
        self.reports = Reports(ledger, self.queries)
        self.board = Boards(ledger, self.queries)
        self.recall = Recall(ledger)
        self.memory = Memory(ledger, self.recall)
        self.recollection = Recollection(ledger, self.recall, self.notes)
        self.inputs = Inputs(ledger, self.visibility, self.recollection)
        self.priorities = Priorities(ledger)
        self.reruns = Reruns(ledger, self.drafts, self.arrivals, self.cancellation)
        self.children = Children(ledger, self.suspension, self.drafts, self.growth)
        self.explanations = Explanations(ledger)
        self.estimates = Estimates(ledger, self.queries)
        self.dags = Dags(
            ledger, self.drafts, self.growth, self.results, self.cancellation, self.queries, self.estimates
        )
        self.approvals = Approvals(ledger, self.queries, self.visibility)
        self.answer_links = AnswerLinks(ledger, self.approvals)
        self.dead_letters = DeadLetters(ledger, self.dag_lifecycle, self.reviews, self.cancellation, self.queries)
        self.queues = Queues(ledger)
        self.lost_work = LostWork(ledger, self.failures)
        self.agents = Agents(ledger, self.lost_work)
        self.runtimes = Runtimes(ledger, self.lost_work)
        self.metrics = MetricCounts(ledger)
        self.budgets = Budgets(ledger, self.queries, self.metrics)
        self.templated_work = TemplatedWork(ledger, self.drafts, self.growth)
        self.fire_log = FireLog(ledger)
        self.agenda = Agenda(ledger)
        self.schedule_firing = ScheduleFiring(ledger, self.cancellation, self.dags, self.templated_work, self.agenda)
        self.schedules = Schedules(ledger, self.templated_work, self.fire_log, self.agenda, self.schedule_firing)
        self.trigger_firing = TriggerFiring(ledger, self.templated_work)
        self.triggers = Triggers(ledger, self.templated_work, self.fire_log, self.trigger_firing)
        self.incoming_webhooks = IncomingWebhooks(ledger, self.trigger_firing)
        self.event_triggers = EventTriggers(ledger, self.trigger_firing)
        self.fire_checks = FireChecks(ledger)
        self.transcripts = Transcripts(ledger)
        self.inbox_checks = InboxChecks(ledger)
        self.subagents = Subagents(ledger, self.notes, self.drafts, self.children, self.transcripts)
        self.asked_tasks = AskedTasks(ledger)
        self.notification_addressing = Addressing(ledger)
        self.notification_receivers = Receivers(ledger, self.asked_tasks)
        self.notification_delivery = Delivery(ledger, self.answer_links, self.notification_receivers)
        self.notifications = Notifications(
            ledger, self.notification_addressing, self.notification_receivers, self.notification_delivery
        )
        self.notification_feed = NotificationFeed(ledger)
        self.notification_checks = NotificationChecks(ledger)
        self.sessions = Sessions(ledger)
        self.tokens = Tokens(ledger, self.sessions)
        self.permissions = Permissions(ledger, self.visibility, self.inputs)
        self.retention = Retention(ledger)
        self.handles = Handles(ledger, self.retention)
        self.saved_views = SavedViews(ledger)
        self.scores = Scores(ledger)
        self.audit = Audit(ledger)
        self.variants = Variants(ledger)
        self.cutovers = Cutovers(ledger)
        self.push_feed = PushFeed(ledger, self.asked_tasks)
        self.pruning = Pruning(ledger, self.orphan_objects, self.metrics, self.transcripts, self.retention)
        self.events = Events(ledger)
        self.overview = Overviews(ledger, self.breakers, self.queries, self.queues, self.agents, self.budgets)
        self.verification = Verification(
            ledger, self.artifact_checks, self.metrics, self.fire_checks, self.inbox_checks, self.notification_checks
        )
        self.health = Health(ledger, self.memory, self.recall)
        self.bulk = Bulk(ledger, self.cancellation, self.queries, self.priorities, self.reruns, self.dead_letters)
        self.fire_retention = FireRetention(ledger, self.retention)
        self.inbox = Inboxes(ledger, self.transcripts, self.retention)
        self.a2a = A2A(ledger, self.handles, self.asked_tasks, self.approvals, self.inbox)
        self._listen()

    def _listen(self) -> None:
        """Whatever reacts to another feature is named here, and nowhere else.

        A contributor adds to a change set before it is committed, a follower acts after the commit. What follows the
        log, also after a crash, is named in `sweeper`.
        """
        self.ledger.ended = self.handed_out.let_go
        self.ledger.contributors += [InboxFeed(self.ledger.store), CallbackFeed(self.ledger.store), AuditFeed()]
        self.ledger.followers += [self.dag_lifecycle, self.breaker_trips]
        self.dag_lifecycle.on_end.append(self.event_triggers.dag_ended)

    async def close(self) -> None:
        """Let what is under way come to its end."""
        await self.events.close()
        await self.results.close()
        await self.streams.close()
