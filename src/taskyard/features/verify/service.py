"""Checking the stored history against the invariants that the yard promises.

It reads only what every store can tell, and trusts nothing that it can work out again. It reads page by page. Of the
pages before it keeps sums, what is held now, and who may be part of a cycle: its memory does not grow with the tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from taskyard.core.changes import Event
from taskyard.core.outcomes import dead_id
from taskyard.core.task import KEY_DEAD, KEY_HELD, Hot, Status, TaskId, Trait
from taskyard.features.artifacts.checks import ArtifactChecks
from taskyard.features.inbox.checks import InboxChecks
from taskyard.features.metrics.service import MetricCounts
from taskyard.features.notifications.checks import NotificationChecks
from taskyard.features.provider_batches.rules import ITEM, KIND
from taskyard.features.schedules.checks import DoubleFires, FireChecks
from taskyard.features.verify.ceilings import CeilingSums
from taskyard.features.verify.dependencies import DependencyChecks
from taskyard.features.verify.graphs import GraphChecks
from taskyard.features.verify.log_reading import LogReading
from taskyard.features.verify.rules import TaskPage, failed_probes, task_problems, was_dead
from taskyard.features.verify.views import Verified
from taskyard.ledger.ledger import Ledger
from taskyard.stores.contract import Filter

PAGE = 500  # tasks that are looked at together


@dataclass(slots=True)
class _Live:
    """What is kept of the tasks that are at work: few beside those that wait or are over."""

    keys: Counter[str] = field(default_factory=Counter[str])  # concurrency keys that are held
    judged: set[TaskId] = field(default_factory=set[TaskId])
    judging: set[TaskId] = field(default_factory=set[TaskId])

    def add(self, tasks: Iterable[Hot]) -> None:
        for hot in tasks:
            if hot.key and hot.status in KEY_HELD:
                self.keys[hot.key] += 1
            if hot.status is Status.VALIDATING:
                self.judged.add(hot.id)
            if hot.traits & Trait.JUDGES and not hot.status.is_final:
                self.judging.add(hot.id)

    def key_problems(self) -> list[str]:
        return [f"{count} tasks hold the concurrency key {key}" for key, count in self.keys.items() if count > 1]

    def judging_problems(self, asked: Mapping[str, str]) -> list[str]:
        """Every task that is judged has its validator, and every validator that is not over judges one."""
        judged, judging = self.judged, self.judging
        return [
            *(f"{each} is validating, and nothing judges it" for each in sorted(judged - asked.keys())),
            *(f"{each} is judged by {asked[each]}, and is not validating" for each in sorted(asked.keys() - judged)),
            *(f"{each} is to judge an output, and is over" for each in sorted({*asked.values()} - judging)),
            *(f"{each} judges an output that nobody waits with" for each in sorted(judging - {*asked.values()})),
        ]


class Verification:
    def __init__(
        self,
        ledger: Ledger,
        artifact_checks: ArtifactChecks,
        metrics: MetricCounts,
        fire_checks: FireChecks,
        inbox_checks: InboxChecks,
        notification_checks: NotificationChecks,
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._artifact_checks = artifact_checks
        self._metrics = metrics
        self._fire_checks = fire_checks
        self._inbox_checks = inbox_checks
        self._notification_checks = notification_checks

    async def verify(self) -> Verified:
        """Replay the stored history. Meant for a yard at rest: what moves meanwhile may look wrong.

        What is pruned meanwhile does not: a yard at rest is pruned too.
        """
        log = LogReading(self._ledger, self._metrics)
        await log.read()
        sums, live, fires = CeilingSums(), _Live(), DoubleFires(self._ledger)
        dependencies, graphs = DependencyChecks(self._ledger), GraphChecks(self._ledger)
        tasks = attempts = events = 0
        problems = await self._store.checks()
        async for found in self._listed():
            page = await self._page(found)
            tasks += len(page.tasks)
            attempts += sum(map(len, page.attempts.values()))
            events += sum(map(len, page.events.values()))
            sums.add(page)
            live.add(page.tasks.values())
            await fires.add(page.tasks.values())
            problems += [
                *await self._task_problems(page),
                *await dependencies.problems(page),
                *await graphs.problems(found),
                *await self._artifact_checks.reference_problems(page.tasks.values()),
            ]
        is_whole = await log.is_whole()
        problems += [
            *(log.problems() if is_whole else ()),
            *dependencies.cycle_problems(),
            *live.key_problems(),
            *await self._limit_problems(sums, log),
            *live.judging_problems(await self._asked()),
            *await self._artifact_checks.content_problems(),
            *await self._notification_checks.problems(),
            *await self._inbox_checks.problems(),
            *fires.problems(),
            *await self._fire_checks.problems(),
        ]
        seen = log.seen if is_whole else events
        return Verified(tasks=tasks, events=seen, attempts=attempts, problems=tuple(problems))

    async def _listed(self) -> AsyncIterator[Sequence[Hot]]:
        after = 0
        which = Filter(workspace=self._workspace, oldest_first=True)
        while page := await self._store.find(which, after=after, limit=PAGE):
            yield page
            after = page[-1].seq

    async def _page(self, found: Sequence[Hot]) -> TaskPage:
        ids = [hot.id for hot in found]
        events: dict[TaskId, list[Event]] = {task_id: [] for task_id in ids}
        page = TaskPage(
            tasks={hot.id: hot for hot in found},
            types={hot.id: await self._ledger.type_of(hot) for hot in found},
            events=events,
            attempts=await self._store.histories(ids),
        )
        for stored in await self._store.events_of(ids):
            if stored.event.task_id is not None and stored.event.version is not None:
                events[stored.event.task_id].append(stored.event)
        if await self._store.pruned(self._workspace):
            page.keep(await self._store.load(ids))
        return page

    async def _task_problems(self, page: TaskPage) -> list[str]:
        """Of what is stored of each task alone."""
        return [
            *(
                problem
                for hot in page.tasks.values()
                for problem in task_problems(hot, page.events[hot.id], page.attempts.get(hot.id, []))
            ),
            *await self._probe_problems(page),
            *await self._review_problems(page),
            *await self._key_problems(page),
        ]

    async def _probe_problems(self, page: TaskPage) -> list[str]:
        """A probe that failed has opened its breaker again."""
        failed = [(task_id, *each) for task_id, events in page.events.items() for each in failed_probes(events)]
        planning = await self._ledger.configuration.fresh() if failed else None
        return [
            f"{task_id} failed as the probe of {type_}, and its breaker did not open again"
            for task_id, type_, probe in failed
            if planning is not None and planning.breaker(type_).generation == probe
        ]

    async def _review_problems(self, page: TaskPage) -> list[str]:
        """A dead letter that was cancelled was decided by somebody."""
        cancelled = [
            hot for hot in page.tasks.values() if hot.status is Status.CANCELLED and was_dead(page.events[hot.id])
        ]
        names = [dead_id(hot.id, hot.attempt) for hot in cancelled]
        dead = await self._store.named("dead", self._workspace, names) if names else {}
        undecided = [
            hot.id
            for hot, name in zip(cancelled, names, strict=True)
            if name not in dead or dead[name].body["resolution"] != "cancel"
        ]
        # The decision on a task that was pruned since went with it.
        there = await self._store.load(undecided) if undecided else {}
        return [f"{each} was cancelled as a dead letter, and no decision is on record" for each in there]

    async def _key_problems(self, page: TaskPage) -> list[str]:
        """One live task per idempotency key: the one that a new task with this key would find."""
        live = {hot.id: hot.idempotency_key for hot in page.tasks.values() if hot.status not in KEY_DEAD}
        keys = {key for key in live.values() if key}
        owners = await self._store.by_key(self._workspace, sorted(keys)) if keys else {}
        return [
            f"{task_id} is live and has the idempotency key {key}, which is {owners.get(key, 'nobody')}'s"
            for task_id, key in live.items()
            if key and owners.get(key) != task_id
        ]

    async def _asked(self) -> dict[str, str]:
        """Who judges which task."""
        return {each.id: str(each.body["validator"]) for each in await self._store.records("judging", self._workspace)}

    async def _limit_problems(self, sums: CeilingSums, log: LogReading) -> list[str]:
        """What is held and spent under every ceiling is what its attempts hold and spent."""
        stored = {limit.name: limit for limit in (await self._store.limits(self._workspace, None)).values()}
        sums.add_calls([ITEM.of(each) for each in await self._store.records(KIND, self._workspace)])
        # The totals outlive the attempts that were pruned.
        return sums.held_problems(stored) + (sums.spent_problems(stored) if await log.is_whole() else [])
