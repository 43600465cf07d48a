"""Background subagents, from a shell."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import (
    AsJson,
    By,
    TaskArgument,
    find_task,
    in_yard,
    object_given,
    show,
    text_given,
)
from taskyard.cli.terminal import Text, dollars, one_line, seconds, short, table
from taskyard.core.json_value import Json, compact

app = typer.Typer(help="Subagents that work in the background.", no_args_is_help=True)
_STATES = {"queued": "cyan", "running": "bold blue", "completed": "green", "failed": "bold red", "cancelled": "dim"}


@app.command()
def start(
    context: typer.Context,
    type: Annotated[
        str,
        typer.Argument(
            metavar="TYPE", help="What kind of subagent: explore, review, …", autocompletion=completion.types
        ),
    ],
    prompt: Annotated[str, typer.Option("--prompt", "-p", help="What to do; @FILE or - to read it.")],
    parent: Annotated[str, typer.Option(help="The agent whose inbox gets an item for the end.")],
    conversation: Annotated[str, typer.Option("--conversation", "-c", help="Of the parent.")] = "default",
    description: Annotated[str, typer.Option("--description", "-d", help="A few words for people.")] = "",
    model: Annotated[str | None, typer.Option(help="The model it should work with.")] = None,
    max_turns: Annotated[int | None, typer.Option(help="How many turns it may take.")] = None,
    silent: Annotated[bool, typer.Option("--silent", help="The parent's inbox gets no item for the end.")] = False,
    agent: Annotated[
        str | None, typer.Option(help="An existing agent that is to do it.", autocompletion=completion.agents)
    ] = None,
    resume: Annotated[str | None, typer.Option(help="An existing conversation that it goes on with.")] = None,
    tool_call: Annotated[str | None, typer.Option(help="The same tool call again gets the same subagent.")] = None,
    fields: Annotated[str | None, typer.Option(help="Other fields of its task, as JSON, @FILE or -.")] = None,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Start a subagent in the background: its task, its transcript and its id are printed at once."""
    more: dict[str, Any] = {**(object_given("--fields", fields) or {})}
    begun = in_yard(
        context,
        lambda yard: yard.subagents.start(
            type,
            text_given("--prompt", prompt),
            parent=parent,
            conversation=conversation,
            description=description,
            model=model,
            max_turns=max_turns,
            silent=silent,
            agent_id=agent,
            conversation_id=resume,
            tool_call_id=tool_call,
            fields=more,
            created_by=by,
        ),
    )
    shown = Text.assemble((begun.task_id, "bold"), f"  {begun.subagent_id}\n{begun.output_file}")
    show(as_json, write(begun), shown)


@app.command("ls")
def subagents_listed(
    context: typer.Context,
    parent: Annotated[str | None, typer.Option(help="Only those of this agent.")] = None,
    as_json: AsJson = False,
) -> None:
    """Background subagents, newest first."""
    views = in_yard(context, lambda yard: yard.subagents.list(parent=parent))
    rows = [
        (
            short(view.task_id),
            Text(view.status, style=_STATES[view.status]),
            view.type,
            f"{view.parent}/{view.conversation}",
            seconds(view.elapsed_sec),
            str(view.attempts),
            dollars(view.cost),
            view.description,
        )
        for view in views
    ]
    columns = ("task", "state", "type", "parent", "elapsed", "tries", "cost", "description")
    shown = table(*columns, rows=rows, right=("elapsed", "tries", "cost"))
    empty = Text("no background subagents", style="dim")
    show(as_json, write(views), shown if rows else empty)


@app.command()
def transcript(context: typer.Context, task: TaskArgument, as_json: AsJson = False) -> None:
    """What a subagent has said and done so far."""

    async def use(yard: Yard) -> list[dict[str, Json]]:
        return await yard.subagents.transcript(await find_task(yard, task))

    lines = in_yard(context, use)
    rows = [(str(line.get("at", "")), str(line["event"]), one_line(compact(line["payload"]))) for line in lines]
    show(as_json, lines, table("at", "event", "what", rows=rows))
