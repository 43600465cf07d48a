"""What is answered about provider batches."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.task import Hot, Status, TaskId
from taskyard.definition.view import CLOSED, About, Time, view
from taskyard.features.provider_batches.rules import ITEM, PROVIDER_BATCH


class CallState(StrEnum):
    """How a call of the cheap lane stands."""

    WAITING = "waiting"  # the task is suspended, its lease is gone
    ANSWERED = "answered"
    FAILED = "failed"  # the provider refused this call
    ORDINARY = "ordinary"  # make the call now, at the ordinary price


class CallOutcome(StrEnum):
    """What came of a call that was sent in a batch."""

    ANSWERED = "answered"
    FAILED = "failed"
    EXPIRED = "expired"  # not carried out, and not paid for


@view
class BatchCall:
    """How a call that may be made in a batch stands."""

    state: Annotated[CallState, CLOSED, About("waiting: the task is suspended, and its lease is gone.")]
    answer: Annotated[Json, About("The body of the provider's answer, or of its error.")]
    status: Annotated[int | None, About("The HTTP status of an error, where the provider gave one.")]


@view
class GatheredCall:
    """A call of a batch that is to be sent, or was sent."""

    custom_id: Annotated[str, About("What the provider knows the call by.")]
    task_id: TaskId
    model: str | None
    request: Annotated[Json, About("The body of the call.")]
    cancel_at: Annotated[Time | None, About("A batch that has no answer for it by then has to be cancelled.")]


def gathered_call(item: Record) -> GatheredCall:
    body = ITEM.of(item)
    return GatheredCall(body["custom_id"], TaskId(body["task_id"]), body["model"], body["request"], body["cancel_at"])


@view
class SentPart:
    """What of a batch was sent at once."""

    key: Annotated[str, About("By which the provider's list is searched for it.")]
    provider_id: Annotated[str, About("What the provider calls it.")]
    calls: int
    sent_at: Time
    expires_at: Time | None


@view
class ProviderBatchView:
    """Calls that were gathered for a provider, and how far they are."""

    id: Annotated[TaskId, About("The task that sends the batch and collects its answers.")]
    provider: str
    group: Annotated[str, About("What the calls have in common, such as their model.")]
    agent_type: str
    status: Annotated[Status, About("Of the batch's task.")]
    created_at: Time
    outstanding: Annotated[int, About("Calls that are not settled yet, at most 1,000.")]
    parts: tuple[SentPart, ...]


def batch_view(record: Record, hot: Hot | None, outstanding: int) -> ProviderBatchView:
    body = PROVIDER_BATCH.of(record)
    return ProviderBatchView(
        id=TaskId(body["task_id"]),
        provider=body["provider"],
        group=body["group"],
        agent_type=body["agent_type"],
        status=Status.COMPLETED if hot is None else hot.status,
        created_at=body["created_at"],
        outstanding=outstanding,
        parts=tuple(
            SentPart(each["key"], each["provider_id"], each["calls"], each["sent_at"], each["expires_at"])
            for each in body["parts"]
        ),
    )
