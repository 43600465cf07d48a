"""The protocols of the command lines of coding agents, as data: one TOML file each.

An adapter says which words to add to the command, how the prompt is handed over, and what the program's own JSON lines
mean in the yard's terms. A package adds one by an entry point of the group `taskyard.adapters`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from taskyard import plugins
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, is_list, is_object

_FOLDER = Path(__file__).parent
_AND = " + "  # between the places of numbers that are added
OWN = frozenset({"progress", "message", "session", "spend", "output", "fail"})


@runtime_checkable
class ProgramAdapter(Protocol):
    """What a worker asks of an adapter. `Adapter` is all of it as data; a program that needs code has a class."""

    def words(self, given: Sequence[str], *, session_id: str | None, prompt: str, model: str | None) -> list[str]:
        """The command line for one attempt. `given` is what the operator wrote; without it, the adapter's own."""
        ...

    def request(self, task: Mapping[str, Json], prompt: str) -> str:
        """What is written to the program's standard input."""
        ...

    def understood(self, line: Mapping[str, Any] | None) -> list[Mapping[str, Any]] | None:
        """The messages in a line, each with a `type` out of `OWN`; None where it is just text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A line of the program that has these values at these places means that message."""

    when: Mapping[str, Json]
    # Field of the message -> `=text`, the place of the value in the line, or places of numbers with ` + ` between.
    message: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """The yard's own protocol, unless a file says otherwise."""

    name: str = "taskyard"
    command: Sequence[str] = ()
    resume: Sequence[str] = ()  # added where there is a session to resume
    model: Sequence[str] = ()  # added where a model is preferred
    # task: the whole task as JSON on standard input; stdin: the prompt there; argument: the prompt after `--`, last,
    # where every user of the machine sees it in the list of processes.
    prompt: str = "task"
    last: Sequence[str] = ()  # words after all others: `-` where that stands for standard input
    rules: tuple[Rule, ...] = ()

    def words(self, given: Sequence[str], *, session_id: str | None, prompt: str, model: str | None) -> list[str]:
        """The command line for one attempt."""
        words = [*(given or self.command)]
        if session_id is not None:
            words += [word.replace("{session_id}", _no_option("session_id", session_id)) for word in self.resume]
        if model is not None:
            words += [word.replace("{model}", _no_option("model", model)) for word in self.model]
        words += self.last
        return [*words, "--", prompt] if self.prompt == "argument" else words

    def request(self, task: Mapping[str, Json], prompt: str) -> str:
        """What is written to standard input."""
        match self.prompt:
            case "task":
                return json.dumps(task, ensure_ascii=False) + "\n"
            case "stdin":
                return prompt
            case _:
                return ""

    def understood(self, line: Mapping[str, Any] | None) -> list[Mapping[str, Any]] | None:
        """The messages in a line; None where it is just text."""
        if line is None:
            return None
        if not self.rules:
            return [line] if line.get("type") in OWN else None
        return [
            {field: _value(place, line) for field, place in rule.message.items()}
            for rule in self.rules
            if all(_at(line, place) == value for place, value in rule.when.items())
        ]


def names() -> list[str]:
    """The adapters that are built in."""
    return sorted(each.stem for each in _FOLDER.glob("*.toml"))


def adapter(name: str) -> ProgramAdapter:
    """An adapter by its name: one that is built in, or one of an installed package."""
    if name in names():
        return built_in(name)
    found = plugins.load(plugins.ADAPTERS, name, "adapter")
    if found is None:
        raise InvalidInput("adapter", f"must be one of {plugins.one_of(names(), plugins.ADAPTERS)}")
    if not isinstance(found, ProgramAdapter):
        raise plugins.unfit(plugins.ADAPTERS, name, "adapter", "adapter")
    return found


def built_in(name: str) -> Adapter:
    return from_toml(name, (_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def from_toml(name: str, text: str) -> Adapter:
    """An adapter from the text of its file."""
    data = tomllib.loads(text)
    return Adapter(
        name=name,
        command=tuple(data["command"]),
        resume=tuple(data.get("resume", ())),
        model=tuple(data.get("model", ())),
        prompt=data.get("prompt", "task"),
        last=tuple(data.get("last", ())),
        rules=tuple(Rule(when=rule["when"], message=rule["message"]) for rule in data.get("line", ())),
    )


def _no_option(field: str, value: str) -> str:
    """A value that a program cannot take for one of its options: it comes from a task, and not from the operator."""
    if value.startswith("-") or not value.isprintable():
        raise InvalidInput(field, "must not begin with - nor have control characters: it is a word of a command line")
    return value


def _value(place: str, line: Mapping[str, Any]) -> Any:
    if place.startswith("="):
        return place[1:]
    if _AND in place:
        found = (_at(line, part) for part in place.split(_AND))
        return sum(each for each in found if isinstance(each, int | float))
    return _at(line, place)


def _at(line: Any, place: str) -> Any:
    """The value at a dotted place; numbers are positions in lists."""
    for part in place.split("."):
        if is_object(line):
            line = line.get(part)
        elif is_list(line) and part.isdigit() and int(part) < len(line):
            line = line[int(part)]
        else:
            return None
    return line
