"""Tools: what each is called, takes and answers, and who sees it. A tool is a function; its schemas come from it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, get_type_hints

from mcp.types import CallToolResult, TextContent, ToolAnnotations
from mcp.types import Tool as ListedTool
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from taskyard.api.calls import Call
from taskyard.core.errors import InvalidInput, TaskyardError
from taskyard.core.json_value import compact, encode
from taskyard.features.tokens.rules import Role
from taskyard.mcp.desk import Desk, Toolset

MOST_BYTES = 256 << 10  # of an answer: what is read by a model costs money
MOST_ARGUMENT_BYTES = 8 << 20
ERROR_META = "taskyard/error"

Answer = dict[str, Any]
Run = Callable[..., Awaitable[Answer]]
Function = TypeVar("Function", bound=Run)

LOOKS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
SETS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
REMOVES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

PRODUCER, WORKER, OPERATOR = Toolset.PRODUCER, Toolset.WORKER, Toolset.OPERATOR


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool. The call of the HTTP interface that it makes says which roles see it."""

    name: str
    description: str
    call: Call
    sets: frozenset[Toolset]
    hints: ToolAnnotations
    arguments: type[BaseModel]
    output: type[BaseModel]
    run: Run
    confirmation: Callable[[dict[str, Any]], str] | None = None  # what a person is asked before it is done

    def is_for(self, desk: Desk) -> bool:
        return self.is_allowed(desk.role) and (desk.toolset is Toolset.ALL or desk.toolset in self.sets)

    def is_allowed(self, role: Role) -> bool:
        return self.call.allows(role)

    @cached_property
    def listed(self) -> ListedTool:
        return ListedTool(
            name=self.name,
            title=self.name.replace("_", " ").capitalize(),
            description=self.description,
            input_schema=self.arguments.model_json_schema(),
            output_schema=self.output.model_json_schema(),
            annotations=self.hints,
        )

    async def answer(self, desk: Desk, given: dict[str, Any]) -> CallToolResult:
        """Carry it out. What the yard refuses is an answer too, for the model to read."""
        try:
            return answered(await self.run(desk, **self.checked(given)))
        except TaskyardError as error:
            return refused(error)

    def checked(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them; what was not given is left to its defaults."""
        encode(given, field="arguments", max_bytes=MOST_ARGUMENT_BYTES)  # refuses what no store can hold
        try:
            read = self.arguments.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidInput(".".join(map(str, first["loc"])) or "arguments", first["msg"]) from None
        return {name: getattr(read, name) for name in read.model_fields_set}


class Toolbox:
    """The tools of one noun."""

    def __init__(self) -> None:
        self.tools: list[Tool] = []

    def add(
        self,
        call: Call,
        output: type[BaseModel],
        *sets: Toolset,
        hints: ToolAnnotations = LOOKS,
        confirmation: Callable[[dict[str, Any]], str] | None = None,
        also: Run | None = None,
    ) -> Callable[[Function], Function]:
        """Make a tool of a function: its parameters are the arguments, its docstring is the description.

        One that hands its other arguments on to another tool takes those of that one `also`.
        """

        def bind(function: Function) -> Function:
            self.tools.append(
                Tool(
                    name=function.__name__,
                    description=inspect.getdoc(function) or "",
                    call=call,
                    sets=frozenset(sets),
                    hints=hints,
                    arguments=_arguments(function, also),
                    output=output,
                    run=function,
                    confirmation=confirmation,
                )
            )
            return function

        return bind


def answered(answer: Answer) -> CallToolResult:
    text = compact(answer)
    if (size := len(text.encode())) > MOST_BYTES:
        words = f"too_large: It was done, and the answer has {size} bytes. Ask for less of it, at most {MOST_BYTES}."
        return CallToolResult(content=[TextContent(text=words)], is_error=True)
    return CallToolResult(content=[TextContent(text=text)], structured_content=answer)


def refused(error: TaskyardError) -> CallToolResult:
    """The code first, for a model to know it by; then the sentence that says what to do."""
    return CallToolResult(
        content=[TextContent(text=f"{error.code}: {error}")],
        is_error=True,
        _meta={ERROR_META: {"code": error.code, "retryable": error.retryable}},
    )


def _arguments(function: Run, also: Run | None) -> type[BaseModel]:
    fields = {**({} if also is None else _fields(also)), **_fields(function)}
    return create_model(f"{function.__name__}_arguments", __config__=ConfigDict(extra="forbid"), **fields)


def _fields(function: Run) -> dict[str, Any]:
    """What a function takes beside the desk."""
    hints = get_type_hints(function, include_extras=True)
    return {
        name: (hints[name], ... if parameter.default is inspect.Parameter.empty else parameter.default)
        for name, parameter in list(inspect.signature(function).parameters.items())[1:]
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
