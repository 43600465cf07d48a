"""Every change a task can go through, as pure functions.

Nothing here reads a clock, draws a random number, or touches a store. A verb that a task's state does not allow raises
`IllegalTransition`, which names both. What else is stored with a change (attempts, money, blockers) is `outcomes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from taskyard.core.changes import Beat, Change, Event
from taskyard.core.errors import IllegalTransition
from taskyard.core.json_value import Json, compact
from taskyard.core.lease import extended_end, numbered
from taskyard.core.named_rows import new_row
from taskyard.core.runtime import named
from taskyard.core.task import (
    HELD,
    KEY_HELD,
    LET_GO,
    WAITING,
    AgentId,
    DagId,
    Hot,
    LaneId,
    Reason,
    RuntimeId,
    Status,
    Trait,
    claimed,
    dag_of,
    due_by,
    earlier,
    ended,
    key_once_started,
    lone_dag,
    session_after,
    time_limit,
)
from taskyard.core.units import SECOND, Micros, MicroUsd

Facts = Mapping[str, Json] | None  # what an event tells besides, for those who count
_NOTHING = MicroUsd(0)

# The published state machine, from which docs/state-machine.md is made.
# verb -> state it is allowed in -> states it may lead to
GRAPH: dict[str, dict[Status, frozenset[Status]]] = {
    "create": {Status.CREATED: frozenset({Status.PENDING, Status.READY})},
    "ready": {Status.PENDING: frozenset({Status.READY})},
    "park": {Status.READY: frozenset({Status.PENDING})},
    "claim": {Status.READY: frozenset({Status.CLAIMED, Status.RUNNING})},
    "start": {
        Status.CLAIMED: frozenset({Status.RUNNING}),
        Status.RUNNING: frozenset({Status.RUNNING}),
    },
    "beat": {status: frozenset({status}) for status in HELD},
    "complete": {Status.RUNNING: frozenset({Status.COMPLETED})},
    "submit": {Status.RUNNING: frozenset({Status.VALIDATING})},
    "approve": {Status.VALIDATING: frozenset({Status.COMPLETED})},
    "retry": {
        status: frozenset({Status.RETRYING, Status.READY})
        for status in (Status.CLAIMED, Status.RUNNING, Status.VALIDATING)
    },
    "bury": {
        status: frozenset({Status.DEAD_LETTERED}) for status in (Status.CLAIMED, Status.RUNNING, Status.VALIDATING)
    },
    "promote": {Status.RETRYING: frozenset({Status.READY})},
    "release": {status: frozenset({Status.READY}) for status in HELD},
    "suspend": {Status.RUNNING: frozenset({Status.PENDING})},
    "cancel": {
        **{status: frozenset({Status.CANCELLED}) for status in WAITING | HELD},
        Status.VALIDATING: frozenset({Status.CANCELLED}),
        Status.DEAD_LETTERED: frozenset({Status.CANCELLED}),
    },
    "revive": {Status.DEAD_LETTERED: frozenset({Status.RETRYING, Status.READY})},
    "escalate": {Status.DEAD_LETTERED: frozenset({Status.DEAD_LETTERED})},
    "signal": {status: frozenset({status}) for status in WAITING | HELD},
    "adopt": {status: frozenset({status}) for status in HELD},
    "need": {status: frozenset({status}) for status in WAITING | KEY_HELD | {Status.COMPLETED, Status.DEAD_LETTERED}},
    "reprioritise": {status: frozenset({status}) for status in WAITING},
    "relane": {status: frozenset({status}) for status in WAITING | KEY_HELD},
    "pin": {status: frozenset({status}) for status in HELD},
    "file": {status: frozenset({status}) for status in WAITING | KEY_HELD},
    "step": {status: frozenset({status}) for status in HELD},
}

# verb -> its event. A claim that starts at once has the event of a start; a heartbeat has none.
EVENTS: dict[str, str] = {
    "create": "task.created",
    "ready": "task.ready",
    "park": "task.parked",
    "claim": "task.claimed",
    "start": "task.running",
    "complete": "task.completed",
    "submit": "task.validating",
    "approve": "task.completed",
    "retry": "task.retrying",
    "bury": "task.dead_lettered",
    "promote": "task.ready",
    "release": "task.released",
    "suspend": "task.suspended",
    "cancel": "task.cancelled",
    "revive": "task.revived",
    "escalate": "task.escalated",
    "signal": "task.signalled",
    "adopt": "task.adopted",
    "need": "task.needed",
    "reprioritise": "task.reprioritised",
    "relane": "task.relaned",
    "pin": "task.session",
    "file": "task.artifact",
    "step": "task.step",
}


def allow(hot: Hot, verb: str) -> None:
    """Refuse a verb that the state graph has no edge for."""
    if hot.status not in GRAPH[verb]:
        raise IllegalTransition(hot.id, hot.status, verb)


def created_event(hot: Hot, created_by: str, type_: str) -> Event:
    """A task comes in: ready at once, or pending where something blocks it."""
    data = _creation_data(hot.status is Status.PENDING, type_, created_by)
    return _event_with(hot, "create", hot.created_at, data)


def created_event_like(event: Event, hot: Hot) -> Event:
    """The event of a task that comes in as the one of this event did: of the same type, state, author and DAG."""
    name, workspace, _, _, _, version, status, attempt, data = event
    return Event(name, workspace, hot.id, dag_of(hot), hot.created_at, version, status, attempt, data)


# The same for most tasks of a batch.
@lru_cache(maxsize=256)
def _creation_data(is_pending: bool, type_: str, created_by: str) -> str:
    through: list[Json] = ["created"] if is_pending else ["created", "pending"]
    return compact({"through": through, "type": type_, "by": created_by})


def ready(hot: Hot, *, now: Micros) -> Change:
    """The last blocker is gone."""
    allow(hot, "ready")
    return _step(hot, "ready", now, {}, status=Status.READY, wake_at=None)


def park(hot: Hot, *, blocker: str, now: Micros) -> Change:
    """A claim met a ceiling that more than this agent stands under: put the task aside until there is room."""
    allow(hot, "park")
    data: dict[str, Json] = {"blocker": blocker}
    return _step(hot, "park", now, data, status=Status.PENDING, wait=hot.wait + 1)


def claim(
    hot: Hot,
    *,
    agent: AgentId,
    runtime: RuntimeId | None,
    lease: str,
    circuit: int,
    reserved: MicroUsd,
    start: bool,
    now: Micros,
    claim_ttl: int | None = None,
    agent_type: str | None = None,
    type_slot: bool = False,
) -> Change:
    """Lease the task to an agent. Where there is no claim time, or the agent starts at once, it is running already.

    An agent may have a claim time of its own, for the tasks that have one.
    """
    allow(hot, "claim")
    allowed = hot.claim_ttl if claim_ttl is None or hot.claim_ttl == 0 else claim_ttl
    started = start or allowed == 0
    expires = Micros(now + (hot.lease_sec if started else allowed) * SECOND)
    limit = time_limit(hot, now) if started else None
    after = claimed(
        hot,
        Status.RUNNING if started else Status.CLAIMED,
        agent,
        agent_type,
        int(type_slot),
        runtime,
        numbered(lease, hot.attempt + 1),
        now,
        now if started else None,
        expires,
        limit,
        earlier(expires, limit),
        circuit,
        reserved,
        key_once_started(hot) if started else hot.idempotency_key,
    )
    before, behind = claim_data(agent, runtime, started=started)
    event = _event_with(after, "start" if started else "claim", now, f"{before}{now - hot.updated_at}{behind}")
    return new_row(Change, (hot, after, event, False, False))


# The same for all tasks of a claim.
@lru_cache(maxsize=256)
def claim_data(agent: AgentId, runtime: RuntimeId | None, *, started: bool) -> tuple[str, str]:
    """The data of a claim's event, before and after how long the task waited: since its last step, mostly `ready`."""
    data: dict[str, Json] = {"from": Status.READY.value, "agent": agent}
    more = named(runtime)
    if started:
        more["through"] = ["claimed"]
    return compact(data)[:-1] + ',"waited":', f",{compact(more)[1:]}" if more else "}"


