"""What a claim may take, and in which order, said once more in other words than the core's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from taskyard.core.agent import AgentStatus, RegisteredAgent, agent_of, agent_type_of
from taskyard.core.breaker import breaker_of
from taskyard.core.changes import Limit, Record
from taskyard.core.claiming import type_money
from taskyard.core.lease import asked, mint, numbered, seal, seal_stem
from taskyard.core.planning import settings_of
from taskyard.core.task import HELD, Hot, Lane, LaneId, Status, TaskId
from taskyard.core.units import MINUTE, SECOND, Micros, utc_date
from taskyard.features.tasks.views import Held
from taskyard.stores.contract import Config
from tests.model.sides import SECRET, Side
from tests.model.steps import Step
from tests.model.violations import require

PROMISE = "a claim only of what is due, unblocked, allowed, affordable"


async def check_claim(
    side: Side, step: Step, held: Sequence[Held], before: Mapping[TaskId, Hot], after: Mapping[TaskId, Hot]
) -> None:
    for each in held:
        require(after[each.id].lease == seal(each.lease), "one live lease", f"{each} got one that is not stored")
    store, now = side.store, side.store.now()
    new = [each for each in held if before[each.id].version != after[each.id].version]
    known = _claimed_before(step, before, now)
    again = not known or (not new and known == {each.id for each in held})
    require(again, "4.4 the same request gets the same tasks again", f"{known} were claimed, and {held} were answered")
    if not new:
        return
    config = await store.config(step.workspace, LaneId(0))
    agent = next(agent_of(each) for each in _of(config, "agent") if each.id == step.given["agent_id"])
    for each in new:
        require(before[each.id].status is Status.READY, PROMISE, f"{each} was {before[each.id].status}")
        expires = before[each.id].expires_at
        require(expires is None or expires > now, PROMISE, f"{each} has expired")
        _check_allowed(config, config.lanes[before[each.id].lane], agent, step.given, now)
    mine = [hot for hot in after.values() if hot.agent == agent.id and hot.status in HELD]
    count = sum(hot.workspace == step.workspace for hot in mine)
    require(count <= agent.max_concurrent_tasks, PROMISE, f"{agent.id} holds {count}")
    _check_order(config, [before[each.id] for each in new], after, now)
    limits = await store.limits(step.workspace, None)
    for name, ceiling in _ceilings(config, limits, agent, [after[each.id] for each in new], now).items():
        used = limits[name].held + limits[name].spent if name in limits else 0
        require(ceiling is None or used <= ceiling, "within every ceiling", f"{name}: {used} of {ceiling}")


def _claimed_before(step: Step, before: Mapping[TaskId, Hot], now: Micros) -> set[TaskId]:
    """What the same request has got already, while its claim time runs."""
    request = asked(step.workspace, step.given["agent_id"], step.given["request_id"])
    stems = [seal_stem(stem) for stem in mint(SECRET, request, step.given["count"])]
    return {
        hot.id
        for hot in before.values()
        if (hot.status in HELD and hot.workspace == step.workspace and hot.agent == step.given["agent_id"])
        and hot.lease in {numbered(stem, hot.attempt) for stem in stems}
        and now < (hot.claimed_at or 0) + (hot.claim_ttl or hot.lease_sec) * SECOND
    }


def _of(config: Config, kind: str) -> list[Record]:
    return [record for record in config.records if record.kind == kind]


def _check_allowed(config: Config, lane: Lane, agent: RegisteredAgent, given: Mapping[str, Any], now: Micros) -> None:
    paused = [each.id for each in _of(config, "queue") if each.body.get("paused")]
    throttles = {each.id: cast(int, each.body["until"]) for each in _of(config, "throttle")}
    scopes = (lane.type, f"{lane.type}|{lane.model}")
    for allowed, why in (
        (agent.status is AgentStatus.ACTIVE, "the agent is not active"),
        (lane.queue not in paused, "the queue is paused"),
        (agent.capabilities >= set(lane.capabilities), "the agent cannot do it"),
        (lane.agent in (None, agent.id, agent.type), "it is for another agent"),
        (lane.type in (given.get("types") or [lane.type]), "another type was asked for"),
        (lane.queue in (given.get("queues") or [lane.queue]), "another queue was asked for"),
        (all(throttles.get(scope, 0) <= now for scope in scopes), "its scope is throttled"),
        (_may_pass(config, lane, now), "the breaker is open"),
    ):
        require(allowed, PROMISE, f"{why}: {lane}")


def _may_pass(config: Config, lane: Lane, now: Micros) -> bool:
    records = {each.id: each for each in _of(config, "breaker")}
    breaker = breaker_of(lane.workspace, lane.type, records.get(lane.type))
    return breaker.generation % 2 == 0 or (breaker.opened_at or 0) + MINUTE <= now


def _check_order(config: Config, taken: Sequence[Hot], after: Mapping[TaskId, Hot], now: Micros) -> None:
    """Lower effective priority first, then first come. Only what no ceiling could have kept back is looked at."""
    lanes = {hot.lane for hot in taken}
    probed = {hot.lane for hot in taken if after[hot.id].circuit % 2}  # of these one was to be had, whatever its place
    lanes -= probed
    left = [hot for hot in after.values() if hot.status is Status.READY and hot.lane in lanes and hot.key is None]
    for hot in taken:
        for other in left:
            cheaper = (other.reserve or 0) <= (hot.reserve or 0) and other.dag_id == hot.dag_id and other.reserve
            if not cheaper and (other.reserve or hot.reserve or other.dag_id):
                continue
            if other.expires_at is not None:
                continue
            mine, theirs = (_place(config, each, now) for each in (hot, other))
            require(mine < theirs, "4.3 lower effective priority first", f"{hot.id} before {other.id}")


def _place(config: Config, hot: Hot, now: Micros) -> tuple[int, int]:
    boost = config.lanes[hot.lane].boost
    return hot.rank - boost * now * 1_000_000 // (100 * MINUTE), hot.seq


def _ceilings(
    config: Config, limits: Mapping[str, Limit], agent: RegisteredAgent, taken: Sequence[Hot], now: Micros
) -> dict[str, int | None]:
    """The ceilings on money that were claimed under, within which is what is reserved and what was spent."""
    settings = [settings_of(each) for each in _of(config, "workspace")]
    graphs = {f"dag:{hot.dag_id}" for hot in taken if hot.dag_id}
    types = {each.id: agent_type_of(each) for each in _of(config, "agent_type")}
    budget = types[agent.type].budget
    return {
        f"agent:{agent.id}": agent.budget,
        type_money(agent.type, budget.per, now): budget.amount,
        f"day:{utc_date(now)}": settings[0].daily_budget if settings else None,
        **{name: limits[name].ceiling for name in graphs if name in limits},
    }
