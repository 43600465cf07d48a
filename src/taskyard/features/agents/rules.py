"""Who may register as what, when an agent counts as gone, and whom an agent may make work for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from taskyard.core.agent import AgentStatus, AgentType, Budget, Grant, RegisteredAgent
from taskyard.core.json_value import Json
from taskyard.core.units import DAY, SECOND, Micros, seconds, to_usd

SILENCE = Micros(75 * SECOND)  # from which on an agent counts as gone; one that asks seldom has three of its intervals
PULSE_EVERY = Micros(5 * SECOND)  # an agent is noted as heard of at most so often by each process
MOST_IDS = 1000  # of a type, where they register with tokens
FORGOTTEN_AFTER = Micros(7 * DAY)  # of silence, with nothing to do and nothing meant for it


def granted(type_: AgentType, agent_id: str | None, given: Grant | None) -> AgentType:
    """The type after somebody is given a token for it, or for one id of it. None: what was granted before stays."""
    if agent_id is None:
        return replace(type_, grant=given or type_.grant or Grant())
    own = given or type_.id_grants.get(agent_id) or Grant()
    return replace(type_, id_grants={**type_.id_grants, agent_id: own})


def registered(known: RegisteredAgent | None, asked: RegisteredAgent, *, keep: bool) -> RegisteredAgent:
    """What is stored of an agent that registers. The budget of an id is an operator's word, and stays.

    With `keep`, only capabilities are added: who drains goes on draining, and who was gone is back.
    """
    if known is None:
        return asked
    if not keep:
        return replace(asked, budget=known.budget)
    status = AgentStatus.ACTIVE if known.status is AgentStatus.OFFLINE else known.status
    return replace(known, capabilities=known.capabilities | asked.capabilities, status=status)


def is_silent(agent: RegisteredAgent, heard: Micros | None, now: Micros) -> bool:
    """Whether an agent is not heard of any more, and did not sign off."""
    patience = max(SILENCE, seconds(3 * agent.poll_interval_sec))
    return agent.status is not AgentStatus.OFFLINE and (heard is None or heard < now - patience)


def longest_gone(
    agents: Collection[RegisteredAgent], heard: Mapping[str, Micros], now: Micros
) -> list[RegisteredAgent]:
    """Those that signed off or are silent, the longest silent first."""
    gone = [each for each in agents if each.status is AgentStatus.OFFLINE or is_silent(each, heard.get(each.id), now)]
    return sorted(gone, key=lambda agent: (heard.get(agent.id, 0), agent.id))


def beyond_grant(agent: RegisteredAgent, type_: AgentType) -> str | None:
    """What an agent that registers asks for and was not granted, in words; None where there is nothing."""
    if lacking := sorted(each for each in agent.capabilities if not type_.has(agent.id, each)):
        return f"the capability {lacking[0]}"
    for grant in type_.grants_of(agent.id):
        if agent.types is not None and grant.types is not None and (others := sorted(agent.types - grant.types)):
            return f"tasks of the type {others[0]}"
    return None


def name_conflict(agent_id: str, type_: str, types: Collection[str], ids: Mapping[str, str]) -> str | None:
    """Why an id may not be registered under a type; None where it may. `ids` says the type of each known id.

    A name means one agent. Whoever could be called by the name of another type, or of an id of another type, would get
    the work and the messages that are addressed there. An id may have the name of its own type.
    """
    if (owner := ids.get(agent_id, type_)) != type_:
        return f"{agent_id} is an agent of the type {owner}"
    if agent_id != type_ and agent_id in types:
        return f"{agent_id} is the name of a type"
    if (owner := ids.get(type_, type_)) != type_:
        return f"{type_} is an agent of the type {owner}, and no type of its own"
    return None


def budget_moved(type_: str, before: Budget, after: Budget) -> dict[str, Json]:
    """What an event tells of a budget that somebody has changed."""
    return {"type": type_, "from": _as_json(before), "to": _as_json(after)}


def _as_json(budget: Budget) -> Json:
    return None if budget.amount is None else {"usd": to_usd(budget.amount), "per": budget.per.value}


def refusal(maker: RegisteredAgent, addressed: Sequence[str], *, spawns: bool) -> str | None:
    """Why an agent may not make work for these, given by id or by type; None where it may."""
    if maker.orchestrator:
        return None
    if not spawns:
        return f"{maker.id} is no orchestrator, and makes work only by spawning it from the task that it holds"
    others = [target for target in addressed if target not in (maker.id, maker.type)]
    if not others:
        return None
    return (
        f"{maker.id} is no orchestrator, and only an orchestrator or a person may address work to {others[0]}; "
        "without `agent` it goes to whoever can do it"
    )
