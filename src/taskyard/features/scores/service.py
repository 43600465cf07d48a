"""Scores of tasks, given at once or later, and kept until the tasks are pruned."""

from __future__ import annotations

from taskyard.core.changes import ChangeSet, Record, RecordChange
from taskyard.core.errors import Forbidden, InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.task import AgentId, Hot, TaskId
from taskyard.core.units import DAY, Micros
from taskyard.definition import arguments, fields
from taskyard.features.retention.pruning import PruneStep
from taskyard.features.retention.task_records import TaskRecords
from taskyard.features.scores import rules, variant_report
from taskyard.features.scores.rules import SCORE, SCORE_TOTALS, Maker
from taskyard.features.scores.variant_report import TaskFacts
from taskyard.features.scores.views import ScoreView, VariantReport, score_view
from taskyard.features.tasks.creation.drafts import agent_named
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.ledger.ledger import Ledger
from taskyard.ledger.options import LOCAL
from taskyard.stores.contract import Filter

MOST_DAYS = 400.0
MOST_TASKS = 5_000  # of a report
MOST_TOTALS = 1_000
AT_ONCE = 250
MOST_PAGES = 80  # of scores, that a report reads


class Scores:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._records = TaskRecords(ledger, rules.KIND)

    async def add(self, task_id: str, name: str, value: float, *, note: str = "", by: str = LOCAL) -> ScoreView:
        """Say how good a task's result is: a number, or true for 1 and false for 0, under a name.

        Also long after the task ended. Who scores again under the same name replaces the score. An agent that worked on
        the task is refused, and so is any agent of its type or token.
        """
        named, given = fields.name(name, "name", most=rules.LONGEST_NAME), rules.value_of(value)
        why = arguments.words("note", note, most=rules.LONGEST_NOTE)
        scorer = arguments.name("by", by)

        async def decide() -> tuple[ChangeSet, Record]:
            hot, now = await self._ledger.load(TaskId(task_id)), self._ledger.now()
            await self._refuse_makers(hot, scorer)
            id_ = rules.record_id(self._workspace, hot.id, named, scorer)
            known = {each.id: each for each in await self._page(hot.id)}
            before = known.get(id_)
            if before is None and len(known) >= rules.MOST_SCORES:
                raise InvalidInput("name", f"must be one that the task has: it has {rules.MOST_SCORES} scores")
            body: dict[str, Json] = {
                # The workspace is named too: an export of one workspace leaves out what is another's.
                "workspace": self._workspace,
                "task_id": hot.id,
                "name": named,
                "value": given,
                "by": scorer,
                "note": why,
                "at": now,
            }
            version = 0 if before is None else before.version
            score = RecordChange(rules.KIND, EVERYWHERE, id_, version, body)
            totals = await self._totals(hot.id, named, given, None if before is None else SCORE.of(before)["value"])
            facts: dict[str, Json] = {"task": hot.id, "name": named, "value": given}
            audited = self._ledger.audit("task.scored", scorer, facts)
            stored = Record(rules.KIND, EVERYWHERE, id_, version + 1, body)
            return ChangeSet(records=(score, totals), events=(audited,), at=now), stored

        return score_view(await self._ledger.commit(decide))

    async def list(self, task_id: str) -> list[ScoreView]:
        """The scores of a task, by name and then by who gave them."""
        hot = await self._ledger.load(TaskId(task_id))
        found = [score_view(each) for each in await self._page(hot.id)]
        return sorted(found, key=lambda each: (each.name, each.by))

    async def report(self, type: str, *, days: float = 30) -> VariantReport:
        """The variants of a type beside each other: tasks, failures, cost, time and scores, with 95 % intervals.

        Made of the newest tasks of the last days, at most 5,000. A rate is compared by Wilson's interval and a mean by
        Student's; each variant is compared with the first one.
        """
        named = arguments.name("type", type)
        since = Micros(self._ledger.now() - int(fields.number(days, "days", least=0, most=MOST_DAYS) * DAY))
        tasks, is_cut = await self._tasks_since(named, since)
        is_cut = await self._score(tasks) or is_cut
        totals = await self._store.page(
            rules.TOTALS, self._workspace, prefix=rules.totals_prefix(named), limit=MOST_TOTALS
        )
        ever = [SCORE_TOTALS.of(each) for each in totals]
        planning = await self._ledger.configuration.current()
        known = [each.name for each in planning.variants.get(named, ())]
        names = variant_report.in_order(tasks.values(), ever, known)
        own = {name: [each for each in tasks.values() if each.variant == name] for name in names}
        return VariantReport(
            type=named,
            since=since,
            tasks=len(tasks),
            is_cut=is_cut,
            variants=tuple(
                variant_report.figures(name, own[name], [each for each in ever if each["variant"] == name])
                for name in names
            ),
            differences=tuple(
                each
                for name in names[1:]
                for each in variant_report.differences(names[0], own[names[0]], name, own[name])
            ),
        )

    async def _tasks_since(self, type_: str, since: Micros) -> tuple[dict[TaskId, TaskFacts], bool]:
        """The newest tasks of a type, and whether there are more."""
        which, found, after = Filter(workspace=self._workspace, types=frozenset({type_})), dict[TaskId, TaskFacts](), 0
        while len(found) < MOST_TASKS:
            page = await self._store.find(which, after=after, limit=AT_ONCE)
            new = [hot for hot in page if hot.created_at >= since]
            ids = [hot.id for hot in new]
            definitions = await self._store.definitions(ids) if ids else {}
            attempts = await self._store.histories(ids) if ids else {}
            found |= {
                hot.id: variant_report.facts_of(hot, definitions[hot.id], attempts.get(hot.id, []))
                for hot in new
                if hot.id in definitions  # and not pruned meanwhile
            }
            if len(new) < AT_ONCE:
                return found, False
            after = page[-1].seq
        return found, True

    async def _score(self, tasks: dict[TaskId, TaskFacts]) -> bool:
        """Read the scores of these tasks. Whether some were left out, because there are too many."""
        if not tasks:
            return False
        last, below = rules.prefix(self._workspace, min(tasks)), rules.prefix(self._workspace, max(tasks)) + "~"
        for _ in range(MOST_PAGES):
            page = await self._store.page(
                rules.KIND, EVERYWHERE, prefix=f"{self._workspace}/", below=below, limit=AT_ONCE
            )
            variant_report.with_scores(tasks, map(SCORE.of, page))
            if len(page) < AT_ONCE or page[-1].id < last:
                return False
            below = page[-1].id
        return True

    async def forget_pruned(self) -> PruneStep:
        """Forget scores whose tasks are gone, of all workspaces. Their totals stay."""
        return await self._records.forget_pruned()

    async def _page(self, task_id: TaskId) -> list[Record]:
        prefix = rules.prefix(self._workspace, task_id)
        return await self._store.page(rules.KIND, EVERYWHERE, prefix=prefix, limit=rules.MOST_SCORES)

    async def _totals(self, task_id: TaskId, name: str, value: float, before: float | None) -> RecordChange:
        definition = (await self._store.definitions([task_id]))[task_id]
        id_ = rules.totals_id(definition.type, definition.variant, name)
        record = await self._store.record(rules.TOTALS, self._workspace, id_)
        totals = (
            rules.TotalsBody(type=definition.type, variant=definition.variant, name=name, count=0, sum=0.0)
            if record is None
            else SCORE_TOTALS.of(record)
        )
        version = 0 if record is None else record.version
        return RecordChange(rules.TOTALS, self._workspace, id_, version, rules.counted(totals, value, before))

    async def _refuse_makers(self, hot: Hot, by: str) -> None:
        name = agent_named(by)
        if name is None:
            return
        agents = (await self._ledger.configuration.current()).agents
        worked = [(each.agent, each.agent_type) for each in await self._store.attempts(hot.id)]
        if hot.agent is not None:
            worked.append((hot.agent, hot.agent_type))
        makers = [
            Maker(id_, type_ or (known.type if known else None), known.token if known else None)
            for id_, type_ in worked
            for known in [agents.get(id_)]
        ]
        if rules.is_maker(name, agents.get(AgentId(name)), makers):
            raise Forbidden(f"{name} has worked on {hot.id}, or its type has: nobody judges its own output")
