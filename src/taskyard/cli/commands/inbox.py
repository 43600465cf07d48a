"""Inboxes, from a shell."""

from __future__ import annotations

from typing import Annotated

import typer

from taskyard.api.codec import write
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, carry_out, in_yard, json_given, show, text_given
from taskyard.cli.terminal import Text, one_line, table
from taskyard.core.json_value import Json, compact
from taskyard.features.inbox.items import Item
from taskyard.features.inbox.rules import merged_turn

app = typer.Typer(help="Messages that wait for an agent's conversation.", no_args_is_help=True)
AgentArgument = Annotated[
    str, typer.Argument(metavar="AGENT", help="By id or by type.", autocompletion=completion.agents)
]
ConversationOption = Annotated[str, typer.Option("--conversation", "-c", help="Which of its conversations.")]


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """Inboxes that are in use, and how much waits in each."""
    views = in_yard(context, lambda yard: yard.inbox.list())
    rows = [(view.agent, view.conversation, str(view.queue_len), str(view.held), view.blocked or "") for view in views]
    columns = ("agent", "conversation", "waiting", "held", "blocked")
    shown = table(*columns, rows=rows, right=("waiting", "held"))
    show(as_json, write(views), shown if rows else Text("no inbox is in use", style="dim"))


@app.command()
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


@app.command()
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
    given: Json = json_given("TEXT", content) if is_json else text_given("TEXT", content)
    put = in_yard(context, lambda yard: yard.inbox.put(agent, conversation, given, kind=kind, sent_by=by))
    word = "refused: the inbox is full" if put.item is None else f"{put.item.id}  {put.queue_len} waiting"
    show(as_json, write(put), Text(word))
    if put.item is None:
        raise typer.Exit(4)


@app.command()
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


@app.command()
def consume(
    context: typer.Context,
    agent: AgentArgument,
    batch: Annotated[str, typer.Argument(metavar="BATCH", help="As `dequeue` printed it.")],
    conversation: ConversationOption = "default",
    as_json: AsJson = False,
) -> None:
    """Say that a batch was dealt with: it never comes back."""
    carry_out(context, as_json, lambda yard: yard.inbox.consume(agent, conversation, batch))


@app.command()
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


def _in_one_line(item: Item) -> str:
    turn = merged_turn([item.content])
    return one_line(turn if isinstance(turn, str) else compact(item.content))
