"""A model call of a handler: in a batch of the provider where the task asks for that, and at once otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from taskyard.core.json_value import Json, compact
from taskyard.core.task import ServiceTier
from taskyard.features.provider_batches.views import BatchCall, CallState
from taskyard.worker.cheap_lane.batch_provider import BatchProvider, ProviderError, provider_of
from taskyard.worker.control import Suspended

if TYPE_CHECKING:
    from taskyard.worker.context import Context

SHOWN = 2000  # characters of an error


async def call_model(task: Context, request: Mapping[str, Any], name: str | None) -> Any:
    """What `Context.call_model` does."""
    provider, named, body = provider_of(task.batch), name or task.next_name("call_model"), dict(request)
    if task.task.service is ServiceTier.BATCH and named not in await task.known_steps():
        async with task.ending():
            found = await _join(task, provider, named, body)
        if found is not None:
            return await task.unpacked_step(found.answer)
    return await task.step(named, lambda: provider.call(body), spend=provider.spent)


async def _join(task: Context, provider: BatchProvider, name: str, request: Json) -> BatchCall | None:
    """The answer of a batch; None where the call is to be made now. `Suspended` while the batch has none."""
    terms = provider.terms
    call = await task.yard.provider_batches.join(
        task.id,
        task.lease,
        name,
        provider=provider.name,
        group=provider.group_of(request),
        request=request,
        model=provider.model_of(request),
        gather_sec=terms.gather_sec,
        cancel_sec=terms.cancel_sec,
        ordinary_sec=terms.ordinary_sec,
        may_pay_twice=terms.may_pay_twice,
    )
    match call.state:
        case CallState.WAITING:
            raise Suspended("waits for its call in a batch of the provider")
        case CallState.ANSWERED:
            return call
        case CallState.FAILED:
            raise ProviderError(f"refused in a batch: {compact(call.answer)[:SHOWN]}", call.status)
        case CallState.ORDINARY:
            return None
