"""The same yard for callers without an event loop: every call waits for its answer.

One thread runs the loop, and calls are forwarded to it. Each verb has the types of the verb that it waits for, and a
test holds the two together.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from taskyard.core.units import Micros
from taskyard.features.a2a.service import A2A
from taskyard.features.agents.runtimes import Runtimes
from taskyard.features.agents.service import Agents
from taskyard.features.approvals.service import Approvals
from taskyard.features.artifacts.service import Artifacts
from taskyard.features.audit.service import Audit
from taskyard.features.board.service import Boards
from taskyard.features.breakers.service import Breakers
from taskyard.features.budgets.service import Budgets
from taskyard.features.cutovers.service import Cutovers
from taskyard.features.dags.service import Dags
from taskyard.features.dead_letters.service import DeadLetters
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
from taskyard.features.tokens.service import Tokens
from taskyard.features.triggers.service import Triggers
from taskyard.features.variants.service import Variants
from taskyard.portal import Portal, Waits
from taskyard.yard import AttemptVerbs, TaskVerbs, Yard


class SyncYard:
    """A yard whose calls wait. `with taskyard.connect_sync() as yard: yard.enqueue("code")`."""

    def __init__(self, portal: Portal, yard: Yard) -> None:
        self._portal = portal
        self._yard = yard
        wait = Waits(portal, yard.result)
        self.enqueue = wait(yard.enqueue)
        self.enqueue_many = wait(yard.enqueue_many)
        self.submit = wait(yard.submit)
        self.get = wait(yard.get)
        self.result = wait(yard.result)
        self.find = wait(yard.find)
        self.why = wait(yard.why)
        self.claim = wait(yard.claim)
        self.start = wait(yard.start)
        self.heartbeat = wait(yard.heartbeat)
        self.progress = wait(yard.progress)
        self.complete = wait(yard.complete)
        self.fail = wait(yard.fail)
        self.release = wait(yard.release)
        self.cancel = wait(yard.cancel)
        self.rerun = wait(yard.rerun)
        self.signal = wait(yard.signal)
        self.events = wait(yard.events)
        self.tail = wait.iterate(yard.tail)
        self.mark = wait(yard.mark)
        self.changed = wait(yard.changed)
        self.verify = wait(yard.verify)
        self.health = wait(yard.health)
        self.sweep = wait(yard.sweep)
        self._name(yard, wait)

    def _name(self, yard: Yard, wait: Waits) -> None:
        self.tasks = SyncTasks(yard.tasks, wait)
        self.attempts = SyncAttempts(yard.attempts, wait)
        self.agents = SyncAgents(yard.agents, wait)
        self.approvals = SyncApprovals(yard.approvals, wait)
        self.artifacts = SyncArtifacts(yard.artifacts, wait)
        self.audit = SyncAudit(yard.audit, wait)
        self.board = SyncBoards(yard.board, wait)
        self.breakers = SyncBreakers(yard.breakers, wait)
        self.budgets = SyncBudgets(yard.budgets, wait)
        self.dags = SyncDags(yard.dags, wait)
        self.dead_letters = SyncDeadLetters(yard.dead_letters, wait)
        self.cutovers = SyncCutovers(yard.cutovers, wait)
        self.handles = SyncHandles(yard.handles, wait)
        self.a2a = SyncA2A(yard.a2a, wait)
        self.inbox = SyncInbox(yard.inbox, wait)
        self.memory = SyncMemory(yard.memory, wait)
        self.scores = SyncScores(yard.scores, wait)
        self.variants = SyncVariants(yard.variants, wait)
        self.notifications = SyncNotifications(yard.notifications, wait)
        self.overview = SyncOverviews(yard.overview, wait)
        self.presets = SyncPresets(yard.presets, wait)
        self.provider_batches = SyncProviderBatches(yard.provider_batches, wait)
        self.queues = SyncQueues(yard.queues, wait)
        self.reports = SyncReports(yard.reports, wait)
        self.runtimes = SyncRuntimes(yard.runtimes, wait)
        self.saved_views = SyncSavedViews(yard.saved_views, wait)
        self.schedules = SyncSchedules(yard.schedules, wait)
        self.streams = SyncStreams(yard.streams, wait)
        self.subagents = SyncSubagents(yard.subagents, wait)
        self.tokens = SyncTokens(yard.tokens, wait)
        self.triggers = SyncTriggers(yard.triggers, wait)

    @property
    def workspace(self) -> str:
        return self._yard.workspace

    def now(self) -> Micros:
        return self._yard.now()

    def __enter__(self) -> Self:
        self._portal.call(self._yard.open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._portal.call(self._yard.close())
        self._portal.close()


class SyncTasks:
    def __init__(self, tasks: TaskVerbs, wait: Waits) -> None:
        self.count = wait(tasks.count)
        self.rows = wait(tasks.rows)
        self.relations = wait(tasks.relations)
        self.suggest = wait(tasks.suggest)
        self.history = wait(tasks.history)
        self.stats = wait(tasks.stats)
        self.inputs = wait(tasks.inputs)
        self.set_priority = wait(tasks.set_priority)
        self.spawn = wait(tasks.spawn)
        self.children = wait(tasks.children)
        self.bulk = wait(tasks.bulk)
        self.rerun_subject = wait(tasks.rerun_subject)
        self.enqueue_in = wait(tasks.enqueue_in)


class SyncAttempts:
    def __init__(self, attempts: AttemptVerbs, wait: Waits) -> None:
        self.claim_marked = wait(attempts.claim_marked)
        self.wait_for_work = wait(attempts.wait_for_work)
        self.claim_for_runtime = wait(attempts.claim_for_runtime)
        self.heartbeat_many = wait(attempts.heartbeat_many)
        self.check_leases = wait(attempts.check_leases)
        self.complete_many = wait(attempts.complete_many)
        self.fail_many = wait(attempts.fail_many)
        self.checkpoint = wait(attempts.checkpoint)
        self.checkpoints = wait(attempts.checkpoints)
        self.steps = wait(attempts.steps)
        self.message = wait(attempts.message)
        self.pin_session = wait(attempts.pin_session)
        self.sleep = wait(attempts.sleep)
        self.snooze = wait(attempts.snooze)
        self.wait_for = wait(attempts.wait_for)
        self.ask = wait(attempts.ask)


class SyncAgents:
    def __init__(self, agents: Agents, wait: Waits) -> None:
        self.drain = wait(agents.drain)
        self.get = wait(agents.get)
        self.heartbeat = wait(agents.heartbeat)
        self.list = wait(agents.list)
        self.register = wait(agents.register)
        self.remove = wait(agents.remove)
        self.resume = wait(agents.resume)
        self.set_budget = wait(agents.set_budget)
        self.sign_off = wait(agents.sign_off)


class SyncApprovals:
    def __init__(self, approvals: Approvals, wait: Waits) -> None:
        self.answer = wait(approvals.answer)
        self.get = wait(approvals.get)
        self.list = wait(approvals.list)
        self.signal = wait(approvals.signal)


class SyncArtifacts:
    def __init__(self, artifacts: Artifacts, wait: Waits) -> None:
        self.get = wait(artifacts.get)
        self.list = wait(artifacts.list)
        self.put = wait(artifacts.put)
        self.read = wait.iterate(artifacts.read)
        self.remove = wait(artifacts.remove)


class SyncAudit:
    def __init__(self, audit: Audit, wait: Waits) -> None:
        self.list = wait(audit.list)
        self.policy = wait(audit.policy)
        self.set_policy = wait(audit.set_policy)


class SyncBoards:
    def __init__(self, board: Boards, wait: Waits) -> None:
        self.show = wait(board.show)


class SyncBreakers:
    def __init__(self, breakers: Breakers, wait: Waits) -> None:
        self.close = wait(breakers.close)
        self.list = wait(breakers.list)
        self.open = wait(breakers.open)
        self.set_policy = wait(breakers.set_policy)


class SyncBudgets:
    def __init__(self, budgets: Budgets, wait: Waits) -> None:
        self.report = wait(budgets.report)
        self.set = wait(budgets.set)
        self.show = wait(budgets.show)
        self.spending = wait(budgets.spending)


class SyncDags:
    def __init__(self, dags: Dags, wait: Waits) -> None:
        self.add = wait(dags.add)
        self.estimate = wait(dags.estimate)
        self.cancel = wait(dags.cancel)
        self.get = wait(dags.get)
        self.list = wait(dags.list)
        self.page = wait(dags.page)
        self.set_budget = wait(dags.set_budget)
        self.set_limit = wait(dags.set_limit)
        self.submit = wait(dags.submit)
        self.tasks = wait(dags.tasks)


class SyncDeadLetters:
    def __init__(self, dead_letters: DeadLetters, wait: Waits) -> None:
        self.list = wait(dead_letters.list)
        self.resolve = wait(dead_letters.resolve)
        self.reviews = wait(dead_letters.reviews)


class SyncCutovers:
    def __init__(self, cutovers: Cutovers, wait: Waits) -> None:
        self.get = wait(cutovers.get)
        self.list = wait(cutovers.list)
        self.move = wait(cutovers.move)
        self.remove = wait(cutovers.remove)
        self.report = wait(cutovers.report)
        self.start = wait(cutovers.start)


class SyncA2A:
    def __init__(self, a2a: A2A, wait: Waits) -> None:
        self.publish = wait(a2a.publish)
        self.list = wait(a2a.list)
        self.unpublish = wait(a2a.unpublish)
        self.share = wait(a2a.share)
        self.task = wait(a2a.task)
        self.tasks = wait(a2a.tasks)
        self.send = wait(a2a.send)
        self.set_push = wait(a2a.set_push)
        self.pushes = wait(a2a.pushes)
        self.remove_push = wait(a2a.remove_push)


class SyncHandles:
    def __init__(self, handles: Handles, wait: Waits) -> None:
        self.create = wait(handles.create)
        self.get = wait(handles.get)


class SyncInbox:
    def __init__(self, inbox: Inboxes, wait: Waits) -> None:
        self.clear = wait(inbox.clear)
        self.consume = wait(inbox.consume)
        self.list = wait(inbox.list)
        self.peek = wait(inbox.peek)
        self.put = wait(inbox.put)
        self.take = wait(inbox.take)


class SyncProviderBatches:
    """`yard.provider_batches`."""

    def __init__(self, batches: ProviderBatches, wait: Waits) -> None:
        self.join = wait(batches.join)
        self.gather = wait(batches.gather)
        self.outstanding = wait(batches.outstanding)
        self.sent = wait(batches.sent)
        self.collect = wait(batches.collect)
        self.list = wait(batches.list)
        self.get = wait(batches.get)


class SyncScores:
    def __init__(self, scores: Scores, wait: Waits) -> None:
        self.add = wait(scores.add)
        self.list = wait(scores.list)
        self.report = wait(scores.report)


class SyncVariants:
    def __init__(self, variants: Variants, wait: Waits) -> None:
        self.list = wait(variants.list)
        self.set = wait(variants.set)


class SyncMemory:
    def __init__(self, memory: Memory, wait: Waits) -> None:
        self.agent_events = wait(memory.agent_events)
        self.catch_up = wait(memory.catch_up)
        self.embedding_jobs = wait(memory.embedding_jobs)
        self.policy = wait(memory.policy)
        self.search = wait(memory.search)
        self.set_policy = wait(memory.set_policy)
        self.state = wait(memory.state)


class SyncNotifications:
    def __init__(self, notifications: Notifications, wait: Waits) -> None:
        self.callback_secret = wait(notifications.callback_secret)
        self.deliveries = wait(notifications.deliveries)
        self.dismiss = wait(notifications.dismiss)
        self.list = wait(notifications.list)
        self.remove = wait(notifications.remove)
        self.resend = wait(notifications.resend)
        self.set = wait(notifications.set)
        self.try_out = wait(notifications.try_out)


class SyncOverviews:
    def __init__(self, overview: Overviews, wait: Waits) -> None:
        self.figures = wait(overview.figures)
        self.series = wait(overview.series)


class SyncPresets:
    def __init__(self, presets: Presets, wait: Waits) -> None:
        self.adopt = wait(presets.adopt)
        self.current = wait(presets.current)
        self.set = wait(presets.set)


class SyncQueues:
    def __init__(self, queues: Queues, wait: Waits) -> None:
        self.list = wait(queues.list)
        self.pause = wait(queues.pause)
        self.resume = wait(queues.resume)
        self.set_preset = wait(queues.set_preset)
        self.set_report_policy = wait(queues.set_report_policy)
        self.throttles = wait(queues.throttles)
        self.lift_throttle = wait(queues.lift_throttle)


class SyncReports:
    def __init__(self, reports: Reports, wait: Waits) -> None:
        self.make = wait(reports.make)


class SyncRuntimes:
    def __init__(self, runtimes: Runtimes, wait: Waits) -> None:
        self.heartbeat = wait(runtimes.heartbeat)
        self.list = wait(runtimes.list)
        self.orphans = wait(runtimes.orphans)
        self.register = wait(runtimes.register)


class SyncSavedViews:
    def __init__(self, saved_views: SavedViews, wait: Waits) -> None:
        self.save = wait(saved_views.save)
        self.list = wait(saved_views.list)
        self.remove = wait(saved_views.remove)


class SyncSchedules:
    def __init__(self, schedules: Schedules, wait: Waits) -> None:
        self.add = wait(schedules.add)
        self.fires = wait(schedules.fires)
        self.get = wait(schedules.get)
        self.list = wait(schedules.list)
        self.pause = wait(schedules.pause)
        self.preview = wait(schedules.preview)
        self.remove = wait(schedules.remove)
        self.resume = wait(schedules.resume)
        self.run = wait(schedules.run)


class SyncStreams:
    def __init__(self, streams: Streams, wait: Waits) -> None:
        self.append = wait(streams.append)
        self.append_many = wait(streams.append_many)
        self.follow = wait.iterate(streams.follow)
        self.page = wait(streams.page)


class SyncSubagents:
    def __init__(self, subagents: Subagents, wait: Waits) -> None:
        self.get = wait(subagents.get)
        self.list = wait(subagents.list)
        self.spawn = wait(subagents.spawn)
        self.start = wait(subagents.start)
        self.transcript = wait(subagents.transcript)


class SyncTokens:
    def __init__(self, tokens: Tokens, wait: Waits) -> None:
        self.create = wait(tokens.create)
        self.grant = wait(tokens.grant)
        self.list = wait(tokens.list)
        self.revoke = wait(tokens.revoke)


class SyncTriggers:
    def __init__(self, triggers: Triggers, wait: Waits) -> None:
        self.add = wait(triggers.add)
        self.fire = wait(triggers.fire)
        self.fires = wait(triggers.fires)
        self.get = wait(triggers.get)
        self.list = wait(triggers.list)
        self.pause = wait(triggers.pause)
        self.remove = wait(triggers.remove)
        self.resume = wait(triggers.resume)
        self.rotate = wait(triggers.rotate)
