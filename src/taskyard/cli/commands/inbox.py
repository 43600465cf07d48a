"""Inboxes and background subagents, from a shell."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.commands.look import one_line
from taskyard.cli.session import AsJson, By, TaskArgument, carry_out, find_task, in_yard, json_given, show, text_given
from taskyard.cli.tables import Text, dollars, seconds, short, table
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact
from taskyard.features.inbox.items import Item
from taskyard.features.inbox.rules import merged_turn

inbox = typer.Typer(help="Messages that wait for an agent's conversation.", no_args_is_help=True)
background = typer.Typer(help="Subagents that work in the background.", no_args_is_help=True)

AgentArgument = Annotated[
    str, typer.Argument(metavar="AGENT", help="By id or by type.", autocompletion=completion.agents)
]
ConversationOption = Annotated[str, typer.Option("--conversation", "-c", help="Which of its conversations.")]
_STATES = {"queued": "cyan", "running": "bold blue", "completed": "green", "failed": "bold red", "cancelled": "dim"}


@inbox.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """Inboxes that are in use, and how much waits in each."""
    views = in_yard(context, lambda yard: yard.inbox.list())
    rows = [(view.agent, view.conversation, str(view.queue_len), str(view.held), view.blocked or "") for view in views]
    columns = ("agent", "conversation", "waiting", "held", "blocked")
    shown = table(*columns, rows=rows, right=("waiting", "held"))
    show(as_json, write(views), shown if rows else Text("no inbox is in use", style="dim"))


@inbox.command()
def peek(
    context: typer.Context,
    agent: AgentArgument,
    conversation: ConversationOption = "default",
    as_json: AsJson = False,
) -> None:
    """What waits, in its order. Nothing is taken."""
    found = in_yard(context, lambda yard: yard.inbox.peek(agent, conversation))
    rows = [(item.kind.value, item.sent_by, _in_one_line(item)) for item in found.items]
    shown = table("kind", "from", "content", rows=rows)
    show(as_json, write(found), shown if rows else Text("nothing waits", style="dim"))


@inbox.command()
def enqueue(
    context: typer.Context,
    agent: AgentArgument,
    content: Annotated[str, typer.Argument(metavar="TEXT", help="What to say; @FILE or - to read it.")],
    conversation: ConversationOption = "default",
    kind: Annotated[
        str, typer.Option(help="message, task_notification, approval_result or overlay_action.")
    ] = "message",
    is_json: Annotated[bool, typer.Option("--parts", help="TEXT is JSON: a list of parts of a turn.")] = False,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Put something into an inbox. A full one refuses it, and this ends with status 4."""
    said: Json = json_given("TEXT", content) if is_json else text_given("TEXT", content)
    put = in_yard(context, lambda yard: yard.inbox.put(agent, conversation, said, kind=kind, sent_by=by))
    word = "refused: the inbox is full" if put.item is None else f"{put.item.id}  {put.queue_len} waiting"
    show(as_json, write(put), Text(word))
    if put.item is None:
        raise typer.Exit(4)


@inbox.command()
def dequeue(
    context: typer.Context,
    agent: AgentArgument,
    conversation: ConversationOption = "default",
    blocked: Annotated[
        str | None, typer.Option(help="Why nothing can be taken now: streaming, overlay_open, …")
    ] = None,
    hold: Annotated[float, typer.Option(help="Seconds to consume it in, before it comes back; 0: at once.")] = 300,
    as_json: AsJson = False,
) -> None:
    """Take the next batch, and print it as one turn. Consume it when it is dealt with."""
    taken = in_yard(context, lambda yard: yard.inbox.take(agent, conversation, blocked, hold_sec=hold))
    if taken.batch is None:
        shown = Text("nothing to take" if blocked is None else f"blocked: {blocked}", style="dim")
    else:
        turn = taken.batch.turn
        shown = Text.assemble((taken.batch.batch_id, "bold"), "\n", turn if isinstance(turn, str) else compact(turn))
    show(as_json, write(taken), shown)


@inbox.command()
def consume(
    context: typer.Context,
    agent: AgentArgument,
    batch: Annotated[str, typer.Argument(metavar="BATCH", help="As `dequeue` printed it.")],
    conversation: ConversationOption = "default",
    as_json: AsJson = False,
) -> None:
    """Say that a batch was dealt with: it never comes back."""
    carry_out(context, as_json, lambda yard: yard.inbox.consume(agent, conversation, batch))


@inbox.command()
def clear(
    context: typer.Context,
    agent: AgentArgument,
    conversation: ConversationOption = "default",
    reason: Annotated[str, typer.Option(help="Kept with the event.")] = "cancelled",
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Leave nothing in an inbox."""
    count = in_yard(context, lambda yard: yard.inbox.clear(agent, conversation, reason, by=by))
    show(as_json, {"cleared": count}, Text(f"{count} cleared"))


@background.command()
def start(
    context: typer.Context,
    type: Annotated[
        str,
        typer.Argument(
            metavar="TYPE", help="What kind of subagent: explore, review, …", autocompletion=completion.types
        ),
    ],
    prompt: Annotated[str, typer.Option("--prompt", "-p", help="What to do; @FILE or - to read it.")],
    parent: Annotated[str, typer.Option(help="The agent whose inbox is told of the end.")],
    conversation: Annotated[str, typer.Option("--conversation", "-c", help="Of the parent.")] = "default",
    description: Annotated[str, typer.Option("--description", "-d", help="A few words for people.")] = "",
    model: Annotated[str | None, typer.Option(help="The model it should work with.")] = None,
    max_turns: Annotated[int | None, typer.Option(help="How many turns it may take.")] = None,
    silent: Annotated[bool, typer.Option("--silent", help="The parent is not told.")] = False,
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
    more = json_given("--fields", fields) or {}
    if not isinstance(more, dict):
        raise InvalidInput("--fields", "must be a JSON object")
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
            fields=cast(dict[str, Any], more),
            created_by=by,
        ),
    )
    shown = Text.assemble((begun.task_id, "bold"), f"  {begun.subagent_id}\n{begun.output_file}")
    show(as_json, write(begun), shown)


@background.command("ls")
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


@background.command()
def transcript(context: typer.Context, task: TaskArgument, as_json: AsJson = False) -> None:
    """What a subagent has said and done so far."""

    async def use(yard: Yard) -> list[dict[str, Json]]:
        return await yard.subagents.transcript(await find_task(yard, task))

    lines = in_yard(context, use)
    rows = [(str(line.get("at", "")), str(line["event"]), one_line(compact(line["payload"]))) for line in lines]
    show(as_json, lines, table("at", "event", "what", rows=rows))


def _in_one_line(item: Item) -> str:
    turn = merged_turn([item.content])
    return one_line(turn if isinstance(turn, str) else compact(item.content))
