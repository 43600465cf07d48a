"""What is sent about provider batches."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from taskyard.api.requests import Leased, Name, Seconds, SpentSoFar

Below = Annotated[str | None, Field(max_length=64, description="Only calls whose custom id comes before this one.")]


class JoinBatch(Leased):
    """A model call that may be made in a batch."""

    name: Annotated[Name, Field(description="Of the call: once in each task.")]
    provider: Name
    group: Annotated[Name, Field(description="What the calls of a batch have in common, such as their model.")]
    request: Annotated[Any, Field(description="The body of the call.")]
    model: Name | None = None
    gather_sec: Annotated[Seconds, Field(description="How long calls are gathered for.")] = 60
    cancel_sec: Annotated[Seconds, Field(description="How long the provider may take to cancel a batch.")] = 600
    ordinary_sec: Annotated[Seconds, Field(description="How long an ordinary call takes at most.")] = 300
    may_pay_twice: Annotated[
        bool, Field(description="False: the deadline gives way where the provider may still answer the call.")
    ] = True


class CallsOfBatch(Leased):
    below: Below = None
    limit: int = Field(100, ge=1, le=100)


class SentBatchPart(Leased):
    key: Name
    provider_id: Annotated[Name, Field(description="What the provider calls the batch.")]
    calls: int = Field(ge=0)
    expires_at: str | None = None


class CallResult(SpentSoFar):
    """What came of a call, and what it cost."""

    custom_id: Name
    outcome: Literal["answered", "failed", "expired"]
    answer: Any = None
    status: int | None = Field(None, ge=100, le=599, description="Of an error.")


class CollectBatch(Leased):
    results: list[CallResult] = Field(max_length=100)