def start(hot: Hot, *, now: Micros) -> Change | None:
    """The agent begins. Nothing changes where it has begun already."""
    allow(hot, "start")
    if hot.status is Status.RUNNING:
        return None
    return _step(
        hot,
        "start",
        now,
        {"agent": hot.agent},
        status=Status.RUNNING,
        started_at=now,
        heartbeat_at=now,
        lease_expires_at=Micros(now + hot.lease_sec * SECOND),
        limit_at=time_limit(hot, now),
        idempotency_key=key_once_started(hot),
    )


def may_beat(hot: Hot, heartbeat: Beat) -> bool:
    """Whether the heartbeat is that of the agent which has the task."""
    return hot.status in HELD and hot.lease == heartbeat.lease and heartbeat.workspace in (None, hot.workspace)


def beat(hot: Hot, heartbeat: Beat, *, now: Micros) -> Hot:
    """The agent is alive. Unversioned, and a claim that is not started yet keeps its own deadline."""
    allow(hot, "beat")
    running = hot.status is Status.RUNNING
    return hot._replace(
        heartbeat_at=now,
        lease_expires_at=extended_end(hot, now) if running else hot.lease_expires_at,
        progress=hot.progress if heartbeat.progress is None else heartbeat.progress,
        spent=hot.spent if heartbeat.cost is None else heartbeat.cost,
        tokens_in=hot.tokens_in if heartbeat.tokens_in is None else heartbeat.tokens_in,
        tokens_out=hot.tokens_out if heartbeat.tokens_out is None else heartbeat.tokens_out,
        tokens_cached=heartbeat.tokens_cached or hot.tokens_cached,
    )


