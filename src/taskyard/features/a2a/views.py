"""What is answered about types that are published over A2A, and about the tasks that were asked for there."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.core.task import TaskId
from taskyard.definition.view import About, Time, view
from taskyard.features.a2a.rules import AgentTaskState, PublishedType, Push


@view
class PublishedTypeView:
    """A type of tasks that agents elsewhere may ask for."""

    type: str
    description: str
    examples: tuple[str, ...]
    is_default: Annotated[bool, About("Taken where a message names no skill.")]
    created_at: Time
    created_by: str


@view
class AgentTask:
    """A task as the agent that asked for it over A2A may see it."""

    handle: Annotated[str, About("What the agent knows the task by. Each life of a task has its own.")]
    task_id: TaskId
    context_id: str
    state: AgentTaskState
    state_at: Time
    created_at: Time
    next_handle: Annotated[str | None, About("The task died and is tried again, under this handle.")]


class AgentTaskPage(NamedTuple):
    """Tasks that were asked for over A2A, the latest state first."""

    tasks: list[AgentTask]
    cursor: Annotated[str | None, About("What the next page is asked for with; null: there is none.")]
    total: Annotated[int, About("How many match, of those that were looked at.")]


@view
class PushView:
    """Whom to tell about a task. Its secrets are not shown."""

    id: str
    url: str
    has_token: bool
    scheme: str


def published_type_view(published: PublishedType) -> PublishedTypeView:
    return PublishedTypeView(
        type=published.type,
        description=published.description,
        examples=published.examples,
        is_default=published.is_default,
        created_at=published.created_at,
        created_by=published.created_by,
    )


def push_view(push: Push) -> PushView:
    return PushView(id=push.id, url=push.url, has_token=bool(push.token), scheme=push.scheme)
