"""What time does to the yard: leases expire, delays end, ranks drift, old work is pruned, crashed steps are finished.

A sweep lists candidates, the core decides, the commit checks again. Two at once do no harm; one holder per duty is only
for economy.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import groupby

from taskyard.core import outcomes
from taskyard.core.changes import (
    ChangeSet,
    Committed,
    Event,
    Lift,
    StoredEvent,
    Touch,
)
from taskyard.core.clock_jump import TOLERANCE
from taskyard.core.dag import DagStatus
from taskyard.core.errors import IllegalTransition, LeaseLost, NotFound, StoreFull
from taskyard.core.identifiers import DAY_BLOCKER
from taskyard.core.record_kinds import RUNTIME
from taskyard.core.runtime import incarnation_of
from taskyard.core.task import FINAL, KEY_DEAD, DagId, Hot, Reason, RuntimeId, lone_dag, next_due
from taskyard.core.units import DAY, HOUR, SECOND, Micros
from taskyard.features.agents.rules import FORGOTTEN_AFTER
from taskyard.features.attempts.endings.losses import Losses
from taskyard.features.dags import walk
from taskyard.features.retention.pruning import PruneStep
from taskyard.features.retention.views import Swept
from taskyard.features.schedules.schedule_firing import ScheduleFiring
from taskyard.features.sources.retention import FireRetention
from taskyard.features.tasks.creation.drafts import rescored
from taskyard.ledger.ledger import pulse
from taskyard.workspace import Workspace

logger = logging.getLogger("taskyard")
BATCH = 500
EVERY = SECOND
GAP = Micros(30 * SECOND)  # no sweep for longer than this: the yard itself was away, and agents are not to blame
SILENT = Micros(75 * SECOND)
PRUNE_EVERY = Micros(10 * SECOND)
PRUNE_STREAMS_EVERY = Micros(60 * SECOND)
CASCADES_EVERY = Micros(60 * SECOND)
FOLLOW_EVERY = Micros(5 * SECOND)
PAGE = 1000  # events
PAGES_AT_ONCE = 5  # whose figures are stored together
MOST_ROUNDS = 4  # of so many pages, in one sweep
ALL_GRAPHS_EVERY = HOUR
FORGET_EVERY = HOUR


class Sweeper:
    """Sweeps one store, for all its workspaces."""

    def __init__(self, here: Workspace, workspace_of: Callable[[str], Workspace]) -> None:
        self._here = here
        self._ledger = here.ledger
        self._store = here.ledger.store
        self._workspace_of = workspace_of
        self._on_duty_until: dict[str, Micros] = {}

    async def sweep(self) -> Swept:
        """Do what is due now, in bounded steps. Call it every second, from as many processes as there are."""
        if not await self.begin():
            return Swept()
        swept = await self.pass_time()
        finished = await self.look_back(at_length=False)
        return swept._replace(finished=finished, pruned=await self.make_room(at_length=False))

    async def pass_time(self) -> Swept:
        """What may not wait: leases, delays, schedules, ranks."""
        expired, woken = await self.sweep_due()
        fired = await self._fire_unless_full()
        await self._transcribe_all()
        return Swept(
            expired=expired + await self._sweep_silent_runtimes(),
            woken=woken + await self._sweep_new_day(),
            rescored=await self._sweep_ranks(),
            fired=fired,
        )

    async def fire_schedules(self) -> int:
        """Fire what is due in every workspace."""
        return await self._here.schedule_firing.fire_all(self._firing_of)

    async def _fire_unless_full(self) -> int:
        try:
            return await self.fire_schedules()
        except StoreFull as full:
            logger.warning("schedules wait: %s", full)
            return 0

    async def look_back(self, *, at_length: bool) -> int:
        """Follow the events, and finish what was interrupted. At length: until all events are followed."""
        return (
            await self.on_duty("events", FOLLOW_EVERY, self.follow, at_length=at_length)
            + await self.on_duty("cascades", CASCADES_EVERY, self._finish_cascades)
            + await self.on_duty("graphs", ALL_GRAPHS_EVERY, self._settle_all)
            + await self.on_duty("inboxes", FORGET_EVERY, self._here.inbox.forget_old)
            + await self.on_duty("handles", FORGET_EVERY, self._here.handles.forget_pruned, at_length=at_length)
            + await self.on_duty("a2a", FORGET_EVERY, self._here.a2a.forget_pruned, at_length=at_length)
            + await self.on_duty("scores", FORGET_EVERY, self._here.scores.forget_pruned, at_length=at_length)
            + await self.on_duty(
                "batches", FORGET_EVERY, self._here.provider_batches.forget_pruned, at_length=at_length
            )
            + await self.on_duty("audit", FORGET_EVERY, self._here.audit.forget_old, at_length=at_length)
            + await self.on_duty("agents", FORGET_EVERY, self._forget_agents)
            + await self.on_duty(
                "fires", FORGET_EVERY, partial(self._here.fire_retention.forget_all, self._fire_retention_of)
            )
        )

    async def make_room(self, *, at_length: bool) -> int:
        """Prune. At length: until nothing is left that is old enough."""
        await self.on_duty("streams", PRUNE_STREAMS_EVERY, self._here.streams.prune)
        return await self.on_duty("prune", PRUNE_EVERY, self._here.pruning.prune, at_length=at_length)

    # Leases, delays, waits

    async def begin(self) -> bool:
        """Whether this sweep is ours to make.

        After the yard was away, every held lease gets one more of its length before it can expire. That comes before
        the duty is taken: whoever finds it taken finds the leases forgiven.
        """
        now = self._ledger.now()
        last = await self._store.duty("sweep")
        if last is not None and now - last > GAP:
            await self._store.touch([_forgiven(hot, now) for hot in await self._store.held() if hot.due_at is not None])
            # Nobody could be heard of meanwhile, so nobody was silent.
            await self._store.pulse(sorted(await self._store.pulses("runtime:")))
        return await self._store.take_duty("sweep", now, Micros(now + EVERY)) is not None

    async def sweep_due(self) -> tuple[int, int]:
        expired = woken = 0
        losses = Losses(self._store)
        for hot in await self._store.due(self._ledger.now(), BATCH):
            workspace = self._workspace_of(hot.workspace)
            try:
                if hot.status.is_held:
                    expired += await workspace.expiry.expire(hot, losses)
                else:
                    woken += await workspace.wakeups.wake(hot)
            except (LeaseLost, IllegalTransition, NotFound):
                continue  # it moved on while we were on the way, which is all that was wanted
            except StoreFull as full:
                logger.warning("%s stays as it is: %s", hot.id, full)  # others of these may make room
        return expired, woken

    def _firing_of(self, workspace: str) -> ScheduleFiring:
        return self._workspace_of(workspace).schedule_firing

    def _fire_retention_of(self, workspace: str) -> FireRetention:
        return self._workspace_of(workspace).fire_retention

    async def _sweep_silent_runtimes(self) -> int:
        now, failed = self._ledger.now(), 0
        heard = await self._store.pulses("runtime:")
        for record in await self._store.records("runtime"):
            started = RUNTIME.of(record)["started_at"]
            if now - heard.get(pulse("runtime", record.workspace, record.id), started) > SILENT:
                workspace = self._workspace_of(record.workspace)
                held = await workspace.lost_work.held_by(RuntimeId(record.id))
                failed += len(await workspace.lost_work.fail(held, Reason.RUNTIME_OFFLINE))
                if incarnation_of(record.id):  # no process comes back under its name, unless it only slept
                    await workspace.runtimes.forget_process(RuntimeId(record.id))
        return failed

    async def _sweep_new_day(self) -> int:
        """Yesterday's money has no hold on today's tasks."""
        now = self._ledger.now()
        midnight = Micros(now - now % DAY)

        async def lift() -> int:
            await self._here.metrics.forget_old_days()
            committed = await self._ledger.commit_set(ChangeSet(lifts=(Lift(DAY_BLOCKER),), at=now))
            return len(committed.readied) if isinstance(committed, Committed) else 0

        return await self.on_duty("day", Micros(midnight + DAY - now), lift)

    # Ranks

    async def _sweep_ranks(self) -> int:
        now = self._ledger.now()
        drifting = await self._store.drifting(now, BATCH)
        definitions = await self._store.definitions([hot.id for hot in drifting])
        rows = tuple(rescored(hot, definitions[hot.id], hot.height, now) for hot in drifting if hot.id in definitions)
        if rows:
            await self._ledger.commit_set(ChangeSet(rescores=rows, at=now))
        return len(rows)

    # Housekeeping

    async def _transcribe_all(self) -> None:
        """Write on what subagents at work have said, in every workspace."""
        for record in await self._store.records("transcript"):
            await self._workspace_of(record.workspace).transcripts.keep_up(record)

    async def _finish_cascades(self) -> int:
        """Those that were interrupted."""
        cascades = await self._store.records("cascade")
        for record in cascades:
            await self._workspace_of(record.workspace).cancellation.finish_cascade(record.id)
        return len(cascades)

    # What has happened

    async def follow(self) -> PruneStep:
        """Look at the events since the last time: finish what their writers did not live to finish, and count them."""
        settled = 0
        for _ in range(MOST_ROUNDS):
            number, is_more = await self._follow_pages()
            settled += number
            if not is_more:
                return PruneStep(settled)
        return PruneStep(settled, more=True)

    async def _follow_pages(self) -> PruneStep:
        """Some pages, whose figures are stored together."""
        settled, counting = 0, await self._here.metrics.begin()
        for _ in range(PAGES_AT_ONCE):
            events = await counting.read(PAGE)
            # DAGs are settled before their events are counted: if a process dies in between, the next sweep does both.
            settled += await self._settle_ended([stored.event for stored in events])
            if not events or not await self._hand_on(events):
                break
            await counting.add(events)
            if len(events) < PAGE:
                break
        else:
            return PruneStep(settled, more=await counting.store())
        await counting.store()
        return PruneStep(settled)

    async def _hand_on(self, events: Sequence[StoredEvent]) -> bool:
        """Let notifications and triggers follow these events; False where the store has no room for what they make."""
        by_workspace: dict[str, list[StoredEvent]] = {}
        for workspace, mine in groupby(events, key=lambda stored: stored.event.workspace):
            by_workspace.setdefault(workspace, []).extend(mine)
        try:
            for workspace, mine in sorted(by_workspace.items()):
                await self._workspace_of(workspace).notification_feed.follow([stored.event for stored in mine])
                await self._workspace_of(workspace).push_feed.follow(mine)
                await self._workspace_of(workspace).event_triggers.follow(mine)
        except StoreFull as full:
            logger.warning("triggers wait: %s", full)
            return False
        return True

    async def _settle_ended(self, events: Sequence[Event]) -> int:
        """Store how graphs ended whose last tasks ended here, where nobody has."""
        ended_dags = {event.dag_id for event in events if event.task_id is None}
        ended: dict[str, set[DagId]] = {}
        for event in events:
            dag_id = event.dag_id
            if dag_id is not None and dag_id not in ended_dags and event.status in FINAL and not _is_lone(event):
                ended.setdefault(event.workspace, set()).add(dag_id)
        settled = 0
        for workspace, dag_ids in ended.items():
            settled += await self._workspace_of(workspace).dag_lifecycle.settle_all(sorted(dag_ids))
        return settled + await self._settle_waiting_for([event for event in events if event.status in KEY_DEAD])

    async def _settle_waiting_for(self, failed: Sequence[Event]) -> int:
        """The same for graphs that wait for tasks of others which died or were cancelled here."""
        roots = await self._store.load(sorted({event.task_id for event in failed if event.task_id is not None}))
        needed = [hot for hot in roots.values() if hot.status in KEY_DEAD and outcomes.may_be_waited_for(hot)]
        settled = 0
        for workspace in sorted({hot.workspace for hot in needed}):
            mine = [hot for hot in needed if hot.workspace == workspace]
            for dag_id in sorted(await walk.waiting_dags(self._store, mine)):
                settled += await self._workspace_of(workspace).dag_lifecycle.settle(dag_id)
        return settled

    async def _settle_all(self) -> int:
        """The same for every graph that is kept, should one have escaped: seldom, since it reads them all."""
        settled = 0
        for record in await self._store.records("dag"):
            if not DagStatus(str(record.body["status"])).is_final:
                settled += await self._workspace_of(record.workspace).dag_lifecycle.settle(DagId(record.id))
        return settled

    async def _forget_agents(self) -> int:
        """Agents that are silent for long, hold nothing, and have nothing meant for them. What they spent is kept."""
        # Agents are read before their pulses: an agent that registers in between may have no pulse yet.
        known = await self._store.records("agent")
        heard, before = await self._store.pulses("agent:"), self._ledger.now() - FORGOTTEN_AFTER
        old = [record for record in known if heard.get(pulse("agent", record.workspace, record.id), 0) < before]
        return sum(
            [await self._workspace_of(record.workspace).agents.forget(record, "yard:sweep") for record in old[:BATCH]]
        )

    async def on_duty(
        self, name: str, every: Micros, act: Callable[[], Awaitable[PruneStep | int]], *, at_length: bool = False
    ) -> int:
        """Act if the duty falls to this process; at length, again at once while there is more, as long as it lasts.

        The store is not asked for a duty that this process has already, unless its clock has jumped back since.
        """
        now = self._ledger.now()
        until = Micros(now + every)
        is_done = now < self._on_duty_until.get(name, now) <= until + TOLERANCE
        if is_done or await self._store.take_duty(name, now, until) is None:
            return 0
        self._on_duty_until[name] = until
        done = 0
        while True:
            step = await act()
            number, more = step if isinstance(step, PruneStep) else (step, False)
            done += number
            if not (at_length and more and self._ledger.now() < until):
                return done


def _is_lone(event: Event) -> bool:
    """Whether the task has no graph, or one that was made around it: that one is left to the look at all of them."""
    return event.task_id is None or event.dag_id == lone_dag(event.task_id)


def _forgiven(hot: Hot, now: Micros) -> Touch:
    # Never earlier than before: a claim time may be longer than a lease.
    until = Micros(max(now + hot.lease_sec * SECOND, hot.lease_expires_at or now))
    return Touch(hot.id, hot.due_at or now, next_due(hot._replace(lease_expires_at=until)), until)
