"""Writes the pages of docs/ that are made from the code; with --check, fails where one of them is stale.

A page is a function that gives its text. What a page says comes from the code alone, so that it cannot be wrong.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts import reference
from taskyard.api.calls import CALLS, FILE, NOTHING, Call
from taskyard.core import transitions
from taskyard.core.changes import Event
from taskyard.core.task import FINAL, HELD, MEANING, Status
from taskyard.core.transitions import EVENTS, GRAPH
from taskyard.core.units import Micros
from taskyard.features.events.rules import wire_type
from taskyard.features.tokens.rules import Role
from taskyard.mcp.catalogue import TOOLS
from taskyard.mcp.desk import Toolset
from taskyard.mcp.prompts import PROMPTS
from taskyard.mcp.resources.resource_kinds import RESOURCES
from taskyard.mcp.toolbox import Tool
from taskyard.visible_text import OBEYED

ROOT = Path(__file__).parent.parent
MADE = "<!-- Made by scripts/generate_docs.py: change the code it is made from, then run `make docs`. -->"

EVENTS_INTRODUCED = """\
One event tells of each stored change, also of one that passes through several states: a claim that starts at once is
reported as a start. The type is what a client of preset multica knows it by."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def in_order(states: Iterable[Status]) -> list[Status]:
    """As a task goes through them."""
    return sorted(states, key=list(Status).index)


# docs/state-machine.md


def state_machine() -> str:
    parts = [
        "# The states of a task",
        MADE,
        "A verb that a task's state does not allow changes nothing: it is refused with an error that names both.",
        "## Diagram",
        f"```mermaid\n{diagram()}\n```",
        "## States",
        table(["state", "meaning", ""], [[f"`{status}`", MEANING[status], kind_of(status)] for status in Status]),
        "## Verbs",
        table(["verb", "meaning", "event"], [[f"`{verb}`", meaning_of(verb), event_of(verb)] for verb in GRAPH]),
        "## What a verb does in each state",
        "An empty cell is refused. Where there are two, what the verb is given decides; `=` leaves the state as it is.",
        table(["", *(f"`{status}`" for status in columns())], [[f"`{verb}`", *cells(verb)] for verb in GRAPH]),
        "## Events",
        EVENTS_INTRODUCED,
        table(["event", "verbs", "type"], event_rows()),
    ]
    return "\n\n".join(parts) + "\n"


def diagram() -> str:
    """Every verb that moves a task, from where it rests to where it comes to rest."""
    verbs: dict[tuple[Status, Status], list[str]] = {}
    for verb, edges in GRAPH.items():
        for before in in_order(edges):
            for after in in_order(edges[before] - {before}):
                verbs.setdefault((before, after), []).append(verb)
    moves = [
        f"    {before} --> {after}: {', '.join(names)}" for (before, after), names in sorted(verbs.items(), key=_place)
    ]
    left = {before for before, _ in verbs}
    ends = [f"    {status} --> [*]" for status in in_order(FINAL - left)]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {Status.CREATED}", *moves, *ends])


def _place(move: tuple[tuple[Status, Status], list[str]]) -> list[int]:
    return [list(Status).index(status) for status in move[0]]


def kind_of(status: Status) -> str:
    if status in HELD:
        return "held"
    return "final" if status in FINAL else ""


def meaning_of(verb: str) -> str:
    documented = getattr(transitions, verb, transitions.created_event)
    return (documented.__doc__ or "").partition("\n")[0]


def event_of(verb: str) -> str:
    return f"`{EVENTS[verb]}`" if verb in EVENTS else ""


def columns() -> list[Status]:
    """The states that some verb is allowed in."""
    return in_order({status for edges in GRAPH.values() for status in edges})


def cells(verb: str) -> Iterable[str]:
    for status in columns():
        reached = in_order(GRAPH[verb].get(status, ()))
        yield " or ".join("=" if after is status else f"{after}" for after in reached)


def event_rows() -> Iterable[Sequence[str]]:
    for name in dict.fromkeys(EVENTS.values()):
        verbs = ", ".join(f"`{verb}`" for verb, event in EVENTS.items() if event == name)
        yield [f"`{name}`", verbs, " or ".join(f"`{word}`" for word in words_for(name))]


def words_for(name: str) -> Iterable[str]:
    """What the event is called on the wire, which may depend on the state that was reached."""
    reached = {after for verb, event in EVENTS.items() if event == name for to in GRAPH[verb].values() for after in to}
    events = (Event(name, "", None, None, Micros(0), None, status, None, None) for status in in_order(reached))
    return dict.fromkeys(wire_type(event) for event in events)


# docs/reference/calls.md