def complete(hot: Hot, *, validated: bool, now: Micros, facts: Facts = None, lease_unchanged: bool = False) -> Change:
    """Accept the output. Everything that waits for it may go."""
    allow(hot, "complete")
    data: dict[str, Json] = {"from": hot.status.value, "agent": hot.agent, **(facts or {})}
    if validated:
        data["through"] = ["validating"]
    after = ended(hot, Status.COMPLETED, now)
    return Change(hot, after, _event(after, "complete", now, data), lease_unchanged=lease_unchanged)


def submit(hot: Hot, *, now: Micros, cost: MicroUsd = _NOTHING, facts: Facts = None) -> Change:
    """Hand the output in for a verdict. The lease and the slot end; key and money stay taken."""
    allow(hot, "submit")
    # What the attempt cost is spent by now: held and spent together stay what was reserved.
    left = MicroUsd(max(hot.reserved - cost, 0))
    kept: dict[str, Any] = {"reserved": left, "circuit": hot.circuit}
    kept |= {"claimed_at": hot.claimed_at, "agent_type": hot.agent_type}  # they say under which ceilings the money is
    return _step(hot, "submit", now, {"agent": hot.agent, **(facts or {})}, status=Status.VALIDATING, **LET_GO | kept)


def approve(hot: Hot, *, now: Micros, facts: Facts = None) -> Change:
    """The verdict is good."""
    allow(hot, "approve")
    data: dict[str, Json] = {"agent": hot.agent, **(facts or {})}
    return _step(hot, "approve", now, data, status=Status.COMPLETED, rescore_at=None, **_let_go(hot))


def retry(
    hot: Hot,
    *,
    reason: str,
    error: str,
    counted: bool,
    wake_at: Micros,
    now: Micros,
    lane: LaneId | None = None,
    parked: bool = False,
    facts: Facts = None,
) -> Change:
    """The attempt failed and there will be another, after its delay."""
    allow(hot, "retry")
    waits = wake_at > now
    data: dict[str, Json] = {
        "through": [*_failing(hot, reason), *([] if waits else ["retrying"])],
        "reason": reason,
        "error": error[:500],
        "agent": hot.agent,
        **(facts or {}),
    }
    return _step(
        hot,
        "retry",
        now,
        data,
        status=Status.RETRYING if waits else Status.READY,
        wake_at=wake_at if waits else None,
        failures=hot.failures + counted,
        parks=hot.parks + 1 if parked else hot.parks,
        losses=hot.losses + 1 if not counted and not parked else hot.losses,
        lane=hot.lane if lane is None else lane,
        session=session_after(hot, reason),
        ran=Micros(0),
        **_let_go(hot),
    )


