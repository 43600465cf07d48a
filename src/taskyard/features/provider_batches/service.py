"""Calls that wait for a provider's batch: joined, gathered, sent, collected, and settled once each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from taskyard.core import outcomes
from taskyard.core.changes import Blocker, ChangeSet, Checkpoint, Event, Lift, Record, RecordChange, expected, merged
from taskyard.core.errors import InvalidInput, LeaseLost, NotFound
from taskyard.core.identifiers import TIME_BLOCKER, batch_blocker
from taskyard.core.json_value import Json, compact, encode
from taskyard.core.lease import Lease
from taskyard.core.outcomes import Report
from taskyard.core.policy import preset
from taskyard.core.task import Hot, TaskId, Trait, dag_of
from taskyard.core.units import Micros, MicroUsd
from taskyard.definition import arguments, fields
from taskyard.definition.definition import lane_of
from taskyard.definition.task_fields import Moment
from taskyard.features.artifacts.service import Artifacts
from taskyard.features.attempts.notes import Notes
from taskyard.features.attempts.suspension import Suspension
from taskyard.features.budgets import prices
from taskyard.features.budgets.spend import Reported
from taskyard.features.provider_batches import rules
from taskyard.features.provider_batches.collected_call import CollectedCall
from taskyard.features.provider_batches.rules import ITEM, OPEN_BATCH, PROVIDER_BATCH, CallBody, LaneTerms, PartBody
from taskyard.features.provider_batches.views import (
    BatchCall,
    CallOutcome,
    CallState,
    GatheredCall,
    ProviderBatchView,
    batch_view,
    gathered_call,
)
from taskyard.features.retention.pruning import PruneStep
from taskyard.features.retention.task_records import TaskRecords
from taskyard.features.tokens.rules import EVERYWHERE
from taskyard.ledger.ledger import Ledger

MOST_AT_ONCE = 100  # calls that one call gathers or collects
MOST_LISTED = 200
COUNTED = 1000
LONGEST_ERROR = 10_000  # characters of what a provider says about an error
_SUSPENDED = BatchCall(CallState.WAITING, None, None)
_ORDINARY = BatchCall(CallState.ORDINARY, None, None)


class ProviderBatches:
    def __init__(self, ledger: Ledger, suspension: Suspension, notes: Notes, artifacts: Artifacts) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._workspace = ledger.workspace
        self._suspension = suspension
        self._notes = notes
        self._artifacts = artifacts
        self._records = TaskRecords(ledger, rules.BATCH)

    # For the task whose call it is

    async def join(
        self,
        task_id: str,
        lease: str,
        name: str,
        *,
        provider: str,
        group: str,
        request: Json,
        model: str | None = None,
        gather_sec: float = 60,
        cancel_sec: float = 600,
        ordinary_sec: float = 300,
        may_pay_twice: bool = True,
    ) -> BatchCall:
        """Have a model call made in a batch of the provider, and wait for its answer without a slot.

        The task is suspended, with what it reserved; its handler is run again when there is an answer, and the same
        call then gets it. `ordinary`: the call is to be made now instead, because the deadline is near, or the provider
        has let the call expire. Where a provider that was asked to cancel has not said by then what became of the call,
        it is made now as well, for the deadline goes first; with `may_pay_twice=False` the task waits on, and may be
        late. What the provider refuses is answered to one attempt; the next one tries again.
        """
        name = arguments.name("name", name)
        provider, group = arguments.name("provider", provider), arguments.name("group", group)
        model = None if model is None else arguments.name("model", model)
        encode(request, field="request", max_bytes=self._ledger.options.sizes.max_payload_bytes)
        terms = LaneTerms(
            *(
                arguments.duration(field, fields.number(given, field, least=0, most=rules.MOST_WAITING_SEC))
                for field, given in (
                    ("gather_sec", gather_sec),
                    ("cancel_sec", cancel_sec),
                    ("ordinary_sec", ordinary_sec),
                )
            )
        )

        async def decide() -> tuple[ChangeSet | None, BatchCall]:
            hot = await self._suspension.held_until(TaskId(task_id), Lease(lease), name)
            if hot is None:
                return None, _SUSPENDED
            stands = rules.standing(await self._notes.of(hot), name)
            if stands.number and stands.outcome is None:
                kept = None if may_pay_twice else await self._kept_waiting(hot, name, stands)
                return (await self._given_up(hot, name, stands), _ORDINARY) if kept is None else (kept, _SUSPENDED)
            if stands.outcome is not None:
                match CallOutcome(str(stands.outcome["outcome"])):
                    case CallOutcome.ANSWERED:
                        return None, BatchCall(CallState.ANSWERED, stands.outcome["answer"], None)
                    case CallOutcome.EXPIRED:
                        return None, _ORDINARY
                    case CallOutcome.FAILED if stands.reported_in in (None, hot.attempt):
                        return self._reported_once(hot, name, stands), _failed(stands.outcome)
                    case CallOutcome.FAILED:
                        pass  # an attempt failed with it: this one asks again
            definition, now = await self._ledger.definition(hot.id), self._ledger.now()
            if (times := rules.times_of(definition.deadline, terms, now)) is None:
                return None, _ORDINARY
            agent_type = hot.agent_type or hot.agent or ""
            place = rules.open_id(agent_type, provider, group, is_hurried=times.is_hurried)
            batch_id, opened = await self._open_batch(hot, place, agent_type, provider, group, terms.gather)
            custom = rules.custom_id(hot.id, name, stands.number + 1)
            type_ = await self._ledger.type_of(hot)
            step, kept = outcomes.gathered(
                hot, Report("suspend", name), type_=type_, batch=batch_id, wake_at=times.wake_at, now=now
            )
            item: dict[str, Json] = {
                "task_id": hot.id,
                "custom_id": custom,
                "name": rules.wait_note(name, stands.number + 1),
                "attempt": hot.attempt,
                "wait": step.changes[0].after.wait,
                "type": type_,
                "agent": hot.agent,
                "agent_type": hot.agent_type,
                "dag_id": hot.dag_id,
                "claimed_at": hot.claimed_at or now,
                "reserved": kept,
                "cancel_at": times.cancel_at,
                "model": model,
                "request": request,
            }
            stored = RecordChange(rules.KIND, self._workspace, rules.item_id(batch_id, custom), 0, item)
            note = compact({"batch_id": batch_id, "custom_id": custom})
            waiting = Checkpoint(hot.id, rules.wait_note(name, stands.number + 1), hot.attempt, note)
            joined = step._replace(records=(stored,), checkpoints=(waiting,))
            return merged([joined, opened]), _SUSPENDED

        return await self._ledger.commit(decide)

    async def _open_batch(
        self, hot: Hot, place: str, agent_type: str, provider: str, group: str, gather: Micros
    ) -> tuple[TaskId, ChangeSet]:
        """The batch that calls join now. Its sender moves the row of its task, so a late call opens another batch."""
        now = self._ledger.now()
        record = await self._store.record(rules.OPEN, self._workspace, place)
        if record is not None:
            batch_id = TaskId(OPEN_BATCH.of(record)["batch_id"])
            batch = (await self._store.load([batch_id])).get(batch_id)
            if batch is not None and rules.is_open(batch):
                return batch_id, ChangeSet(expects=(expected(batch),), at=now)
        policy = preset("standard")  # whatever the workspace's: a batch under way is not given up easily
        definition = rules.batch_task(
            await self._ledger.definition(hot.id),
            task_id=self._ledger.mint_task(),
            agent_type=agent_type,
            title=f"batch for {provider}: {group}",
            run_after=Micros(now + gather),
            policy=policy,
            now=now,
        )
        (lane,) = await self._ledger.configuration.lane_ids([lane_of(definition, failures=0)])
        born = rules.batch_born(definition, policy, lane=lane, now=now)
        opened = RecordChange(
            rules.OPEN, self._workspace, place, 0 if record is None else record.version, {"batch_id": definition.id}
        )
        body: dict[str, Json] = {
            "workspace": self._workspace,
            "task_id": definition.id,
            "provider": provider,
            "group": group,
            "agent_type": agent_type,
            "created_at": now,
            "parts": [],
        }
        begun = RecordChange(rules.BATCH, EVERYWHERE, rules.batch_record(self._workspace, definition.id), 0, body)
        waits = rules.gathers(definition, now)
        gathering = (Blocker(definition.id, born.hot.wait, TIME_BLOCKER),) if waits else ()
        return definition.id, ChangeSet(tasks=(born,), blockers=gathering, records=(opened, begun), at=now)

    async def _given_up(self, hot: Hot, name: str, stands: rules.CallStanding) -> ChangeSet:
        """The time of the wait is over, or its batch has ended without an answer: the call is made in the ordinary way.

        What it reserved goes back. Where the provider has the call, its cost is settled when the answer comes.
        """
        assert stands.batch_id is not None
        assert stands.custom_id is not None
        now = self._ledger.now()
        noted = ChangeSet(
            expects=(expected(hot),),
            checkpoints=(_outcome(hot, rules.wait_note(name, stands.number), {"outcome": CallOutcome.EXPIRED}),),
            events=(_event(hot, "expired", stands.batch_id, now),),
            at=now,
        )
        record, batch, may_come = await self._call_under_way(stands)
        if record is None:
            return noted
        if may_come:
            noted = noted._replace(events=(_event(hot, "given_up", stands.batch_id, now),))
        spends = rules.settled(ITEM.of(record), self._workspace, hot.dag_id, MicroUsd(0))
        change = rules.released(record) if may_come else rules.over(record)
        expects = noted.expects if batch is None or may_come else (*noted.expects, expected(batch))
        return noted._replace(records=(change,), spends=spends, expects=expects)

    async def _call_under_way(self, stands: rules.CallStanding) -> tuple[Record | None, Hot | None, bool]:
        """The call that waits, the row of its batch, and whether the provider may still answer it."""
        batch_id = TaskId(stands.batch_id or "")
        record = await self._store.record(rules.KIND, self._workspace, rules.item_id(batch_id, stands.custom_id or ""))
        batch = (await self._store.load([batch_id])).get(batch_id)
        return record, batch, batch is not None and not batch.status.is_final and not rules.is_open(batch)

    async def _kept_waiting(self, hot: Hot, name: str, stands: rules.CallStanding) -> ChangeSet | None:
        """The time is over, but the provider has the call, and it is not to be paid for twice: its batch will end."""
        record, batch, may_come = await self._call_under_way(stands)
        if record is None or batch is None or not may_come:
            return None
        now, type_ = self._ledger.now(), await self._ledger.type_of(hot)
        step = outcomes.suspended(
            hot, Report("suspend", name), type_=type_, blockers=[batch_blocker(batch.id)], wake_at=None, now=now
        )
        return step._replace(
            records=(rules.waiting_on(record, step.changes[0].after.wait),),
            expects=(expected(batch),),
            events=(_event(hot, "late", batch.id, now),),
        )

    def _reported_once(self, hot: Hot, name: str, stands: rules.CallStanding) -> ChangeSet | None:
        if stands.reported_in is not None:
            return None
        note = Checkpoint(
            hot.id, rules.reported_note(name, stands.number), hot.attempt, compact({"attempt": hot.attempt})
        )
        return ChangeSet(expects=(expected(hot),), checkpoints=(note,), at=self._ledger.now())

    # For the agent that sends the batch

    async def gather(
        self, task_id: str, lease: str, *, below: str | None = None, limit: int = MOST_AT_ONCE
    ) -> list[GatheredCall]:
        """The calls of a batch that is not sent yet, last id first; the next page is the one below its last id.

        A call whose task waits no longer, because it was cancelled for one, is let go: nothing was sent for it.
        """
        limit = fields.whole(limit, "limit", least=1, most=MOST_AT_ONCE)
        page: list[Record] = []
        hot = await self._sender(task_id, lease)
        while len(page) < limit:
            more = await self._items(hot.id, below, limit - len(page))
            if not more:
                break
            waiting = [each for each in more if await self._is_waited_for(each)]
            await asyncio.gather(*(self._let_go(each) for each in more if each not in waiting))
            page += waiting
            below = ITEM.of(more[-1])["custom_id"]
        return [gathered_call(each) for each in page]

    async def outstanding(
        self, task_id: str, lease: str, *, below: str | None = None, limit: int = MOST_AT_ONCE
    ) -> list[GatheredCall]:
        """The calls of a batch that are not settled, whoever still waits for them; paged as `gather` is."""
        limit = fields.whole(limit, "limit", least=1, most=MOST_AT_ONCE)
        hot = await self._sender(task_id, lease)
        return [gathered_call(each) for each in await self._items(hot.id, below, limit)]

    async def sent(
        self,
        task_id: str,
        lease: str,
        key: str,
        *,
        provider_id: str,
        calls: int,
        expires_at: Moment | None = None,
    ) -> ProviderBatchView:
        """Store that a part of the batch was sent, and as what. A repeated call changes nothing."""
        part: PartBody = {
            "key": arguments.name("key", key),
            "provider_id": arguments.name("provider_id", provider_id),
            "calls": fields.whole(calls, "calls", least=0, most=1_000_000),
            "sent_at": self._ledger.now(),
            "expires_at": None if expires_at is None else fields.moment(expires_at, "expires_at"),
        }

        async def decide() -> tuple[ChangeSet | None, Record]:
            hot = await self._sender(task_id, lease)
            record = await self._batch(hot.id)
            body = PROVIDER_BATCH.of(record)
            if any(each["key"] == part["key"] for each in body["parts"]):
                return None, record
            new: dict[str, Any] = {**body, "parts": [*body["parts"], part]}
            change = RecordChange(rules.BATCH, EVERYWHERE, record.id, record.version, new)
            facts = compact({"batch": provider_id, "calls": calls, "agent": hot.agent})
            now = self._ledger.now()
            event = Event("task.sent", hot.workspace, hot.id, dag_of(hot), now, None, None, hot.attempt, facts)
            stored = Record(rules.BATCH, EVERYWHERE, record.id, record.version + 1, new)
            return ChangeSet(expects=(expected(hot),), records=(change,), events=(event,), at=now), stored

        return await self._view(await self._ledger.commit(decide))

    async def collect(self, task_id: str, lease: str, results: Sequence[Mapping[str, Any]]) -> int:
        """Settle what came of calls of a batch, each once and for itself, and say how many were settled by this call.

        A result has `custom_id`, `outcome` (answered, failed or expired), `answer`, `status` of an error, and what the
        call cost: `cost_usd`, or `model` and tokens, for which the batch price is looked up.
        """
        if len(results) > MOST_AT_ONCE:
            raise InvalidInput("results", f"must be at most {MOST_AT_ONCE} in one call")
        hot = await self._sender(task_id, lease)
        read = [CollectedCall(each) for each in results]
        await prices.load([each.model for each in read])
        settled = await asyncio.gather(*(self._settle(hot.id, each) for each in read))
        return sum(settled)

    async def _settle(self, batch_id: TaskId, result: CollectedCall) -> bool:
        spent = result.spent()
        cost, answer = spent.cost or MicroUsd(0), await self._fitting(batch_id, result)

        async def decide() -> tuple[ChangeSet | None, bool]:
            record = await self._store.record(rules.KIND, self._workspace, rules.item_id(batch_id, result.custom_id))
            if record is None:
                return None, False  # settled before
            return await self._settled(record, answer, spent, cost), True

        return await self._ledger.commit(decide)

    async def _settled(self, record: Record, answer: dict[str, Json], spent: Reported, cost: MicroUsd) -> ChangeSet:
        item, now = ITEM.of(record), self._ledger.now()
        task_id = TaskId(item["task_id"])
        hot = (await self._store.load([task_id])).get(task_id)
        attempts = () if hot is None else await self._costly(item, spent, cost)
        change_set = ChangeSet(
            records=(rules.over(record),),
            attempts=attempts,
            spends=rules.settled(item, self._workspace, None if hot is None else hot.dag_id, cost),
            events=() if hot is None else (_event(hot, str(answer["outcome"]), record.id, now, item, spent, cost),),
            at=now,
        )
        is_answer = answer["outcome"] == CallOutcome.ANSWERED and answer["answer"] is not None
        if hot is None or not (rules.waits_for(hot, item) or (is_answer and rules.may_use(hot, item))):
            return change_set
        return change_set._replace(
            expects=(expected(hot),),
            checkpoints=(_outcome(hot, item["name"], answer),),
            lifts=(Lift(batch_blocker(rules.batch_of(record)), hot.id),),
        )

    async def _costly(self, item: CallBody, spent: Reported, cost: MicroUsd) -> tuple[Any, ...]:
        if not cost and not spent.tokens_in and not spent.tokens_out:
            return ()
        attempts = await self._store.attempts(TaskId(item["task_id"]))
        return tuple(rules.with_cost(each, cost, spent) for each in attempts if each.number == item["attempt"])

    async def _fitting(self, batch_id: TaskId, result: CollectedCall) -> dict[str, Json]:
        """What its task gets. An answer that is too large for a row becomes an artifact of the task.

        It was paid for, so one that cannot be kept at all becomes an error that says so.
        """
        outcome: dict[str, Json] = {"outcome": result.outcome, "answer": result.answer, "status": result.status}
        try:
            encode(outcome, field="answer", max_bytes=self._ledger.options.sizes.max_output_bytes)
        except InvalidInput as refusal:
            if result.outcome is not CallOutcome.ANSWERED:
                return {**outcome, "answer": str(refusal)}
            try:
                return {**outcome, "answer": await self._given(batch_id, result)}
            except InvalidInput as error:
                return {"outcome": CallOutcome.FAILED, "answer": str(error), "status": None}
        return outcome

    async def _given(self, batch_id: TaskId, result: CollectedCall) -> dict[str, Json] | None:
        """What stands for an answer that its task was given as an artifact; None where no task has a use for it."""
        record = await self._store.record(rules.KIND, self._workspace, rules.item_id(batch_id, result.custom_id))
        if record is None:
            return None  # settled before
        item = ITEM.of(record)
        task_id = TaskId(item["task_id"])
        hot = (await self._store.load([task_id])).get(task_id)
        if hot is None or not rules.may_use(hot, item):
            return None
        try:
            return await self._artifacts.give(hot, item["name"], result.answer)
        except LeaseLost:
            return None  # it has ended

    # For people

    async def list(self, *, limit: int = 50) -> list[ProviderBatchView]:
        """The newest batches."""
        limit = fields.whole(limit, "limit", least=1, most=MOST_LISTED)
        prefix = rules.batch_record(self._workspace, "")
        found = await self._store.page(rules.BATCH, EVERYWHERE, prefix=prefix, limit=limit)
        return [await self._view(each) for each in found]

    async def get(self, batch_id: str) -> ProviderBatchView:
        """A batch, by the id of its task."""
        return await self._view(await self._batch(TaskId(batch_id)))

    async def forget_pruned(self) -> PruneStep:
        """Forget batches whose tasks are gone, of all workspaces."""
        return await self._records.forget_pruned()

    # What these are made of

    async def _batch(self, batch_id: TaskId) -> Record:
        record = await self._store.record(rules.BATCH, EVERYWHERE, rules.batch_record(self._workspace, batch_id))
        if record is None:
            raise NotFound("provider batch", batch_id)
        return record

    async def _sender(self, task_id: str, lease: str) -> Hot:
        hot = await self._ledger.held(TaskId(task_id), Lease(lease))
        if not hot.traits & Trait.GATHERS:
            raise InvalidInput("task_id", f"{hot.id} sends no provider batch")
        return hot

    async def _items(self, batch_id: TaskId, below: str | None, limit: int) -> list[Record]:
        end = None if below is None else rules.item_id(batch_id, below)
        return await self._store.page(
            rules.KIND, self._workspace, prefix=rules.item_prefix(batch_id), below=end, limit=limit
        )

    async def _view(self, record: Record) -> ProviderBatchView:
        batch_id = TaskId(PROVIDER_BATCH.of(record)["task_id"])
        hot = (await self._store.load([batch_id])).get(batch_id)
        return batch_view(record, hot, len(await self._items(batch_id, None, COUNTED)))

    async def _is_waited_for(self, record: Record) -> bool:
        item = ITEM.of(record)
        task_id = TaskId(item["task_id"])
        return rules.waits_for((await self._store.load([task_id])).get(task_id), item)

    async def _let_go(self, record: Record) -> None:
        """Give back what a call had reserved that will not be sent."""

        async def decide() -> tuple[ChangeSet | None, None]:
            fresh = await self._store.record(record.kind, record.workspace, record.id)
            if fresh is None:
                return None, None
            spends = rules.settled(ITEM.of(fresh), self._workspace, None, MicroUsd(0))
            return ChangeSet(records=(rules.over(fresh),), spends=spends, at=self._ledger.now()), None

        await self._ledger.commit(decide)


def _failed(outcome: Mapping[str, Json]) -> BatchCall:
    status = outcome.get("status")
    return BatchCall(CallState.FAILED, outcome.get("answer"), status if isinstance(status, int) else None)


def _outcome(hot: Hot, wait_note: str, answer: Mapping[str, Json]) -> Checkpoint:
    return Checkpoint(hot.id, f"{wait_note}=", hot.attempt, compact(dict(answer)))


def _event(
    hot: Hot,
    outcome: str,
    batch: str,
    at: Micros,
    item: CallBody | None = None,
    spent: Reported | None = None,
    cost: MicroUsd | None = None,
) -> Event:
    """What metrics count of a call that was settled after its attempt had ended."""
    facts: dict[str, Json] = {"batch": batch.partition("/")[0], "outcome": outcome}
    if item is not None:
        facts |= {"type": item["type"], "agent": item["agent"]}
    if cost:
        facts["cost"] = cost
    if spent is not None and spent.model is not None:
        facts["model"] = spent.model
    attempt = hot.attempt if item is None else item["attempt"]
    return Event("task.batched", hot.workspace, hot.id, dag_of(hot), at, None, None, attempt, compact(facts))
