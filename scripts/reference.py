"""The reference pages of docs/: every command with its options, every public Python name with its signature."""

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import typer
from typer.main import get_command

import taskyard
from taskyard.cli.main import app
from taskyard.core.errors import InvalidInput
from taskyard.core.policy import PRESETS
from taskyard.definition.document import fields_of, is_view
from taskyard.definition.field_meanings import GIVEN, SHOWN
from taskyard.definition.fields import Field, fields
from taskyard.definition.names import FLAT, KEPT

GROUPS = {
    "spec": "What was asked for: prompt, payload, what to read, constraints.",
    "retry": "When a failed attempt is tried again.",
    "timeouts": "How long a claim, a heartbeat and a lease last.",
    "session": "The conversation that the agent resumes.",
    "trigger": "What the task came from.",
    "output": "What is to be handed in, and what was.",
}
UNSAID = {"help", "install_completion", "show_completion"}
WITH_METHODS = {"Agent", "Context", "Inbox", "Yard"}
WITH_ATTRIBUTES = {"Agent", "Context", "Details", "Held", "Receipt", "Task"}

# Values that show what a field's rules are: of no type that any field has, and too much of every type.
PROBES = (object(), "x" * 2_000_000, " ", ["x"] * 100_000, ["x" * 2_000_000], 10**18)
# A new one for every task, or that of the call; `type` must be given.
WITHOUT_A_DEFAULT = {"id", "workspace", "dag_id", "created_by", "dedup", "type"}
TASK_INTRODUCED = """\
The names are the same in Python (`yard.enqueue("code", title="…")`), in JSON over HTTP and in DAG files. A dot means a
group: `retry.strategy` is `"retry": {{"strategy": …}}`. These may also be written without their groups: {flat}.
Times are UTC, written as ISO 8601 with an offset or `Z`. Money is a decimal, best written as text. The defaults are
those of the preset `standard`; other presets have other defaults, other scales of priority and further names. Type
checkers know the names of this table; a preset's own go in as `yard.enqueue("code", **fields)`, of a `dict[str, Any]`.
A field that breaks a rule, or is not in this table, is refused with its name and the rule, and nothing is stored."""


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
        parts += _described(name, value)
    return "\n\n".join(part for part in parts if part) + "\n"


def _described(name: str, value: Any) -> Iterator[str]:
    if name == "Agent" or not isinstance(value, type):
        yield f"```python\n{name}{_signature(value)}\n```"
    if name in WITH_ATTRIBUTES:
        yield _attributes(value, "argument" if name == "Agent" else "attribute")
    if name in WITH_METHODS:
        yield from (_method(each, function) for each, function in _methods(_instance(name, value)))
    if name == "Yard":
        yield from _nouns()


def _nouns() -> Iterator[str]:
    """What a yard has under its nouns: the verbs that are carried out on every host, which are those that can wait."""
    yard = taskyard.connect("memory://")
    with taskyard.connect_sync("memory://", sweeps=False) as waiting:
        for noun, part in sorted(vars(yard).items()):
            if noun in vars(waiting) and not inspect.isroutine(part):
                yield f"### `yard.{noun}`"
                public = dir(getattr(waiting, noun))
                yield from (_method(f"{noun}.{each}", call) for each, call in _methods(part) if each in public)


def task(made: str) -> str:
    """docs/reference/task.md"""
    known = fields(PRESETS["standard"])
    defaults = _defaults()
    given = [
        [f"`{path}`", GIVEN[path], _rules(field), _default(path, defaults)] for path, field in sorted(known.items())
    ]
    flat = ", ".join(sorted(f"`{path.rpartition('.')[2]}`" for path in FLAT))
    return (
        "\n\n".join(
            [
                "# The fields of a task",
                made,
                TASK_INTRODUCED.format(flat=flat),
                "## What a caller may give",
                _table(["field", "meaning", "rules", "default"], given),
                "## What a task shows besides",
                "Kept by the yard: a caller that gives one of these is refused.",
                _table(["field", "meaning"], [[f"`{path}`", SHOWN[path]] for path in sorted(KEPT)]),
            ]
        )
        + "\n"
    )