def bury(hot: Hot, *, reason: str, error: str, counted: bool, poison: bool, now: Micros, facts: Facts = None) -> Change:
    """The last attempt failed: the task waits for a person."""
    allow(hot, "bury")
    data: dict[str, Json] = {
        "through": _failing(hot, reason),
        "reason": reason,
        "error": error[:500],
        "agent": hot.agent,
        "poison_pill": poison,
        **(facts or {}),
    }
    return _step(
        hot,
        "bury",
        now,
        data,
        status=Status.DEAD_LETTERED,
        failures=hot.failures + counted,
        session=session_after(hot, reason),
        ran=Micros(0),
        rescore_at=None,
        **_let_go(hot),
    )


def _failing(hot: Hot, reason: str) -> list[Json]:
    """The states that a failing attempt passes through: an output that is refused at once was looked at first."""
    was_looked_at = reason == Reason.INVALID_OUTPUT and hot.status is not Status.VALIDATING
    return ["validating", "failed"] if was_looked_at else ["failed"]


def promote(hot: Hot, *, now: Micros) -> Change:
    """The delay is over."""
    allow(hot, "promote")
    return _step(hot, "promote", now, {}, status=Status.READY, wake_at=None)


def release(hot: Hot, *, now: Micros, facts: Facts = None) -> Change:
    """The agent gives the task back unfinished. No attempt is counted."""
    allow(hot, "release")
    data: dict[str, Json] = {"agent": hot.agent, **(facts or {})}
    return _step(hot, "release", now, data, status=Status.READY, **_let_go(hot))


def suspend(hot: Hot, *, blockers: list[str], wake_at: Micros | None, now: Micros, facts: Facts = None) -> Change:
    """The task waits for something else and frees all it holds; its time limit stops."""
    allow(hot, "suspend")
    ran = hot.ran + now - (hot.started_at or now)
    data: dict[str, Json] = {"agent": hot.agent, "blockers": list[Json](blockers), **(facts or {})}
    return _step(
        hot,
        "suspend",
        now,
        data,
        status=Status.PENDING,
        wait=hot.wait + 1,
        wake_at=wake_at,
        ran=Micros(ran),
        **_let_go(hot),
    )


def cancel(hot: Hot, *, reason: str, now: Micros, facts: Facts = None) -> Change:
    """Take the task out of the yard for good."""
    allow(hot, "cancel")
    # A running task is cancelled at once: its agent hears of it at its next heartbeat, and its late result is refused.
    return _step(
        hot,
        "cancel",
        now,
        {"reason": reason, **(facts or {})},
        status=Status.CANCELLED,
        why=reason,
        wake_at=None,
        rescore_at=None,
        **_let_go(hot),
    )


def revive(hot: Hot, *, resolution: str, by: str, lane: LaneId, now: Micros, run_after: Micros | None = None) -> Change:
    """A person, or an orchestrator, gives a dead letter another set of attempts, now or when they choose."""
    allow(hot, "revive")
    data: dict[str, Json] = {"resolution": resolution, "by": by}
    wake_at = run_after if run_after is not None and run_after > now else None
    status = Status.READY if wake_at is None else Status.RETRYING
    return _step(hot, "revive", now, data, status=status, failures=0, parks=0, losses=0, lane=lane, wake_at=wake_at)


def escalate(hot: Hot, *, by: str, note: str, now: Micros) -> Change:
    """A person puts the dead letter before another person."""
    allow(hot, "escalate")
    return _step(hot, "escalate", now, {"by": by, "note": note})


