"""Dead letters: listed with the story of their failures, and decided by people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from taskyard.core import dag as dags
from taskyard.core import outcomes, transitions
from taskyard.core.changes import (
    ChangeSet,
    Record,
)
from taskyard.core.errors import DuplicateKey, IllegalTransition, InvalidInput
from taskyard.core.policy import policy_of
from taskyard.core.record_kinds import DEAD
from taskyard.core.task import Definition, Hot, Status, TaskId, Trait
from taskyard.definition import arguments
from taskyard.definition.definition import lane_of, reborn, redefine
from taskyard.features.attempts.endings.failure_path import receipt
from taskyard.features.attempts.validation.output_checks import check_rule
from taskyard.features.attempts.validation.validators import refuse_validator
from taskyard.features.attempts.views import Receipt
from taskyard.features.dags.lifecycle import Lifecycle
from taskyard.features.dead_letters.reviews import Reviews
from taskyard.features.dead_letters.views import DeadLetter, Review, review_of
from taskyard.features.tasks.cancellation import Cancellation
from taskyard.features.tasks.lookup.queries import MOST_LISTED, Queries
from taskyard.features.tasks.views import Details, stored_task
from taskyard.ledger.ledger import KeyTaken, Ledger

RESOLUTIONS = ("retry", "modify_and_retry", "cancel", "escalate")


class DeadLetters:
    def __init__(
        self, ledger: Ledger, dag_lifecycle: Lifecycle, reviews: Reviews, cancellation: Cancellation, queries: Queries
    ) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._dag_lifecycle = dag_lifecycle
        self._reviews = reviews
        self._cancellation = cancellation
        self._queries = queries

    async def list(
        self, *, reviewed: bool | None = None, limit: int = MOST_LISTED, cursor: int = 0
    ) -> list[DeadLetter]:
        """Tasks that wait for a person, newest first, with the whole story of their failures.

        The cursor is the `seq` of the last one seen.
        """
        which = self._queries.filter(status=Status.DEAD_LETTERED)
        letters: list[DeadLetter] = []
        while len(letters) < limit:
            page = await self._store.find(which, after=cursor, limit=MOST_LISTED)
            letters += [each for each in await self._letters(page) if reviewed in (None, each.dead.reviewed)]
            if len(page) < MOST_LISTED:
                break
            cursor = page[-1].seq
        return letters[:limit]

    async def _letters(self, hots: Sequence[Hot]) -> list[DeadLetter]:
        """All of them with a few reads."""
        ids = [hot.id for hot in hots]
        dead = await self._store.named("dead", self._workspace, [outcomes.dead_id(hot.id, hot.attempt) for hot in hots])
        outputs, histories = await self._store.outputs(ids), await self._store.histories(ids)
        letters: list[DeadLetter] = []
        for task in await self._queries.tasks(hots):
            hot, definition = stored_task(task)
            if (record := dead.get(outcomes.dead_id(hot.id, hot.attempt))) is not None:
                attempts, output = histories.get(hot.id, []), outputs.get(hot.id)
                details = Details(hot, definition, attempts=attempts, blockers=[], output=output, dead=record)
                letters.append(DeadLetter(details))
        return letters

    async def reviews(self) -> list[Review]:
        """Every decision on a dead letter, in the order they were made."""
        records = await self._store.records("dead", self._workspace)
        made = [each for record in records if record.body["reviewed"] for each in _decisions(record)]
        return [review_of(each) for each in sorted(made, key=lambda record: DEAD.of(record)["reviewed_at"] or 0)]

    async def resolve(
        self,
        task_id: str,
        resolution: str,
        *,
        by: str,
        note: str = "",
        spec: Mapping[str, object] | None = None,
    ) -> Receipt:
        """Decide a dead letter: retry, modify_and_retry (with a changed spec), cancel or escalate."""
        if resolution not in RESOLUTIONS:
            raise InvalidInput("resolution", f"must be one of {', '.join(RESOLUTIONS)}")
        if (resolution == "modify_and_retry") != (spec is not None):
            raise InvalidInput("spec", "goes with modify_and_retry, and only with it")
        by = arguments.name("by", by)
        arguments.words("note", note, most=10_000)

        async def decide() -> tuple[ChangeSet, Receipt]:
            hot = await self._ledger.load(TaskId(task_id))
            if hot.status is not Status.DEAD_LETTERED:
                raise IllegalTransition(hot.id, hot.status, "resolve")
            definition = await self._ledger.definition(hot.id)
            if resolution in ("retry", "modify_and_retry"):
                refuse_validator(hot, definition)
            if spec is not None:
                definition = redefine(definition, spec, policy=policy_of(definition), sizes=self._ledger.options.sizes)
                check_rule(definition)
            step = await self._resolution(hot, definition, resolution, by, note)
            reviewed = await self._reviews.reviewed(hot, resolution, by, note)
            redefined = (definition,) if spec is not None else ()
            whole = step._replace(records=(*step.records, reviewed), redefined=redefined)
            return whole, receipt(step.changes[0].after)

        try:
            answer = await self._ledger.commit(decide)
        except KeyTaken as refused:
            ((key, owner),) = refused.by.items()
            raise DuplicateKey(key, owner) from None
        if resolution == "cancel":
            await self._cancellation.finish_cascade(task_id)
        return answer

    async def _resolution(self, hot: Hot, definition: Definition, resolution: str, by: str, note: str) -> ChangeSet:
        now = self._ledger.now()
        if resolution == "cancel":
            follows = (await self._ledger.policy_of(hot)).cascades
            return await self._cancellation.cancellation(hot, note or "dead letter cancelled", follows=follows, by=by)
        if resolution == "escalate":
            return ChangeSet(changes=(transitions.escalate(hot, by=by, note=note, now=now),), at=now)
        (lane,) = await self._ledger.configuration.lane_ids([lane_of(definition, failures=0)])
        change = transitions.revive(
            hot, resolution=resolution, by=by, lane=lane, run_after=definition.run_after, now=now
        )
        after = reborn(change.after, definition, policy_of(definition), now=now)
        if after.traits & Trait.KEY_WHILE_WAITING:  # it waits again, and is refused where another does under its key
            after = after._replace(idempotency_key=definition.idempotency_key)
        change = change._replace(after=after)
        counts = dags.counted(hot.workspace, hot.dag_id, hot.status, change.after.status)
        reopened = await self._dag_lifecycle.reopened(hot)
        return reopened._replace(changes=(change,), counts=counts)


def _decisions(record: Record) -> list[Record]:
    """Each of the decisions on one death as if it were the only one: who escalates one has not the last word."""
    body = dict(record.body)
    earlier = body.pop("earlier", [])
    decisions = [each for each in earlier if isinstance(each, dict)] if isinstance(earlier, list) else []
    return [record._replace(body={**body, **decision}) for decision in (*decisions, {})]
