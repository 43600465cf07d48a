"""What every use case needs to know of artifacts: which a task has, and which of them may be seen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from taskyard.core.changes import Record
from taskyard.core.errors import InvalidInput, NotFound
from taskyard.core.task import KEY_HELD, Hot, Outcome, Status, TaskId, Trait, dag_of
from taskyard.features.artifacts import rules as artifact_rules
from taskyard.features.artifacts.rules import KIND, Artifact, Fate, artifact_of
from taskyard.ledger.ledger import Ledger
from taskyard.outbound.object_store import ObjectStore, open_object_store

MOST_OF_A_TASK = 1000  # artifacts
NO_PLACE = "have no place: set TASKYARD_ARTIFACTS to file:///DIRECTORY, s3://BUCKET, gs://BUCKET or az://CONTAINER"
_FILED = int(Trait.FILED)  # a number: this is asked of every task, and flags take their time


class Visibility:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._opened_objects: ObjectStore | None = None

    def objects(self) -> ObjectStore:
        """Where contents are, opened when first needed: most processes of a yard never touch them."""
        if self._opened_objects is None:
            if self._ledger.options.artifacts is None:
                raise InvalidInput("artifacts", NO_PLACE)
            self._opened_objects = open_object_store(self._ledger.options.artifacts)
        return self._opened_objects

    async def visible(self, artifact_id: str, shown: Collection[str] = ()) -> Artifact:
        found = await self.visible_among(await self.records_of([artifact_id]), shown)
        if not found:
            raise NotFound("artifact", artifact_id)
        return found[0]

    async def records_of(self, artifact_ids: Iterable[str]) -> list[Record]:
        wanted = [each for each in artifact_ids if artifact_rules.is_id(each)]
        found = await self._store.named(KIND, self._workspace, wanted) if wanted else {}
        return [found[each] for each in wanted if each in found]

    async def visible_among(self, records: Sequence[Record], shown: Collection[str] = ()) -> list[Artifact]:
        """Those that were put by themselves, or by attempts that led to the completion of their task.

        Of those whose task is not completed, only what is `shown` to whoever asks.
        """
        found = [artifact_of(record) for record in records]
        hots = await self._store.load(sorted({each.task_id for each in found if each.task_id is not None}))
        fates = [(each, await self._fate(each, hots)) for each in found]
        return [each for each, fate in fates if fate is Fate.KEPT or (fate is Fate.WAITING and each.reference in shown)]

    async def missing_for(self, hot: Hot, references: Sequence[str]) -> list[str]:
        """Those of these references that lead to nothing that the task may read."""
        records = await self.records_of([given for each in references if (given := artifact_rules.referred(each))])
        own = [each.reference for each in await self.filed(hot)] if records and hot.traits & Trait.FILED else []
        found = {each.reference for each in await self.visible_among(records, own)}
        return [each for each in references if each not in found]

    async def shown_to(self, hot: Hot) -> tuple[str, ...]:
        """What whoever holds this task sees and others do not: results of its steps, and artifacts that it judges."""
        own = tuple(each.reference for each in await self.steps_filed(hot)) if hot.traits & Trait.FILED else ()
        record = await self._ledger.judging_of(hot) if hot.traits & Trait.JUDGES else None
        if record is None:
            return own
        judged = TaskId(record.id)
        output = (await self._store.outputs([judged])).get(judged)
        # None of them is another attempt's that has not ended well: such an output would not have been taken.
        return own if output is None else (*own, *output.artifacts)

    async def _fate(self, artifact: Artifact, hots: dict[TaskId, Hot]) -> Fate:
        if artifact.step is not None:
            return Fate.WAITING  # and goes when its task is pruned
        if artifact.task_id is None or artifact.attempt is None:
            return Fate.KEPT
        return await self.fate_of(hots.get(artifact.task_id), artifact.attempt)

    async def fate_of(self, hot: Hot | None, attempt: int) -> Fate:
        return artifact_rules.fate(hot, attempt, None if hot is None else await self._outcome(hot, attempt))

    async def _outcome(self, hot: Hot, attempt: int) -> Outcome | None:
        """How an attempt ended; None where it has not, or where the task's own state says enough."""
        if attempt == hot.attempt and (hot.status in KEY_HELD or hot.status is Status.COMPLETED):
            return None
        ended = [each.outcome for each in await self._store.attempts(hot.id) if each.number == attempt]
        return ended[0] if ended else None

    async def filed(self, hot: Hot) -> list[Artifact]:
        """What the attempt at hand, and those that waited before it, have put: each name once."""
        records = await self._store.page(
            KIND, hot.workspace, prefix=artifact_rules.prefix(hot.id), limit=2 * MOST_OF_A_TASK
        )
        found = [artifact_of(record) for record in reversed(records) if "step" not in record.body]
        return [each for each in found if await self._fate(each, {hot.id: hot}) is not Fate.OVER]

    async def steps_filed(self, hot: Hot) -> list[Artifact]:
        """The results of steps that were too large for a row."""
        records = await self._store.page(
            KIND, hot.workspace, prefix=artifact_rules.prefix(hot.id), limit=2 * MOST_OF_A_TASK
        )
        return [artifact_of(record) for record in records if "step" in record.body]

    async def files_of(self, hot: Hot, names: tuple[str, ...]) -> tuple[str, ...]:
        """What an output names, and what its attempts put. A reference to an artifact that is not there is refused."""
        if not names and not hot.traits & _FILED:
            return ()
        mine = [artifact.reference for artifact in await self.filed(hot)] if hot.traits & Trait.FILED else []
        others = [given for name in names if name not in mine and (given := artifact_rules.referred(name)) is not None]
        for given in others:
            if not await self.visible_among(await self.records_of([given])):
                raise InvalidInput("artifacts", "refer to an artifact that is not there, or that another attempt put")
        if others and not await self._ledger.is_free(hot):
            await self._check_own_dag(hot, others)
        return tuple(dict.fromkeys((*names, *mine)))

    async def _check_own_dag(self, hot: Hot, artifact_ids: Sequence[str]) -> None:
        """An agent hands on files of its own DAG, and those that its task was given."""
        given = {
            each
            for ref in (await self._ledger.definition(hot.id)).context_refs
            if (each := artifact_rules.referred(ref))
        }
        owners = {each: artifact_rules.owner_of(each) for each in artifact_ids if each not in given}
        hots = await self._store.load(sorted({owner for owner in owners.values() if owner is not None}))
        within = {owner for owner, other in hots.items() if dag_of(other) == dag_of(hot)}
        if not within.issuperset(owners.values()):
            raise InvalidInput("artifacts", "must be of the DAG alone, unless an orchestrator hands them in")
