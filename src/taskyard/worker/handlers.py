"""What an agent is and which functions do its work."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.worker.cheap_lane.batch_provider import Provider

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """One function and how it wants to be called."""

    function: Callable[..., Any]
    is_async: bool
    read: (
        Callable[[Json], Any] | None
    )  # what makes of the payload what the function wants; None: it does not ask for it

    def arguments(self, payload: Json) -> tuple[Any, ...]:
        """What the function gets after its context."""
        return () if self.read is None else (self.read(payload),)


@dataclass(slots=True)
class Agent:
    """An agent as people know it: what it can do, how much at once, and for how much money.

    Register functions with `@agent.handles("type")`. They get a `Context`, and the payload too where they ask for it.
    Each process that runs it is one worker of the type, with an id of its own unless one is given. Slots are of the
    process; the budget is of the type: all processes together, restarts included, until an operator sets another.
    """

    type: str  # what people call it; workers of one type share its budget
    id: str | None = None  # of this worker; a new one for every process where none is given
    capabilities: Iterable[str] = ()  # tasks that require others are left to others
    models: Iterable[str] = ()  # those that it can use; tasks that prefer only others are left to others
    max_concurrent_tasks: int = 1  # slots of the process
    budget_usd: str | float | int | None = None  # of all workers of the type together; None: no limit
    budget_per: str | None = None  # "ever" (as None is), "day" or "month", in UTC
    queues: Iterable[str] | None = None  # None: every queue
    poll_interval_sec: float = 5.0  # how often it looks for tasks where nothing wakes it
    orchestrator: bool = False  # whether its handlers may submit graphs and start subagents
    batch: Provider | None = None  # whose models `call_model` asks, in batches where a task wants that
    handlers: dict[str, Handler] = field(default_factory=dict[str, Handler])
    # Called with the yard and the task's id when the end of an attempt is stored.
    settled: Callable[[Any, str], Awaitable[None]] | None = field(default=None, init=False)

    def handles(self, *types: str) -> Callable[[Function], Function]:
        """Register a function, async or not, for tasks of these types; "*" is for every other type."""
        if not types:
            raise InvalidInput("type", "must be given: @agent.handles('code')")

        def register(function: Function) -> Function:
            handler = _handler(function)
            for type_ in types:
                if type_ in self.handlers:
                    raise InvalidInput("type", f"{type_} is handled twice by {self.type}")
                self.handlers[type_] = handler
            return function

        return register


def _handler(function: Callable[..., Any]) -> Handler:
    names = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if not 1 <= len(names) <= 2:
        raise InvalidInput("handler", f"{function.__name__} must take a context, and may take the payload")
    read = None
    if len(names) == 2:
        read = _reader(typing.get_type_hints(function).get(names[1], typing.Any))
    return Handler(function=function, is_async=inspect.iscoroutinefunction(function), read=read)


def _reader(wanted: Any) -> Callable[[Json], Any]:
    """What makes of a payload what the handler wants: a pydantic model, a dataclass, or plain JSON."""
    if hasattr(wanted, "model_validate"):
        return wanted.model_validate
    if hasattr(wanted, "__dataclass_fields__"):
        return lambda payload: wanted(**payload) if isinstance(payload, dict) else payload
    return lambda payload: payload


def as_json(output: Any) -> Json:
    """What a handler returned, as JSON: models and dataclasses become objects."""
    if output is None:
        return None
    if hasattr(output, "model_dump"):
        return output.model_dump(mode="json")
    if hasattr(output, "__dataclass_fields__"):
        return {name: as_json(getattr(output, name)) for name in output.__dataclass_fields__}
    return output