def signal(hot: Hot, *, name: str, by: str, now: Micros) -> Change:
    """A signal reached the task. The version moves, so that a wait decided without it is decided again."""
    allow(hot, "signal")
    return _step(hot, "signal", now, {"signal": name, "by": by})


def adopt(hot: Hot, *, dag_id: DagId, now: Micros) -> Change:
    """A lone task becomes the first of a graph, because it spawns."""
    allow(hot, "adopt")
    return _step(hot, "adopt", now, {"dag_id": dag_id}, dag_id=dag_id)


def need(hot: Hot, *, now: Micros) -> Change:
    """A task of another graph comes to depend on this one. When it was made ready, or ended, stays as it was."""
    allow(hot, "need")
    change = _step(hot, "need", now, {}, traits=int(hot.traits | Trait.NEEDED))
    return change._replace(after=change.after._replace(updated_at=hot.updated_at))


def reprioritise(hot: Hot, *, priority: int, rank: int, by: str, now: Micros) -> Change:
    """A person moves the task within its lane."""
    allow(hot, "reprioritise")
    return _step(hot, "reprioritise", now, {"priority": priority, "by": by}, rank=rank)


def relane(hot: Hot, *, lane: LaneId, now: Micros) -> Change:
    """A migration puts the task where the agents that may claim it look for it."""
    allow(hot, "relane")
    return _step(hot, "relane", now, {}, lane=lane)


def pin(hot: Hot, *, session: str, now: Micros) -> Change:
    """Remember where the agent's conversation can be resumed."""
    allow(hot, "pin")
    return _step(hot, "pin", now, {"agent": hot.agent}, session=session)


def file(hot: Hot, *, artifact: str, name: str, now: Micros) -> Change:
    """An attempt has put an artifact, or its task was given one: its completion is to look for what was put."""
    allow(hot, "file")
    data: dict[str, Json] = {"agent": hot.agent, "artifact": artifact, "name": name}
    return _step(hot, "file", now, data, traits=int(hot.traits | Trait.FILED))


def step(hot: Hot, *, own: Facts, totals: Mapping[str, Any], now: Micros) -> Change:
    """The result of a step is stored, and with it what the attempt has cost so far. `own` is about the step alone.

    `totals` are fields of the row: what was spent, and tokens.
    """
    allow(hot, "step")
    cost = totals.get("spent")
    facts: dict[str, Json] = {**(own or {}), "agent": hot.agent, **({} if cost is None else {"cost": cost})}
    return _step(hot, "step", now, facts, **totals)


def _let_go(hot: Hot) -> dict[str, Any]:
    """The fields that the end of an attempt clears. The agent and runtime of the last attempt stay, for readers."""
    if hot.lease is None and hot.claimed_at is None and not hot.reserved and not hot.circuit:
        return {}
    return LET_GO


def _step(
    hot: Hot, verb: str, now: Micros, data: dict[str, Json], lease_unchanged: bool = False, **fields: Any
) -> Change:
    # Copying a row is what a step costs, so what follows from its new fields is worked out before it.
    if "due_at" not in fields:
        get = fields.get
        fields["due_at"] = due_by(
            get("status", hot.status),
            get("lease_expires_at", hot.lease_expires_at),
            get("limit_at", hot.limit_at),
            get("wake_at", hot.wake_at),
            get("expires_at", hot.expires_at),
        )
    fields["version"] = hot.version + 1
    fields["updated_at"] = now
    after = hot.altered(fields)
    if after.status is not hot.status:
        data = {"from": hot.status.value, **data}
    return Change(hot, after, _event(after, verb, now, data), lease_unchanged=lease_unchanged)


def _event(hot: Hot, verb: str, at: Micros, data: dict[str, Json]) -> Event:
    return _event_with(hot, verb, at, compact(data) if data else None)


def _event_with(hot: Hot, verb: str, at: Micros, text: str | None) -> Event:
    dag = hot.dag_id or lone_dag(hot.id)  # as `dag_of`, which every step of every task would call
    return new_row(Event, (EVENTS[verb], hot.workspace, hot.id, dag, at, hot.version, hot.status, hot.attempt, text))
