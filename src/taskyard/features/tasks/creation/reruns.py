"""Doing work again: a task that has ended, or what there was to do about a subject."""

from __future__ import annotations

from taskyard.core.changes import ChangeSet, Event, expected, merged
from taskyard.core.errors import Contended, IllegalTransition, NotFound
from taskyard.core.json_value import compact
from taskyard.core.policy import policy_of
from taskyard.core.task import WAITING, Definition, Hot, TaskId, Trait, dag_of
from taskyard.definition import arguments
from taskyard.features.attempts.validation.validators import refuse_validator
from taskyard.features.tasks.cancellation import Cancellation
from taskyard.features.tasks.creation.arrivals import Arrivals
from taskyard.features.tasks.creation.drafts import Drafts
from taskyard.features.tasks.lookup.queries import RERUN
from taskyard.features.tasks.views import Task
from taskyard.ledger.ledger import TRIES, KeyTaken, Ledger
from taskyard.stores.contract import Filter

MOST_SUPERSEDED = 200  # waiting tasks of one agent about one subject: it seldom is more than one


class Reruns:
    def __init__(self, ledger: Ledger, drafts: Drafts, arrivals: Arrivals, cancellation: Cancellation) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._drafts = drafts
        self._arrivals = arrivals
        self._cancellation = cancellation

    async def rerun(self, task_id: str, *, created_by: str = "human:local") -> Task:
        """Do a finished task again as a new task with a fresh session. The old one stays as it is."""
        created_by = arguments.name("created_by", created_by)
        hot = await self._ledger.load(TaskId(task_id))
        if not hot.status.is_final:
            raise IllegalTransition(hot.id, hot.status, "rerun")
        definition = await self._ledger.definition(hot.id)
        refuse_validator(hot, definition)
        draft = self._again(definition, created_by)
        planning = await self._ledger.configuration.current()
        made = await self._arrivals.put_in([draft], planning, beside=lambda: self._noted_rerun(draft))
        return Task(made[draft.id], draft, created=True)

    async def rerun_subject(self, subject: str, *, task_id: str | None = None, created_by: str = "human:local") -> Task:
        """Do the latest task about a subject again, or the one given, as a new task with a fresh session.

        What waits for the same agent about the same subject is cancelled in the same step. What that agent has at hand
        goes on, and the new task waits behind it where the preset lets one of a subject run at a time.
        """
        subject = arguments.name("subject", subject)
        created_by = arguments.name("created_by", created_by)
        source = await self._latest_about(subject, task_id)
        for _ in range(TRIES):
            try:
                return await self._superseded(source, created_by)
            except KeyTaken:
                continue  # somebody put another one in: it waits, so it is cancelled too
        raise Contended(tries=TRIES)

    async def _latest_about(self, subject: str, task_id: str | None) -> Definition:
        if task_id is not None:
            definition = await self._ledger.definition((await self._ledger.load(TaskId(task_id))).id)
            if definition.subject != subject:
                raise NotFound("task", task_id)
            return definition
        found = await self._store.find(Filter(workspace=self._workspace, subject=subject), after=0, limit=1)
        if not found:
            raise NotFound("subject", subject)
        return await self._ledger.definition(found[0].id)

    async def _superseded(self, source: Definition, created_by: str) -> Task:
        """One set: what waits is cancelled, and the new task takes its place and its key."""
        planning = await self._ledger.configuration.current()
        draft, follows = self._again(source, created_by), policy_of(source).cascades

        async def decide() -> tuple[ChangeSet, tuple[Hot, list[TaskId]]]:
            waiting = await self._waiting_like(source)
            steps = [
                await self._cancellation.cancellation(hot, f"superseded by {draft.id}", follows=follows, by=created_by)
                for hot in waiting
            ]
            freed = {hot.id for hot in waiting}
            keyed = draft._replace(idempotency_key=await self._key_of(source, freed))
            births = await self._drafts.births([keyed], planning, heights={}, done=frozenset(), now=self._ledger.now())
            noted = await self._noted_rerun(keyed)
            return merged([*steps, births, noted]), (births.tasks[0].hot, list(freed))

        hot, cancelled = await self._ledger.commit(decide)
        for each in cancelled:
            await self._cancellation.finish_cascade(each)
        return Task(hot, await self._ledger.definition(hot.id), created=True)

    async def _waiting_like(self, source: Definition) -> list[Hot]:
        """What waits for the same agent about the same subject."""
        which = Filter(workspace=self._workspace, statuses=WAITING, subject=source.subject, agent=source.agent)
        found = await self._store.find(which, after=0, limit=MOST_SUPERSEDED)
        definitions = await self._store.definitions([hot.id for hot in found])
        return [hot for hot in found if definitions[hot.id].agent == source.agent]

    async def _key_of(self, source: Definition, freed: set[TaskId]) -> str | None:
        """The key under which a preset knows one waiting task per subject and agent, unless one at hand has it."""
        hot = await self._ledger.load(source.id)
        if source.idempotency_key is None or not hot.traits & Trait.KEY_WHILE_WAITING:
            return None
        owner = (await self._store.by_key(self._workspace, [source.idempotency_key])).get(source.idempotency_key)
        return source.idempotency_key if owner is None or owner in freed else None

    async def _noted_rerun(self, draft: Definition) -> ChangeSet:
        """An event of the task that is done again: by these its reruns are found, and not by a look at all tasks."""
        source, now = await self._ledger.load(draft.rerun_of or draft.id), self._ledger.now()
        facts = compact({"task": draft.id, "by": draft.created_by})
        event = Event(RERUN, source.workspace, source.id, dag_of(source), now, None, None, None, facts)
        return ChangeSet(expects=(expected(source),), events=(event,), at=now)

    def _again(self, definition: Definition, created_by: str) -> Definition:
        return definition._replace(
            id=self._ledger.mint_task(),
            rerun_of=definition.id,
            parent_id=None,
            dag_id=None,
            depends_on=(),
            idempotency_key=None,
            session_id=None,
            work_dir=None,
            fresh=True,
            run_after=None,
            expires_at=None,
            created_at=self._ledger.now(),
            created_by=created_by,
            trigger_type="manual_rerun",
        )
