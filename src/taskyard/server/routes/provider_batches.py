"""Provider batches: model calls that wait for one, and the agents that send and collect them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Response

from taskyard.api import batch_requests as requests
from taskyard.api import calls, openapi
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.api.requests import Leased
from taskyard.features.provider_batches.views import BatchCall, GatheredCall, ProviderBatchView
from taskyard.server.routes.tasks import TaskAt
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("provider_batches")
CALLS = openapi.answer("GatheredCalls", calls=list[GatheredCall])
BATCHES = openapi.answer("ProviderBatches", batches=list[ProviderBatchView])
SETTLED = openapi.answer("SettledCalls", settled=int)


@routes.add(calls.JOIN_BATCH, model(BatchCall))
async def join_batch(caller: Calling, task_id: TaskAt, asked: requests.JoinBatch) -> Response:
    """Have a model call made in a batch. `waiting`: the task is suspended, and the lease is gone."""
    return answer(write(await caller.yard.provider_batches.join(task_id, **_given(asked))))


@routes.add(calls.GATHER_BATCH, CALLS)
async def gather_batch(caller: Calling, task_id: TaskAt, asked: requests.CallsOfBatch) -> Response:
    """The calls of a batch that is about to be sent. Those that nobody waits for any more are let go."""
    return answer({"calls": write(await caller.yard.provider_batches.gather(task_id, **_given(asked)))})


@routes.add(calls.OUTSTANDING_CALLS, CALLS)
async def outstanding_calls(caller: Calling, task_id: TaskAt, asked: requests.CallsOfBatch) -> Response:
    """The calls of a batch that are not settled."""
    return answer({"calls": write(await caller.yard.provider_batches.outstanding(task_id, **_given(asked)))})


@routes.add(calls.SENT_BATCH, model(ProviderBatchView))
async def sent_batch(caller: Calling, task_id: TaskAt, asked: requests.SentBatchPart) -> Response:
    """Store what the provider calls a part of the batch that was sent."""
    return answer(write(await caller.yard.provider_batches.sent(task_id, **_given(asked))))


@routes.add(calls.COLLECT_BATCH, SETTLED)
async def collect_batch(caller: Calling, task_id: TaskAt, asked: requests.CollectBatch) -> Response:
    """Settle what came of calls, each once: what it cost is charged, and its task goes on with the answer."""
    results = [each.model_dump(exclude_unset=True) for each in asked.results]
    return answer({"settled": await caller.yard.provider_batches.collect(task_id, asked.lease, results)})


@routes.add(calls.PROVIDER_BATCHES, BATCHES)
async def provider_batches(caller: Calling, limit: Annotated[int, Query(ge=1, le=200)] = 50) -> Response:
    """The newest provider batches."""
    return answer({"batches": write(await caller.yard.provider_batches.list(limit=limit))})


@routes.add(calls.PROVIDER_BATCH, model(ProviderBatchView))
async def provider_batch(
    caller: Calling, batch_id: Annotated[str, Path(max_length=64, description="The id of the batch's task.")]
) -> Response:
    """A provider batch."""
    return answer(write(await caller.yard.provider_batches.get(batch_id)))


def _given(asked: Leased) -> dict[str, Any]:
    return asked.model_dump(exclude_unset=True)
