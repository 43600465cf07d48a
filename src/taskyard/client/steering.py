"""What people and orchestrators do, over HTTP: steer tasks and graphs, agents and queues, money and tokens.

Who did it is said by the token: `by`, `sent_by` and `created_by` are there because the local yard has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.body import body, draft, several
from taskyard.client.producing import LOCAL
from taskyard.client.working import Working
from taskyard.core.agent import Agent, AgentStatus, Grant, Slots
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.features.agents.views import AgentView, Orphans, registered_agent
from taskyard.features.attempts.views import Receipt
from taskyard.features.breakers.views import BreakerPolicyView
from taskyard.features.budgets.views import SettingsView
from taskyard.features.tasks.answers import Acted, Cancelled
from taskyard.features.tasks.views import Task
from taskyard.features.tokens.rules import Token
from taskyard.features.tokens.views import Issued

ISSUE = "issue:"
_SEVERAL = ("status", "type")  # of which a filter may name some


class Steering(Working):
    # Tasks and graphs

    async def cancel(
        self,
        task_id: str,
        reason: str = "cancelled",
        *,
        cascade: bool | None = None,
        by: str | None = None,
        dry_run: bool = False,
    ) -> Cancelled:
        """Take a task out of the yard, and by default what depends on it and what it spawned; or only say which."""
        request = body(reason=reason, cascade=cascade, dry_run=dry_run)
        return read(Cancelled, await self._ask_about(calls.CANCEL, task_id, request))

    async def cancel_dag(
        self, dag_id: str, reason: str = "cancelled", *, by: str = LOCAL, dry_run: bool = False
    ) -> Cancelled:
        """Cancel every task of a graph that has not ended; or only say which."""
        request = body(reason=reason, dry_run=dry_run)
        return read(Cancelled, await self._ask(calls.CANCEL_DAG, request, dag_id=dag_id))

    async def rerun(self, task_id: str, *, created_by: str = LOCAL) -> Task:
        """Do a finished task again as a new task with a fresh session. The old one stays as it is."""
        return _created(read(Task, await self._ask_about(calls.RERUN, task_id)))

    async def rerun_subject(self, subject: str, *, task_id: str | None = None, created_by: str = LOCAL) -> Task:
        """Do the latest task about an issue again, or the one given, as a new task with a fresh session."""
        issue_id = subject.removeprefix(ISSUE)
        if issue_id == subject:
            raise InvalidInput("subject", f"must be {ISSUE}ID, where it is asked for over HTTP")
        answer = await self._ask(calls.RERUN_ISSUE, body(task_id=task_id), issue_id=issue_id)
        return _created(read(Task, answer))

    async def signal(self, task_id: str, name: str, data: Json = None, *, sent_by: str = LOCAL) -> Receipt:
        """Tell a task something it waits for, or will wait for."""
        return read(Receipt, await self._ask_about(calls.SIGNAL, task_id, body(name=name, data=data)))

    async def set_priority(self, task_id: str, priority: int, *, by: str = LOCAL) -> Receipt:
        """Move a waiting task within its lane."""
        return read(Receipt, await self._ask_about(calls.PRIORITY, task_id, body(priority=priority)))

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
        request = body(resolution=resolution, reason=note, spec=draft(spec))
        return read(Receipt, await self._ask_about(calls.RESOLVE, task_id, request))

    async def act_on_all(
        self,
        action: str,
        *,
        by: str,
        dry_run: bool = False,
        priority: int | None = None,
        note: str = "",
        **which: Any,
    ) -> Acted:
        """Do something with every task that matches what `find` takes, newest first; a dry run only says which."""
        matching = {
            name: [value] if name in _SEVERAL and isinstance(value, str) else value for name, value in which.items()
        }
        request = body(action=action, filter=matching, dry_run=dry_run, priority=priority, note=note)
        return read(Acted, await self._ask(calls.BULK, request))

    # Agents and runtimes

    async def register(
        self,
        agent_id: str | None,
        type: str | None = None,
        *,
        capabilities: Iterable[str] = (),
        models: Iterable[str] = (),
        types: Iterable[str] | None = None,
        max_concurrent_tasks: int = 1,
        budget_usd: str | float | int | None = None,
        budget_per: str | None = None,
        runtime_id: str | None = None,
        incarnation: str | None = None,
        poll_interval_sec: float = 5,
        claim_ttl_sec: int | None = None,
        orchestrator: bool = False,
        keep: bool = False,
        token: str | None = None,
        by: str | None = None,
    ) -> Agent:
        """Say who can work. Registering again changes what is known and makes the agent active."""
        request = body(
            id=agent_id,
            type=type,
            capabilities=several(capabilities),
            models_available=several(models),
            types=several(types),
            max_concurrent_tasks=max_concurrent_tasks,
            budget_usd=budget_usd,
            budget_per=budget_per,
            runtime_id=runtime_id,
            incarnation=incarnation,
            poll_interval_sec=poll_interval_sec,
            claim_ttl_sec=claim_ttl_sec,
            orchestrator=orchestrator,
            keep=keep,
        )
        return registered_agent(read(AgentView, await self._ask(calls.REGISTER, request)))

    async def agent_heartbeat(self, agent_id: str) -> AgentStatus:
        """An idle agent says that it is there, and hears whether it should go on."""
        return AgentStatus((await self._ask(calls.AGENT_HEARTBEAT, agent_id=agent_id))["status"])

    async def drain_agent(self, agent_id: str, *, by: str | None = None) -> None:
        """Let the agent finish what it holds; it gets nothing new."""
        await self._ask(calls.DRAIN, agent_id=agent_id)

    async def resume_agent(self, agent_id: str, *, by: str | None = None) -> None:
        await self._ask(calls.RESUME, agent_id=agent_id)

    async def sign_off_agent(self, agent_id: str, *, by: str | None = None) -> None:
        """The agent is gone on purpose."""
        await self._ask(calls.SIGN_OFF, agent_id=agent_id)

    async def set_agent_budget(
        self,
        name: str,
        budget_usd: str | float | int | None = None,
        *,
        budget_per: str | None = None,
        take_back: bool = False,
        by: str | None = None,
    ) -> None:
        """What all agents of a type may spend together, or one id by itself. Nothing: no limit."""
        request = body(budget_usd=budget_usd, budget_per=budget_per, take_back=take_back)
        await self._ask(calls.AGENT_BUDGET, request, agent_id=name)

    async def remove_agent(self, agent_id: str, *, by: str | None = None) -> None:
        """Forget an agent; what it holds fails at once and takes the retry path."""
        await self._ask(calls.REMOVE_AGENT, agent_id=agent_id)

    async def register_runtime(
        self,
        runtime_id: str,
        *,
        incarnation: str | None = None,
        hostname: str = "",
        pid: int | None = None,
        version: str = "",
    ) -> None:
        """A machine that hosts agents says that it has started; with an incarnation, one process of it does."""
        request = body(id=runtime_id, incarnation=incarnation, hostname=hostname, pid=pid, version=version)
        await self._ask(calls.REGISTER_RUNTIME, request)

    async def runtime_heartbeat(
        self, runtime_id: str, *, incarnation: str | None = None, keep_leases: bool = True
    ) -> None:
        """Keep a runtime alive, or one process of it, and with it the leases of tasks whose preset ties them to it."""
        request = body(incarnation=incarnation, keep_leases=keep_leases)
        await self._ask(calls.RUNTIME_HEARTBEAT, request, runtime_id=runtime_id)

    async def orphans(self, runtime_id: str, *, incarnation: str | None = None) -> Orphans:
        """A runtime that has restarted gives up what it held before: it fails at once and takes the retry path."""
        request = body(incarnation=incarnation)
        return read(Orphans, await self._ask(calls.ORPHANS, request, runtime_id=runtime_id))

    # Queues, breakers, money

    async def pause_queue(self, queue: str, *, by: str = LOCAL) -> None:
        await self._ask(calls.PAUSE_QUEUE, queue=queue)

    async def resume_queue(self, queue: str, *, by: str = LOCAL) -> None:
        await self._ask(calls.RESUME_QUEUE, queue=queue)

    async def set_queue_preset(self, queue: str, name: str | None, *, by: str = LOCAL) -> None:
        """Tasks put into this queue from now on follow that preset."""
        await self._ask(calls.QUEUE_PRESET, body(preset=name), queue=queue)

    async def set_preset(self, name: str, *, by: str = LOCAL) -> None:
        """Let tasks that are put in from now on follow that preset. Those that are there keep theirs."""
        await self._ask(calls.SET_PRESET, body(preset=name))

    async def set_report_policy(self, required: bool, *, queue: str | None = None, by: str = LOCAL) -> None:
        """Whether tasks put in from now on are completed only with a decision report: in one queue, or in all."""
        await self._ask(calls.REPORT_POLICY, body(required=required, queue=queue))

    async def open_breaker(self, type_: str, *, why: str = "opened by hand", by: str = LOCAL) -> None:
        await self._ask(calls.OPEN_BREAKER, body(why=why), type=type_)

    async def close_breaker(self, type_: str, *, why: str = "closed by hand", by: str = LOCAL) -> None:
        await self._ask(calls.CLOSE_BREAKER, body(why=why), type=type_)

    async def set_breaker_policy(
        self,
        *,
        failure_threshold: int | None = None,
        half_open_after_sec: float | None = None,
        overrides: Mapping[str, int | Mapping[str, int | float]] | None = None,
        cooldownSeconds: float | None = None,  # noqa: N803 - so the preset loki has it
        by: str = LOCAL,
    ) -> BreakerPolicyView:
        """When the workspace's breakers open and let a probe through; `overrides` say what differs for a type.

        It says the whole policy: what is not given is the preset's again.
        """
        request = body(
            failure_threshold=failure_threshold,
            half_open_after_sec=half_open_after_sec,
            overrides=draft(overrides),
            cooldownSeconds=cooldownSeconds,
        )
        return read(BreakerPolicyView, await self._ask(calls.BREAKER_POLICY, request))

    async def set_budget(
        self, *, daily_budget_usd: str | float | None = None, default_reserve_usd: str | float = 0, by: str = LOCAL
    ) -> SettingsView:
        """What the workspace may spend in a day, and what a task without a maximum reserves where money is limited."""
        request = body(daily_budget_usd=daily_budget_usd, default_reserve_usd=default_reserve_usd)
        return read(SettingsView, await self._ask(calls.BUDGET, request))

    async def set_dag_budget(self, dag_id: str, ceiling_usd: str | float | None, *, by: str = LOCAL) -> None:
        """What a graph may spend in all; nothing: no limit. What waited for its money gets another chance."""
        await self._ask(calls.DAG_BUDGET, body(budget_ceiling_usd=ceiling_usd), dag_id=dag_id)

    async def set_dag_limit(self, dag_id: str, max_tasks: int | None, *, by: str = LOCAL) -> None:
        """How many tasks a graph may have in all; nothing: as many as any."""
        await self._ask(calls.DAG_LIMIT, body(max_tasks=max_tasks), dag_id=dag_id)

    # Access

    async def create_token(
        self,
        name: str,
        role: str,
        *,
        agent: str | None = None,
        agent_id: str | None = None,
        types: Iterable[str] | None = None,
        capabilities: Iterable[str] | None = None,
        queues: Iterable[str] | None = None,
        slots: Slots | None = None,
        budget_usd: str | float | int | None = None,
        budget_per: str | None = None,
        expires_in_sec: float | None = None,
        by: str = LOCAL,
    ) -> Issued:
        """A new token for this workspace. One for an agent works as that type, or as one id of it."""
        request = body(
            name=name,
            role=role,
            agent=agent,
            agent_id=agent_id,
            types=several(types),
            capabilities=several(capabilities),
            queues=several(queues),
            slots=slots,
            budget_usd=budget_usd,
            budget_per=budget_per,
            expires_in_sec=expires_in_sec,
        )
        answer = await self._ask(calls.CREATE_TOKEN, request)
        return read(Issued, answer)

    async def grant(
        self,
        agent: str,
        *,
        agent_id: str | None = None,
        types: Iterable[str] | None = None,
        capabilities: Iterable[str] | None = None,
        queues: Iterable[str] | None = None,
        slots: Slots | None = None,
        by: str = LOCAL,
    ) -> Grant:
        """What a type of agents, or one id of it, may have from its next claim on; None: as much as it asks for.

        Slots are 10 over all ids of the type where none are named; `"unlimited"` lifts that bound.
        """
        request = body(
            agent_id=agent_id,
            types=several(types),
            capabilities=several(capabilities),
            queues=several(queues),
            slots=slots,
        )
        return read(Grant, await self._ask(calls.GRANT, request, agent_id=agent))

    async def tokens(self) -> list[Token]:
        """The tokens of this workspace, oldest first."""
        return read(list[Token], (await self._ask(calls.TOKENS))["tokens"])

    async def revoke_token(self, token_id: str, *, by: str = LOCAL) -> None:
        """End a token. The next call that shows it is refused."""
        await self._ask(calls.REVOKE_TOKEN, token_id=token_id)


def _created(task: Task) -> Task:
    task.created = True
    return task
