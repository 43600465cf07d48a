"""The reference pages of docs/: every command with its options, every public Python name with its signature."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.main import get_command

import taskyard
from taskyard.cli.main import app

UNSAID = {"help", "install_completion", "show_completion"}


def command_line(made: str) -> str:
    """docs/reference/cli.md"""
    command = get_command(app)
    context = typer.Context(command, info_name="taskyard")
    parts = ["# The command line", made, str(command.help), "## Options of every command", _options(command)]
    for name, each in _commands(command, context, "taskyard"):
        arguments = " ".join(_usage(parameter) for parameter in each.params if parameter.param_type_name == "argument")
        parts += [f"## `{name}{' ' + arguments if arguments else ''}`", _plain(each.help or ""), _options(each)]
    parts += ["## Exit status", _statuses()]
    return "\n\n".join(part for part in parts if part) + "\n"


def python(made: str) -> str:
    """docs/reference/python.md"""
    parts = ["# Python", made, "Everything that `import taskyard` gives."]
    for name in sorted(taskyard.__all__):
        value: Any = getattr(taskyard, name)
        parts += [f"## `{name}`", inspect.getdoc(value) or ""]
        if inspect.isfunction(value):
            parts.append(f"```python\n{name}{_signature(value)}\n```")
        elif inspect.isclass(value) and name in ("Yard", "Context", "Agent"):
            parts += [_method(each, function) for each, function in _methods(value)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _commands(command: Any, context: typer.Context, name: str) -> Iterator[tuple[str, Any]]:
    for word in command.list_commands(context):
        each = command.get_command(context, word)
        if hasattr(each, "list_commands"):
            yield from _commands(each, context, f"{name} {word}")
        else:
            yield f"{name} {word}", each


def _usage(parameter: Any) -> str:
    word = parameter.metavar or parameter.name.upper()
    return word if parameter.required or word.startswith("[") else f"[{word}]"


def _options(command: Any) -> str:
    rows = [
        f"| {' '.join(f'`{word}`' for word in [*each.opts, *each.secondary_opts])} | {_plain(each.help or '')} |"
        for each in command.params
        if each.param_type_name == "option" and each.name not in UNSAID
    ]
    return "\n".join(["| option | |", "| --- | --- |", *rows]) if rows else ""


def _statuses() -> str:
    errors = sorted(taskyard_errors(), key=lambda error: (error.exit_status, error.code))
    rows = [f"| {error.exit_status} | `{error.code}` | {(error.__doc__ or '').splitlines()[0]} |" for error in errors]
    return "\n".join(["| status | error | |", "| --- | --- | --- |", "| 0 | | It was done. |", *rows])


def taskyard_errors() -> list[Any]:
    from taskyard.core.errors import ERRORS  # noqa: PLC0415 - not a public name

    return list(ERRORS.values())


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in inspect.getmembers(kind):
        if not name.startswith("_") and inspect.isfunction(value):
            yield name, value


def _method(name: str, function: Any) -> str:
    word = "await " if inspect.iscoroutinefunction(function) else ""
    return f"**`{word}{name}{_signature(function)}`**\n\n{inspect.getdoc(function) or ''}"


def _signature(function: Any) -> str:
    text = str(inspect.signature(function)).replace("'", "")
    return re.sub(r"\(self(?:, )?", "(", text, count=1)


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