def _rules(field: Field) -> str:
    """What the field's own reader says to values that it refuses: another type, too much, and nothing."""
    return "; ".join(dict.fromkeys(rule for probe in PROBES if (rule := _refusal(field, probe))))


def _refusal(field: Field, probe: object) -> str | None:
    try:
        field.read(probe, "field")
    except InvalidInput as refused:
        return str(refused.facts["rule"])
    return None


def _defaults() -> Mapping[str, Any]:
    """A task of which only the type was given, as it is shown."""
    with taskyard.connect_sync("memory://") as yard:
        return yard.get(yard.enqueue("code").id).to_dict()


def _default(path: str, document: Mapping[str, Any]) -> str:
    value: Any = document
    if path in WITHOUT_A_DEFAULT:
        return ""
    for name in path.split("."):
        value = value[name]
    return f"`{json.dumps(value)}`"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _attributes(kind: type, word: str) -> str:
    """What the class declares, with the comment beside it, and its properties."""
    rows = [*_declared(kind)]
    for name, value in inspect.getmembers(kind, lambda each: isinstance(each, property)):
        if not name.startswith("_"):
            kept = inspect.signature(value.fget).return_annotation
            rows.append([f"`{name}`", f"`{kept}`", inspect.getdoc(value) or ""])
    return _table([word, "type", ""], rows)


def _declared(kind: type) -> Iterator[list[str]]:
    for each in reversed(kind.__mro__[:-1]):
        names = inspect.get_annotations(each)
        source = inspect.getsource(each) if names else ""
        for name in names:
            found = re.search(rf"^    {name}: (.+?)(?: = .*?)?(?:  # (.*))?$", source, re.MULTILINE)
            if found and not name.startswith("_") and "field(" not in found[0]:
                noted = re.fullmatch(r"Annotated\[(.+?), (?:.*About\(\"(.+)\"\)|.*)\]", found[1])
                about = (noted and noted[2]) or _sentence(found[2] or "") or _meaning(kind, name)
                yield [f"`{name}`", f"`{noted[1] if noted else found[1]}`", about]


def _meaning(kind: type, name: str) -> str:
    """What a field of a task means, by its place in the document."""
    called = {field.name: field.called for field in fields_of(kind)}.get(name, name) if is_view(kind) else name
    return {**GROUPS, **GIVEN, **SHOWN}.get(called, "")


def _sentence(comment: str) -> str:
    return f"{comment[:1].upper()}{comment[1:]}." if comment else ""


def _commands(command: Any, context: typer.Context, name: str) -> Iterator[tuple[str, Any]]:
    for word in command.list_commands(context):
        each = command.get_command(context, word)
        if hasattr(each, "list_commands"):
            if each.invoke_without_command:
                yield f"{name} {word}", each
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


def _instance(name: str, value: object) -> object:
    return taskyard.connect("memory://") if name == "Yard" else value


def _methods(kind: object) -> Iterator[tuple[str, Any]]:
    """Of a class, or of an object that has verbs of others bound to it."""
    for name, value in inspect.getmembers(kind):
        if not name.startswith("_") and inspect.isroutine(value):
            yield name, value


def _method(name: str, function: Any) -> str:
    word = "await " if inspect.iscoroutinefunction(function) else ""
    return f"**`{word}{name}{_signature(function)}`**\n\n{inspect.getdoc(function) or ''}"


class _Unquoted:
    """Text that a signature shows without quotes: annotations, which are text where they are postponed."""

    def __init__(self, text: object) -> None:
        self._text = text

    def __repr__(self) -> str:
        return str(self._text)


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    parameters = [
        each.replace(annotation=_unquoted(each.annotation), default=_shown(each.default))
        for name, each in signature.parameters.items()
        if name not in ("self", "handlers")  # `handles` fills in the second
    ]
    return str(signature.replace(parameters=parameters, return_annotation=_unquoted(signature.return_annotation)))


def _shown(default: object) -> object:
    """A default as a caller would write it; a function has no such form, and its address is another in every run."""
    if inspect.isfunction(default):
        return _Unquoted("…")
    return default.value if isinstance(default, Enum) else default


def _unquoted(annotation: object) -> object:
    return _Unquoted(annotation) if isinstance(annotation, str) else annotation


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
