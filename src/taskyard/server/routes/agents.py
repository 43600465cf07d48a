"""Agents and the runtimes that host them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from taskyard.api import calls, openapi, requests
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.core.agent import AgentStatus
from taskyard.features.agents.views import AgentView, Orphans, RuntimeView
from taskyard.features.tokens.rules import Role
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("agents")
AGENTS = openapi.answer("Agents", agents=list[AgentView])
STATE = openapi.answer("AgentState", status=AgentStatus)
RUNTIMES = openapi.answer("Runtimes", runtimes=list[RuntimeView])
AgentAt = Annotated[str, Path(description="An agent's id; for budget and grant, its type.", max_length=255)]
# Calls whose every field may be left out come without a body too.
HEARTBEAT, ORPHANED = requests.RuntimeHeartbeat(), requests.Orphaned()
RuntimeAt = Annotated[str, Path(description="A runtime's id.", max_length=255)]


@routes.add(calls.REGISTER, model(AgentView), status=201)
async def register(caller: Calling, asked: requests.RegisterAgent) -> Response:
    """Say who can work, and at what. Registering again changes what is known, but nothing that an operator has set."""
    name = await caller.registering(asked.id, asked.type, asked.runtime_id, asked.incarnation)
    is_agent = caller.token.role is Role.AGENT
    await caller.yard.agents.register(
        name.id,
        name.type,
        capabilities=asked.capabilities,
        models=asked.models_available,
        types=asked.types,
        max_concurrent_tasks=asked.max_concurrent_tasks,
        budget_usd=asked.budget_usd,
        budget_per=asked.budget_per,
        runtime_id=asked.runtime_id,
        incarnation=asked.incarnation,
        poll_interval_sec=asked.poll_interval_sec,
        claim_ttl_sec=asked.claim_ttl_sec,
        orchestrator=asked.orchestrator and not is_agent,
        keep=asked.keep,
        token=caller.token_id,
        by=caller.by,
    )
    return answer(write(await caller.yard.agents.get(name.id)), 201)


@routes.add(calls.AGENTS, AGENTS)
async def agents(caller: Calling) -> Response:
    """Who is registered, what they can do, and what they are at."""
    return answer({"agents": write(await caller.yard.agents.list())})


@routes.add(calls.AGENT_HEARTBEAT, STATE)
async def agent_heartbeat(caller: Calling, agent_id: AgentAt) -> Response:
    """An idle agent says that it is there, and hears whether it should go on."""
    await caller.must_work_as(agent_id)
    return answer({"status": (await caller.yard.agents.heartbeat(agent_id)).value})


@routes.add(calls.DRAIN, DONE)
async def drain_agent(caller: Calling, agent_id: AgentAt) -> Response:
    """Let the agent finish what it holds; it gets nothing new."""
    await caller.yard.agents.drain(agent_id, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.RESUME, DONE)
async def resume_agent(caller: Calling, agent_id: AgentAt) -> Response:
    """Give a draining agent work again."""
    await caller.yard.agents.resume(agent_id, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.SIGN_OFF, DONE)
async def sign_off_agent(caller: Calling, agent_id: AgentAt) -> Response:
    """The agent is gone on purpose."""
    await caller.must_work_as(agent_id)
    await caller.yard.agents.sign_off(agent_id, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.AGENT_BUDGET, DONE)
async def set_agent_budget(caller: Calling, agent_id: AgentAt, asked: requests.AgentBudget) -> Response:
    """What all agents of a type may spend, or one id by itself; null: no limit."""
    await caller.yard.agents.set_budget(
        agent_id, asked.budget_usd, budget_per=asked.budget_per, take_back=asked.take_back, by=caller.by
    )
    return answer({"ok": True})


@routes.add(calls.REMOVE_AGENT, DONE)
async def remove_agent(caller: Calling, agent_id: AgentAt) -> Response:
    """Forget an agent; what it holds is tried by others."""
    await caller.yard.agents.remove(agent_id, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.REGISTER_RUNTIME, DONE, status=201)
async def register_runtime(caller: Calling, asked: requests.RegisterRuntime) -> Response:
    """A machine that hosts agents says that it has started; with an incarnation, one process of it does."""
    await caller.must_host(asked.id, asked.incarnation)
    await caller.yard.runtimes.register(
        asked.id, incarnation=asked.incarnation, hostname=asked.hostname, pid=asked.pid, version=asked.version
    )
    return answer({"ok": True}, 201)


@routes.add(calls.RUNTIMES, RUNTIMES)
async def runtimes(caller: Calling) -> Response:
    """What hosts agents, and when it was last heard of."""
    return answer({"runtimes": write(await caller.yard.runtimes.list())})


@routes.add(calls.RUNTIME_HEARTBEAT, DONE)
async def runtime_heartbeat(
    caller: Calling, runtime_id: RuntimeAt, asked: requests.RuntimeHeartbeat = HEARTBEAT
) -> Response:
    """Keep a runtime alive, or one process of it, and the leases of tasks whose preset ties them to it."""
    await caller.must_host(runtime_id, asked.incarnation)
    await caller.yard.runtimes.heartbeat(runtime_id, incarnation=asked.incarnation, keep_leases=asked.keep_leases)
    return answer({"ok": True})


@routes.add(calls.ORPHANS, model(Orphans))
async def orphans(caller: Calling, runtime_id: RuntimeAt, asked: requests.Orphaned = ORPHANED) -> Response:
    """A runtime that has restarted gives up what it held before; with an incarnation, only what that process held."""
    await caller.must_host(runtime_id, asked.incarnation)
    found = await caller.yard.runtimes.orphans(runtime_id, incarnation=asked.incarnation)
    return answer(write(found))
