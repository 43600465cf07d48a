"""Running one command: open the yard, do the thing, show it, and end with a status that a script can use."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import inspect
import json
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast, get_type_hints

import typer
from rich.console import RenderableType

from taskyard.app import Yard, connect, missing_file
from taskyard.cli import completion
from taskyard.cli.settings import CliSettings
from taskyard.cli.terminal import Terminal, Text
from taskyard.core.errors import InvalidInput, NotFound, YardMissing
from taskyard.core.json_value import Json, decode
from taskyard.definition import fields
from taskyard.visible_text import visible

Answer = TypeVar("Answer")
COLLECT_AFTER = (10_000,)  # objects that a process which stays may make before it looks for garbage among them
WIDTH = 120  # columns, where there is no terminal that has some
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
TaskArgument = Annotated[
    str, typer.Argument(metavar="TASK", help="A task's id, or the end of it.", autocompletion=completion.tasks)
]
LeaseOption = Annotated[str, typer.Option("--lease", help="The lease that `claim` gave.", show_default=False)]
# Commands that may be the first in a yard: they put something in, decide something for what will come, or wait for it.
# Every other one would make an empty yard in the folder where it was started by mistake, and then find nothing in it.
FIRST = frozenset(
    {
        *("enqueue", "submit", "claim", "work", "serve", "demo", "bench", "migrate apply", "preset set"),
        *("token create", "token grant", "agents budget", "budget set", "breakers open"),
        *("queues pause", "queues preset", "queues reports", "artifacts put", "notify add", "schedules add"),
        *("triggers add dag", "triggers add files", "triggers add rule", "triggers watch", "hooks add"),
        *("inbox enqueue", "inbox dequeue", "subagents start", "cutover start", "import yard", "import loki"),
        *("memory policy", "variants set", "audit keep"),
    }
)
By = Annotated[str, typer.Option("--by", help="Who is doing this.", envvar="TASKYARD_USER")]


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Make each field of every dataclass among the named parameters an option: typer knows single options only."""
    signature = inspect.signature(command, eval_str=True)
    kinds: dict[str, Any] = {name: each.annotation for name, each in signature.parameters.items()}
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if dataclasses.is_dataclass(kind)}

    @wraps(command)
    def grouping(**given: Any) -> None:
        made: dict[str, Any] = {
            name: group(**{each: given.pop(each) for each in _names(group)}) for name, group in groups.items()
        }
        command(**given, **made)

    parameters = [
        option
        for name, each in signature.parameters.items()
        for option in (_options(groups[name]) if name in groups else [each])
    ]
    vars(grouping)["__signature__"] = signature.replace(parameters=parameters)
    grouping.__annotations__ = {each.name: each.annotation for each in parameters}
    return grouping


def _names(group: Any) -> list[str]:
    return [each.name for each in dataclasses.fields(group)]


def _options(group: Any) -> Iterable[Parameter]:
    kinds = get_type_hints(group, include_extras=True)
    for each in dataclasses.fields(group):
        yield Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=kinds[each.name])


def chosen(context: typer.Context) -> CliSettings:
    settings: CliSettings = context.obj
    return settings


def connected(context: typer.Context, **instead: Any) -> Yard:
    """The yard that was asked for, not yet open. Only a command that may be the first in a yard is let make one."""
    settings = chosen(context)
    # Single commands do not sweep; servers and workers do.
    yard = connect(settings.url, **{**settings.options, **instead}, sweeps=False)
    if _command(context) not in FIRST and (file := missing_file(settings.url)):
        raise YardMissing(str(file))
    return yard


def _command(context: typer.Context) -> str:
    """The words that name the command, whatever the program itself was started as."""
    above = context.parent
    return "" if above is None else f"{_command(cast(typer.Context, above))} {context.info_name}".strip()


def in_yard(context: typer.Context, use: Callable[[Yard], Awaitable[Answer]], **instead: Any) -> Answer:
    """Do something with the yard that was asked for."""

    async def run() -> Answer:
        async with connected(context, **instead) as yard:
            return await use(yard)

    return asyncio.run(run())


def carry_out(context: typer.Context, as_json: bool, use: Callable[[Yard], Awaitable[object]], **instead: Any) -> None:
    """Do something that has no answer: silent for a person, and for a program what the server would answer."""
    in_yard(context, use, **instead)
    if as_json:
        show(True, {"ok": True})


def stay(
    run: Coroutine[Any, Any, None],
    *,
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
    collect_after: tuple[int, ...] = COLLECT_AFTER,
) -> None:
    """Do what a process is there for, until it is asked to stop; in a loop of another kind where one is given."""
    # A busy yard makes many objects and lets nearly all of them go a moment later. By the default, the collector would
    # look at each of them for garbage that is not there, which was a twelfth of what a task cost.
    keep_loaded()
    gc.set_threshold(*collect_after)
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run)


def keep_loaded() -> None:
    """Have the collector leave alone what is loaded by now: a look at all that a server loads takes 25 ms and more."""
    gc.collect()
    gc.freeze()


def show(as_json: bool, value: Any, *shown: RenderableType) -> None:
    """Print the same thing for a program or for a person."""
    if as_json:
        written = json.dumps(value, ensure_ascii=False, indent=None if not sys.stdout.isatty() else 2)
        sys.stdout.write(visible(written) + "\n")  # the same JSON: what is escaped stands only inside its texts
        return
    console = console_for_people()
    for each in shown:
        console.print(each)


def console_for_people() -> Terminal:
    if sys.stdout.isatty():
        return Terminal()
    # Without a terminal there is no width to keep to: a script that reads lines gets whole ones.
    width = None if "COLUMNS" in os.environ else WIDTH
    return Terminal(soft_wrap=True, width=width)


def one_line(*parts: str | Text | tuple[str, str]) -> Text:
    """A line that ends where the terminal does; whole, where there is none."""
    overflow = "ignore" if console_for_people().soft_wrap else "ellipsis"
    return Text.assemble(*parts, no_wrap=True, overflow=overflow)


def json_given(field: str, text: str | None) -> Json:
    """JSON from the command line: itself, @FILE, or - for standard input."""
    if text is None:
        return None
    return decode(_read(field, text), field=field)


def object_given(field: str, text: str | None) -> dict[str, Json] | None:
    """The same, where only an object makes sense."""
    value = json_given(field, text)
    if value is None or isinstance(value, dict):
        return value
    raise InvalidInput(field, "must be a JSON object")


def text_given(field: str, text: str) -> str:
    """A text, @FILE, or - for standard input."""
    return _read(field, text) if text == "-" or text.startswith("@") else text


def _read(field: str, text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(field, f"names a file that cannot be read: {error}") from None


async def find_task(yard: Yard, given: str) -> str:
    """A task's whole id, where its end is enough to know it."""
    if given.startswith("task_"):
        try:
            return fields.task_id(given, "TASK")
        except InvalidInput:
            raise NotFound("task", given) from None  # as where the end of an id fits none
    tasks = await yard.find(limit=200)
    ends = [task.id for task in tasks if task.id.endswith(given.upper())]
    if not ends:
        raise NotFound("task", given)
    if len(ends) != 1:
        raise InvalidInput("TASK", f"{given} fits {len(ends)} tasks; give more of it")
    return ends[0]
