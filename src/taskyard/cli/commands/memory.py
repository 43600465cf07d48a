"""Memory: search finished work, and say what is remembered."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, in_yard, show, text_given
from taskyard.cli.terminal import Text, table
from taskyard.core.errors import InvalidInput
from taskyard.core.task import Status
from taskyard.core.units import to_iso
from taskyard.features.memory.views import MemoryHit, MemoryPolicyView
from taskyard.ledger.options import LOCAL

app = typer.Typer(help="Finished work that is like what you are about to do.", no_args_is_help=True)
LimitOption = Annotated[int, typer.Option(help="At most so many.")]
BelowOption = Annotated[int | None, typer.Option(help="Only events with a number below this one.")]
NOTHING = Text("nothing like it is remembered", style="dim")


@app.command("search")
def search(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What the work is about; @FILE, or - for standard input.")],
    limit: LimitOption = 5,
    type: Annotated[
        str | None, typer.Option("--type", help="Only tasks of this type.", autocompletion=completion.types)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find finished tasks like this one, the nearest first, with how each ended."""
    asked = text_given("TEXT", text)
    hits = in_yard(context, lambda yard: yard.memory.search(asked, limit=limit, type=type))
    rows = [(f"{hit.score:.2f}", hit.task_id, hit.type, hit.title, *_outcome(hit)) for hit in hits]
    shown = table("score", "task", "type", "title", "ended as", "what came of it", rows=rows) if rows else NOTHING
    show(as_json, write(hits), shown)


def _outcome(hit: MemoryHit) -> tuple[Text, str]:
    if hit.status is Status.COMPLETED:
        return Text("completed", style="green"), hit.summary or ""
    what = ": ".join(each for each in (hit.reason, hit.error) if each)
    return Text(hit.status.value, style="bold red"), what


@app.command("policy")
def policy(
    context: typer.Context,
    remember: Annotated[
        bool | None, typer.Option("--remember/--no-remember", help="Whether finished tasks are remembered.")
    ] = None,
    type: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            help="For one type, as TYPE=yes or TYPE=no. May be repeated.",
            autocompletion=completion.types,
        ),
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Everything as the preset has it.")] = False,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Show what the workspace remembers, or set it as a whole: what is not given is the preset's."""
    types = dict(_choice(each) for each in type or [])

    async def use(yard: Yard) -> MemoryPolicyView:
        if remember is None and not types and not reset:
            return await yard.memory.policy()
        return await yard.memory.set_policy(remember=remember, types=types, by=by)

    value = write(in_yard(context, use))
    show(as_json, value, Text(json.dumps(value, indent=2)))


def _choice(given: str) -> tuple[str, bool]:
    name, equals, value = given.rpartition("=")
    if not equals or value not in ("yes", "no"):
        raise InvalidInput("--type", "must be TYPE=yes or TYPE=no")
    return name, value == "yes"


@app.command("state")
def state(context: typer.Context, as_json: AsJson = False) -> None:
    """How far the embedding worker is."""
    found = in_yard(context, lambda yard: yard.memory.state())
    rows = [
        ("embedder", found.embedder or "none: set TASKYARD_EMBEDDER, for example to hash:"),
        ("tasks that can be found", str(found.vectors)),
        ("vectors of other embedders", str(found.other_vectors)),
        ("waits since", "" if found.waiting_since is None else to_iso(found.waiting_since)),
        ("problem", found.problem or ""),
        ("refused", ", ".join(found.refused)),
    ]
    show(as_json, write(found), table("", "", rows=rows))


@app.command("embed")
def embed(context: typer.Context, as_json: AsJson = False) -> None:
    """Embed what has ended and waits. A worker or server with an embedder does so every second by itself."""
    number = in_yard(context, _embed_all)
    show(as_json, {"embedded": number}, Text(f"{number} embedded"))


async def _embed_all(yard: Yard) -> int:
    embedded = 0
    while more := await yard.memory.catch_up():
        embedded += more
    return embedded


@app.command("events")
def events(
    context: typer.Context, limit: LimitOption = 100, below: BelowOption = None, as_json: AsJson = False
) -> None:
    """The ends of tasks in the log, newest first: what memory is made from."""
    found = in_yard(context, lambda yard: yard.memory.agent_events(limit=limit, below=below))
    rows = [(str(each.id), to_iso(each.created_at), each.event, each.task_id, each.agent_name or "") for each in found]
    show(as_json, write(found), table("number", "at", "event", "task", "agent", rows=rows))


@app.command("jobs")
def jobs(context: typer.Context, limit: LimitOption = 100, below: BelowOption = None, as_json: AsJson = False) -> None:
    """What the embedding worker has done about these ends, or has still to look at, newest first."""
    found = in_yard(context, lambda yard: yard.memory.embedding_jobs(limit=limit, below=below))
    rows = [
        (str(each.id), to_iso(each.created_at), each.status.value, each.task_id, each.error or "") for each in found
    ]
    show(as_json, write(found), table("number", "at", "status", "task", "error", rows=rows))
