"""The yard itself: queues, breakers, money, tokens, and whether all is well."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Query, Request, Response

from taskyard.api import calls, openapi, requests
from taskyard.api.codec import write
from taskyard.api.openapi import DONE, model
from taskyard.core.json_value import Json
from taskyard.core.units import to_iso
from taskyard.definition.view import About, Time
from taskyard.features.breakers.views import BreakerPolicyView, BreakerView
from taskyard.features.budgets.views import SettingsView, Spend
from taskyard.features.queues.views import QueueView, ThrottleView
from taskyard.features.tokens.rules import Token
from taskyard.features.tokens.views import Issued
from taskyard.features.verify.views import Verified
from taskyard.server import metrics
from taskyard.server.auth import Serving
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("yard")
QUEUES = openapi.answer("Queues", queues=list[QueueView])
BREAKERS = openapi.answer("Breakers", breakers=list[BreakerView])
THROTTLES = openapi.answer("Throttles", throttles=list[ThrottleView])
SPENDING = openapi.answer("Spending", spend=list[Spend])
STATS = openapi.answer("Stats", at=Time, tasks=Annotated[dict[str, dict[str, int]], About("By status, then by type.")])
MARK = openapi.answer("Mark", mark=int, workspace=Annotated[str, About("The one that the caller sees.")])
TOKENS = openapi.answer("Tokens", tokens=list[Token])
HEALTHY = openapi.answer("Healthy", ok=Literal[True], problems=list[str])
BY_HAND = requests.MoveBreaker()  # what is asked for without a body
QueueAt = Annotated[str, Path(description="A queue's name.", max_length=255)]
TypeAt = Annotated[str, Path(description="A type of task.", max_length=255)]


@routes.add(calls.QUEUES, QUEUES)
async def queues(caller: Calling) -> Response:
    """The queues, and which of them are paused."""
    return answer({"queues": write(await caller.yard.queues.list())})


@routes.add(calls.PAUSE_QUEUE, DONE)
async def pause_queue(caller: Calling, queue: QueueAt) -> Response:
    """Hand nothing out of this queue."""
    await caller.yard.queues.pause(queue, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.RESUME_QUEUE, DONE)
async def resume_queue(caller: Calling, queue: QueueAt) -> Response:
    """Hand work out of this queue again."""
    await caller.yard.queues.resume(queue, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.QUEUE_PRESET, DONE)
async def set_queue_preset(caller: Calling, queue: QueueAt, asked: requests.QueuePreset) -> Response:
    """Tasks put into this queue from now on follow that preset."""
    await caller.yard.queues.set_preset(queue, asked.preset, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.SET_PRESET, DONE)
async def set_preset(caller: Calling, asked: requests.Preset) -> Response:
    """Tasks put in from now on follow that preset; those that are there keep theirs."""
    await caller.yard.presets.set(asked.preset, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.REPORT_POLICY, DONE)
async def set_report_policy(caller: Calling, asked: requests.ReportPolicy) -> Response:
    """Whether tasks put in from now on are completed only with a decision report."""
    await caller.yard.queues.set_report_policy(asked.required, queue=asked.queue, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.BREAKERS, BREAKERS)
async def breakers(caller: Calling) -> Response:
    """Breakers that have ever moved, and how they stand."""
    return answer({"breakers": write(await caller.yard.breakers.list())})


@routes.add(calls.OPEN_BREAKER, DONE)
async def open_breaker(caller: Calling, type: TypeAt, asked: requests.MoveBreaker = BY_HAND) -> Response:
    """Hand out nothing of this type for a while."""
    await caller.yard.breakers.open(type, why=asked.why, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.CLOSE_BREAKER, DONE)
async def close_breaker(caller: Calling, type: TypeAt, asked: requests.MoveBreaker = BY_HAND) -> Response:
    """Hand out tasks of this type again."""
    await caller.yard.breakers.close(type, why=asked.why, by=caller.by)
    return answer({"ok": True})


@routes.add(calls.BREAKER_POLICY, model(BreakerPolicyView))
async def set_breaker_policy(caller: Calling, asked: requests.BreakerPolicy) -> Response:
    """When breakers open and let a probe through: the whole policy."""
    settings = await caller.yard.breakers.set_policy(**asked.model_dump(exclude_none=True), by=caller.by)
    return answer(write(settings))


@routes.add(calls.THROTTLES, THROTTLES)
async def throttles(caller: Calling) -> Response:
    """What is slowed down after a provider's rate limit."""
    return answer({"throttles": write(await caller.yard.queues.throttles())})