CALLS_INTRODUCED = """\
Who may make each call over HTTP, and how much it may carry: bytes, values (numbers, texts, objects, lists and so on,
however they are nested), levels of nesting, and seconds until all of it has come. What is more is refused before it is
decoded. `agent*` is an agent about a task that it holds or has held. [Security](../guides/security.md) says what else
has an end."""


def calls_over_http() -> str:
    rows = [
        [f"`{call.method} {call.path}`", _who(call), *_bounds(call)]
        for call in sorted(CALLS.values(), key=lambda call: (call.path, call.method))
    ]
    head = ["call", "who", "bytes", "values", "levels", "seconds"]
    return "\n\n".join(["# The calls over HTTP", MADE, CALLS_INTRODUCED, table(head, rows)]) + "\n"


def _who(call: Call) -> str:
    if call.roles is None:
        return "anybody"
    named = [role.value for role in Role if role in call.roles]
    return ", ".join([*named, *(["agent*"] if call.is_own and Role.AGENT not in call.roles else [])])


def _bounds(call: Call) -> list[str]:
    if call.bounds is FILE:
        return ["`max_artifact_bytes`, passed on as they come", "", "", ""]
    if call.bounds is NOTHING:
        return [""] * 4
    bounds = call.bounds
    return [f"{bounds.most_bytes:,}", f"{bounds.most_values:,}", str(bounds.deepest), f"{bounds.within_sec:g}"]


# docs/reference/mcp.md

MCP_INTRODUCED = """\
What `taskyard mcp` and `/mcp` offer, made from the code. A tool is shown where the chosen role has it and the token
may make the call behind it. [The guide](../guides/mcp.md) says how to begin."""


def mcp_tools() -> str:
    tools = [[f"`{tool.name}`", _toolsets(tool), f"`{tool.call.path}`", _effect(tool)] for tool in TOOLS.values()]
    parts = ["# MCP", MADE, MCP_INTRODUCED, table(["tool", "role", "call", "what it changes"], tools)]
    for tool in TOOLS.values():
        described = " ".join(tool.description.split())
        parts += [f"## `{tool.name}`", described]
        if fields := tool.listed.input_schema.get("properties"):
            required = tool.listed.input_schema.get("required", [])
            rows = [_argument(name, schema, name in required) for name, schema in fields.items()]
            parts.append(table(["argument", "", "at first"], rows))
    places = [[f"`{each.uri}`", each.description, f"`{each.media_type}`"] for each in RESOURCES]
    parts += ["## Resources", table(["address", "what it is", "as"], places)]
    prompts = [[f"`{name}`", each.description] for name, each in PROMPTS.items()]
    parts += ["## Prompts", table(["prompt", "what it asks for"], prompts)]
    return "\n\n".join(parts) + "\n"


def _toolsets(tool: Tool) -> str:
    return ", ".join(each.value for each in Toolset if each in tool.sets)


def _effect(tool: Tool) -> str:
    hints = tool.hints
    if hints.read_only_hint:
        return "nothing"
    return "what cannot be undone" if hints.destructive_hint else "the same once" if hints.idempotent_hint else "adds"


def _argument(name: str, schema: Mapping[str, Any], required: bool) -> list[str]:
    default = "" if required or schema.get("default") in (None, "", []) else f"`{schema['default']}`"
    return [f"`{name}`" + (" (required)" if required else ""), schema.get("description", ""), default]


# dashboard/src/parts/obeyed.ts


def obeyed() -> str:
    ranges = "".join(rf"\u{{{first:x}}}-\u{{{last:x}}}" for first, last in OBEYED)
    return f"""\
// Made by scripts/generate_docs.py from visible_text.py: change that, then run `make docs`.
export const OBEYED =
  /[{ranges}]/gu;
"""


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/state-machine.md": state_machine,
    "docs/reference/calls.md": calls_over_http,
    "docs/reference/cli.md": lambda: reference.command_line(MADE),
    "docs/reference/mcp.md": mcp_tools,
    "docs/reference/python.md": lambda: reference.python(MADE),
    "dashboard/src/parts/obeyed.ts": obeyed,
    "docs/reference/task.md": lambda: reference.task(MADE),
}


def stale(root: Path) -> dict[Path, str]:
    """The pages that are not what the code would make of them now, with what they ought to be."""
    wanted = {root / path: page() for path, page in PAGES.items()}
    return {path: text for path, text in wanted.items() if not path.exists() or path.read_text() != text}


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page is stale")
    check = bool(parser.parse_args(arguments).check)
    pages = stale(root)
    for path, text in pages.items():
        if check:
            print(f"{path.relative_to(root)} is stale: run make docs", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    print(f"{len(PAGES)} made from the code, {len(pages)} {'stale' if check else 'written'}")
    return 1 if check and pages else 0


if __name__ == "__main__":
    sys.exit(main())
