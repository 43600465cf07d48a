"""What time does to the yard: leases expire, delays end, ranks drift, old work is pruned, crashed steps are finished.

A sweep lists candidates, the core decides, the commit checks again. Two at once do no harm; one holder per duty is only
for economy.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from taskyard.core import dag as dags
from taskyard.core import outcomes, transitions
from taskyard.core.changes import (
    ChangeSet,
    Committed,
    Event,
    Expect,
    Lift,
    StoredEvent,
    Touch,
)
from taskyard.core.clock_jump import TOLERANCE
from taskyard.core.dag import DagStatus
from taskyard.core.errors import IllegalTransition, LeaseLost, NotFound, StoreFull
from taskyard.core.outcomes import BY_THE_YARD
from taskyard.core.runtime import incarnation_of
from taskyard.core.task import FINAL, KEY_DEAD, DagId, Failure, Hot, Reason, RuntimeId, Status, lone_dag, next_due
from taskyard.core.units import DAY, HOUR, SECOND, Micros
from taskyard.features.agents.rules import FORGOTTEN_AFTER
from taskyard.features.agents.service import Roster
from taskyard.features.attempts.losses import Losses
from taskyard.features.dags import walk
from taskyard.features.inbox.service import Inboxes
from taskyard.features.notifications.event_feed import Telling
from taskyard.features.retention.pruning import Pruning, Step
from taskyard.features.retention.views import Swept
from taskyard.features.sources.retention import Forgetting
from taskyard.features.tasks.drafts import rescored
from taskyard.ledger.ledger import pulse
from taskyard.ledger.options import Options
from taskyard.stores.contract import Store

logger = logging.getLogger("taskyard")
BATCH = 500
EVERY = SECOND
GAP = Micros(30 * SECOND)  # no sweep for longer than this: the yard itself was away, and agents are not to blame
SILENT = Micros(75 * SECOND)
PRUNE_EVERY = Micros(10 * SECOND)
CASCADES_EVERY = Micros(60 * SECOND)
FOLLOW_EVERY = Micros(5 * SECOND)
PAGE = 1000  # events
MOST_PAGES = 20  # that one sweep follows
ALL_GRAPHS_EVERY = HOUR
FORGET_EVERY = HOUR


class Sweeping(Forgetting, Roster, Pruning, Telling, Inboxes):
    def __init__(self, store: Store, options: Options) -> None:
        super().__init__(store, options)
        self._others: dict[str, Sweeping] = {}
        self._on_duty_until: dict[str, Micros] = {}

    async def sweep(self) -> Swept:
        """Do what is due now, in bounded steps. Call it every second, from as many processes as there are."""
        if not await self._begin():
            return Swept()
        swept = await self._pass_time()
        finished = await self._look_back(at_length=False)
        return swept._replace(finished=finished, pruned=await self._make_room(at_length=False))

    async def _pass_time(self) -> Swept:
        """What may not wait: leases, delays, schedules, ranks."""
        expired, woken = await self._sweep_due()
        fired = await self._fire_unless_full()
        await self._transcribe_all()
        return Swept(
            expired=expired + await self._sweep_silent_runtimes(),
            woken=woken + await self._sweep_new_day(),
            rescored=await self._sweep_ranks(),
            fired=fired,
        )

    async def _fire_unless_full(self) -> int:
        try:
            return await self._fire_schedules(self._beside)
        except StoreFull as full:
            logger.warning("schedules wait: %s", full)
            return 0

    async def _look_back(self, *, at_length: bool) -> int:
        """Follow the events, and finish what was interrupted. At length: until all events are followed."""
        return (
            await self._on_duty("events", FOLLOW_EVERY, self._follow, at_length=at_length)
            + await self._on_duty("cascades", CASCADES_EVERY, self._finish_cascades)
            + await self._on_duty("graphs", ALL_GRAPHS_EVERY, self._settle_all)
            + await self._on_duty("inboxes", FORGET_EVERY, self._forget_inboxes)
            + await self._on_duty("agents", FORGET_EVERY, self._forget_agents)
            + await self._on_duty("fires", FORGET_EVERY, partial(self._forget_fires, self._beside))
        )

    async def _make_room(self, *, at_length: bool) -> int:
        """Prune. At length: until nothing is left that is old enough."""
        return await self._on_duty("prune", PRUNE_EVERY, self._prune, at_length=at_length)

    # Leases, delays, waits

    async def _begin(self) -> bool:
        """Whether this sweep is ours to make.

        After the yard was away, every held lease gets one more of its length before it can expire. That comes before
        the duty is taken: whoever finds it taken finds the leases forgiven.
        """
        now = self.now()
        last = await self.store.duty("sweep")
        if last is not None and now - last > GAP:
            await self.store.touch([_forgiven(hot, now) for hot in await self.store.held() if hot.due_at is not None])
            # Nobody could be heard of meanwhile, so nobody was silent.
            await self.store.pulse(sorted(await self.store.pulses("runtime:")))
        return await self.store.take_duty("sweep", now, Micros(now + EVERY)) is not None

    async def _sweep_due(self) -> tuple[int, int]:
        expired = woken = 0
        losses = Losses(self.store)
        for hot in await self.store.due(self.now(), BATCH):
            yard = self._beside(hot.workspace)
            try:
                if hot.status.is_held:
                    expired += await yard._expire(hot, losses)
                else:
                    woken += await yard._wake(hot)
            except (LeaseLost, IllegalTransition, NotFound):
                continue  # it moved on while we were on the way, which is all that was wanted
            except StoreFull as full:
                logger.warning("%s stays as it is: %s", hot.id, full)  # others of these may make room
        return expired, woken

    async def _expire(self, hot: Hot, losses: Losses) -> bool:
        """Take a task back whose time is over. A heartbeat that comes first wins."""
        now = self.now()
        if hot.lease_expires_at is not None and hot.lease_expires_at <= now:
            reason = Reason.CLAIM_EXPIRED if hot.status is Status.CLAIMED else Reason.HEARTBEAT_TIMEOUT
            expiring = True
        elif hot.limit_at is not None and hot.limit_at <= now:
            reason, expiring = Reason.TIMEOUT, False
        else:
            await self.store.touch([Touch(hot.id, hot.due_at or now, next_due(hot))])
            return False
        failure = Failure(reason=reason, error=_EXPIRED[reason])
        in_company = await losses.are_more(hot, self)

        async def decide() -> tuple[ChangeSet | None, bool]:
            fresh = await self._load(hot.id)
            if fresh.lease != hot.lease or fresh.lease_expires_at != hot.lease_expires_at:
                return None, False
            change_set, _ = await self._failure_set(
                fresh, failure, BY_THE_YARD, expiring=expiring, in_company=in_company
            )
            return change_set, True

        expired = await self._land_end(decide)
        if expired:
            await losses.gone(hot, self)
        return expired

    async def _wake(self, hot: Hot) -> bool:
        async def decide() -> tuple[ChangeSet | None, bool]:
            fresh, now = await self._load(hot.id), self.now()
            if fresh.due_at is None or fresh.due_at > now:
                return None, False
            change_set = await self._woken(fresh, now)
            return change_set, change_set is not None

        woken = await self._land_end(decide)
        if hot.expires_at is not None and hot.expires_at <= self.now():
            await self.finish_cascade(hot.id)
        # Where other blockers are left, its time is over all the same.
        await self.store.touch([Touch(hot.id, hot.due_at or self.now(), hot.expires_at)])
        return woken

    async def _woken(self, hot: Hot, now: Micros) -> ChangeSet | None:
        if hot.expires_at is not None and hot.expires_at <= now:
            return await self._cancellation(hot, "expired", follows=(await self._policy_of(hot)).cascades)
        if hot.status is Status.RETRYING:
            return ChangeSet(changes=(transitions.promote(hot, now=now),), at=now)
        names = {blocker.name for blocker in await self.store.blockers([hot.id]) if blocker.wait == hot.wait}
        # A time among other blockers only lifts itself; that of a wait for a signal is the wait's end. What waits for
        # neither was woken before, by a sweep that did not live to move its due time.
        if "time" in names:
            lift = Lift("time", hot.id)
        elif any(name.startswith("signal:") for name in names):
            lift = Lift("", hot.id, ends_wait=True)
        else:
            return None
        return ChangeSet(expects=(Expect(hot.id, hot.version),), lifts=(lift,), at=now)

    async def _sweep_silent_runtimes(self) -> int:
        now, failed = self.now(), 0
        heard = await self.store.pulses("runtime:")
        for record in await self.store.records("runtime"):
            started = cast(Micros, record.body["started_at"])
            if now - heard.get(pulse("runtime", record.workspace, record.id), started) > SILENT:
                yard = self._beside(record.workspace)
                held = await yard._held_by(RuntimeId(record.id))
                failed += len(await yard._fail_orphans(held, Reason.RUNTIME_OFFLINE))
                if incarnation_of(record.id):  # no process comes back under its name, unless it only slept
                    await yard._forget_process(RuntimeId(record.id))
        return failed

    async def _sweep_new_day(self) -> int:
        """Yesterday's money has no hold on today's tasks."""
        now = self.now()
        midnight = Micros(now - now % DAY)

        async def lift() -> int:
            await self._forget_old_days()
            landed = await self._committer.commit(ChangeSet(lifts=(Lift("budget:day"),), at=now))
            return len(landed.readied) if isinstance(landed, Committed) else 0

        return await self._on_duty("day", Micros(midnight + DAY - now), lift)

    # Ranks

    async def _sweep_ranks(self) -> int:
        now = self.now()
        drifting = await self.store.drifting(now, BATCH)
        definitions = await self.store.definitions([hot.id for hot in drifting])
        rows = tuple(rescored(hot, definitions[hot.id], hot.height, now) for hot in drifting if hot.id in definitions)
        if rows:
            await self._committer.commit(ChangeSet(rescores=rows, at=now))
        return len(rows)

    # Housekeeping

    async def _transcribe_all(self) -> None:
        """Write on what subagents at work have said, in every workspace."""
        for record in await self.store.records("transcript"):
            await self._beside(record.workspace)._keep_up(record)

    async def _finish_cascades(self) -> int:
        """Those that were interrupted."""
        cascades = await self.store.records("cascade")
        for record in cascades:
            await self._beside(record.workspace).finish_cascade(record.id)
        return len(cascades)

    # What has happened

    async def _follow(self) -> Step:
        """Look at the events since the last time: finish what their writers did not live to finish, and count them."""
        settled = 0
        for _ in range(MOST_PAGES):
            page = await self._uncounted(PAGE)
            if not page.events:
                return Step(settled)
            # Before they are counted: who dies in between leaves both to the next.
            settled += await self._settle_ended([stored.event for stored in page.events])
            by_workspace: dict[str, list[StoredEvent]] = {}
            for stored in page.events:
                by_workspace.setdefault(stored.event.workspace, []).append(stored)
            for workspace, mine in sorted(by_workspace.items()):
                await self._beside(workspace)._tell_of([stored.event for stored in mine])
                await self._beside(workspace)._notice(mine)
            if not await self._count(page) or len(page.events) < PAGE:
                return Step(settled)
        return Step(settled, more=True)

    async def _settle_ended(self, events: Sequence[Event]) -> int:
        """Store how graphs ended whose last tasks ended here, where nobody has."""
        told = {event.dag_id for event in events if event.task_id is None}
        ended: dict[str, set[DagId]] = {}
        for event in events:
            dag_id = event.dag_id
            if dag_id is not None and dag_id not in told and event.status in FINAL and not _is_lone(event):
                ended.setdefault(event.workspace, set()).add(dag_id)
        settled = 0
        for workspace, dag_ids in ended.items():
            settled += await self._beside(workspace)._settle_those(sorted(dag_ids))
        return settled + await self._settle_waiting_for([event for event in events if event.status in KEY_DEAD])

    async def _settle_waiting_for(self, failed: Sequence[Event]) -> int:
        """The same for graphs that wait for tasks of others which died or were cancelled here."""
        roots = await self.store.load(sorted({event.task_id for event in failed if event.task_id is not None}))
        needed = [hot for hot in roots.values() if hot.status in KEY_DEAD and outcomes.may_be_waited_for(hot)]
        settled = 0
        for workspace in sorted({hot.workspace for hot in needed}):
            mine = [hot for hot in needed if hot.workspace == workspace]
            for dag_id in sorted(await walk.waiting_dags(self.store, mine)):
                settled += await self._beside(workspace)._settle_dag(dag_id)
        return settled

    async def _settle_those(self, dag_ids: Sequence[DagId]) -> int:
        names = [name for dag_id in dag_ids for name in dags.count_names(dag_id).values()]
        counts = await self.store.counts(self.workspace, names)
        settled = 0
        for dag_id in dag_ids:
            got = {word: counts.get(name, 0) for word, name in dags.count_names(dag_id).items()}
            if not got["live"] or got["dead"] or got["cancelled"]:
                settled += await self._settle_dag(dag_id)
        return settled

    async def _settle_all(self) -> int:
        """The same for every graph that is kept, should one have escaped: seldom, since it reads them all."""
        settled = 0
        for record in await self.store.records("dag"):
            if not DagStatus(str(record.body["status"])).is_final:
                settled += await self._beside(record.workspace)._settle_dag(DagId(record.id))
        return settled

    async def _forget_agents(self) -> int:
        """Agents that are silent for long, hold nothing, and have nothing meant for them. What they spent is kept."""
        # First who is known: whoever registers after that may not have been heard of before.
        known = await self.store.records("agent")
        heard, before = await self.store.pulses("agent:"), self.now() - FORGOTTEN_AFTER
        old = [record for record in known if heard.get(pulse("agent", record.workspace, record.id), 0) < before]
        return sum([await self._beside(record.workspace)._forget_agent(record, "yard:sweep") for record in old[:BATCH]])

    def _beside(self, workspace: str) -> Sweeping:
        """The same yard for another workspace: time passes in all of them."""
        if workspace == self.workspace:
            return self
        if workspace not in self._others:
            self._others[workspace] = type(self)(self.store, replace(self.options, workspace=workspace, preset=None))
        return self._others[workspace]

    async def _on_duty(
        self, name: str, every: Micros, act: Callable[[], Awaitable[Step | int]], *, at_length: bool = False
    ) -> int:
        """Act if the duty falls to this process; at length, again at once while there is more, as long as it lasts.

        The store is not asked for a duty that this process has already, unless its clock has jumped back since.
        """
        now = self.now()
        until = Micros(now + every)
        is_done = now < self._on_duty_until.get(name, now) <= until + TOLERANCE
        if is_done or await self.store.take_duty(name, now, until) is None:
            return 0
        self._on_duty_until[name] = until
        done = 0
        while True:
            step = await act()
            number, more = step if isinstance(step, Step) else (step, False)
            done += number
            if not (at_length and more and self.now() < until):
                return done


def _is_lone(event: Event) -> bool:
    """Whether the task has no graph, or one that was made around it: that one is left to the look at all of them."""
    return event.task_id is None or event.dag_id == lone_dag(event.task_id)


def _forgiven(hot: Hot, now: Micros) -> Touch:
    # Never earlier than before: a claim time may be longer than a lease.
    until = Micros(max(now + hot.lease_sec * SECOND, hot.lease_expires_at or now))
    return Touch(hot.id, hot.due_at or now, next_due(hot._replace(lease_expires_at=until)), until)


_EXPIRED = {
    Reason.CLAIM_EXPIRED: "was claimed and not started in time",
    Reason.HEARTBEAT_TIMEOUT: "no heartbeat in time",
    Reason.TIMEOUT: "max_duration_sec has passed",
}