@routes.add(calls.SPEND, SPENDING)
async def spend(caller: Calling) -> Response:
    """What is reserved and was spent, by agent, by graph and by day."""
    return answer({"spend": write(await caller.yard.budgets.spending())})


@routes.add(calls.BUDGET, model(SettingsView))
async def set_budget(caller: Calling, asked: requests.DayBudget) -> Response:
    """What the workspace may spend in a day, and what a task without a maximum reserves."""
    settings = await caller.yard.budgets.set(
        daily_budget_usd=asked.daily_budget_usd, default_reserve_usd=asked.default_reserve_usd, by=caller.by
    )
    return answer(write(settings))


@routes.add(calls.STATS, STATS)
async def stats(caller: Calling) -> Response:
    """Tasks by status and type."""
    return answer({"at": to_iso(caller.yard.now()), "tasks": write(await caller.yard.tasks.stats())})


@routes.add(calls.VERIFY, model(Verified))
async def verify(caller: Calling) -> Response:
    """Check the stored history against what the yard promises. It reads everything: not for every minute."""
    return answer(write(await caller.yard.verify()))


@routes.add(calls.CHANGED, MARK)
async def changed(
    caller: Calling,
    mark: Annotated[int, Query(ge=-1, le=2**63 - 1)] = -1,
    wait_sec: Annotated[float, Query(ge=0, le=60)] = 0,
) -> Response:
    """Answer when something may have been written since the mark, or when the time is over."""
    return answer({"mark": await caller.yard.changed(mark, wait_sec), "workspace": caller.yard.workspace})


# Access


@routes.add(calls.CREATE_TOKEN, model(Issued), status=201)
async def create_token(caller: Calling, asked: requests.CreateToken) -> Response:
    """A new token for this workspace. Its text is shown this once."""
    issued = await caller.yard.tokens.create(
        asked.name,
        asked.role,
        agent=asked.agent,
        agent_id=asked.agent_id,
        types=asked.types,
        capabilities=asked.capabilities,
        queues=asked.queues,
        slots=asked.slots,
        budget_usd=asked.budget_usd,
        budget_per=asked.budget_per,
        expires_in_sec=asked.expires_in_sec,
        by=caller.by,
    )
    return answer(write(issued), 201)


@routes.add(calls.TOKENS, TOKENS)
async def tokens(caller: Calling) -> Response:
    """The tokens of this workspace, without their secrets."""
    return answer({"tokens": write(await caller.yard.tokens.list())})


@routes.add(calls.REVOKE_TOKEN, DONE)
async def revoke_token(caller: Calling, token_id: Annotated[str, Path(max_length=255)]) -> Response:
    """End a token at once."""
    await caller.yard.tokens.revoke(token_id, by=caller.by)
    return answer({"ok": True})


# For machines that watch the server


@routes.add(calls.HEALTHY, HEALTHY)
async def healthy(request: Request) -> Response:
    """The process answers. `problems` names what it should do beside serving, and does not."""
    serving: Serving = request.app.state.serving
    return answer({"ok": True, "problems": list[Json](serving.problems())})


@routes.add(calls.READY, DONE)
async def ready(caller: Calling) -> Response:
    """The store answers too: calls will be served."""
    await caller.yard.store.duty("sweep")
    return answer({"ok": True})


@routes.add(calls.METRICS, None, more={200: {"content": {metrics.CONTENT_TYPE.partition(";")[0]: {}}}})
async def prometheus(caller: Calling, request: Request) -> Response:
    """How the yard stands, for Prometheus."""
    serving: Serving = request.app.state.serving
    return Response(await serving.figures.shown(caller.yard), media_type=metrics.CONTENT_TYPE)
