"""Tokens: who may reach the yard over HTTP, and as what."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, carry_out, in_yard, show
from taskyard.cli.terminal import Text, age, table
from taskyard.core import agent as agents
from taskyard.core.json_value import Json
from taskyard.core.units import Micros
from taskyard.features.tokens.rules import Token

app = typer.Typer(help="Who may reach the yard over HTTP.", no_args_is_help=True)


AgentId = Annotated[str | None, typer.Option(help="For one id of the type alone.")]
TaskTypes = Annotated[
    list[str] | None,
    typer.Option(
        "--task-type", help="A task type it may take; repeatable. Default: all.", autocompletion=completion.types
    ),
]
Capabilities = Annotated[
    list[str] | None,
    typer.Option("--capability", help="One it may have; repeatable. Default: all but llm-judge and test-runner."),
]
Queues = Annotated[
    list[str] | None,
    typer.Option("--queue", help="One it may take from; repeatable. Default: all.", autocompletion=completion.queues),
]
Slots = Annotated[
    str | None, typer.Option(help="Tasks at a time, the sum over all ids: a number or unlimited. Default: 10.")
]


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Whose it is: it is named in what is done with it.")],
    role: Annotated[str, typer.Option(help="viewer, agent, orchestrator, operator or admin.")] = "operator",
    agent: Annotated[
        str | None, typer.Option(help="For the role agent: the agent's type.", autocompletion=completion.agents)
    ] = None,
    agent_id: AgentId = None,
    task_type: TaskTypes = None,
    capability: Capabilities = None,
    queue: Queues = None,
    slots: Slots = None,
    budget: Annotated[str | None, typer.Option(help="What the type may spend, in dollars.")] = None,
    per: Annotated[str | None, typer.Option(help="With --budget: ever, day or month (UTC).")] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="A group of the person, which questions may be for; repeatable.")
    ] = None,
    days: Annotated[float | None, typer.Option(help="How long it is good; nothing: until it is revoked.")] = None,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Make a token for this workspace. It is shown this once.

    What is granted belongs to the agent's type, or to the one id: it replaces what was granted before.
    """

    async def use(yard: Yard) -> dict[str, Json]:
        lasting = None if days is None else days * 86_400
        issued = await yard.tokens.create(
            name,
            role,
            agent=agent,
            agent_id=agent_id,
            types=task_type,
            capabilities=capability,
            queues=queue,
            slots=_slots(slots),
            budget_usd=budget,
            budget_per=per,
            expires_in_sec=lasting,
            groups=group or (),
            by=by,
        )
        return {**write(issued.token), "token": issued.text}

    made = in_yard(context, use)
    show(as_json, made, Text(str(made["token"]), style="bold"))


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """The tokens of this workspace, without their secrets."""

    async def use(yard: Yard) -> tuple[list[Token], Micros]:
        return await yard.tokens.list(), yard.now()

    tokens, now = in_yard(context, use)
    rows = [
        (
            token.id,
            token.name,
            token.role.value,
            token.agent_id or token.agent or "",
            age(token.created_at, now),
            _standing(token, now),
        )
        for token in tokens
    ]
    empty = Text("no tokens: the server is open on loopback, and only there", style="dim")
    columns = ("token", "name", "role", "agent", "age", "state")
    show(as_json, write(tokens), table(*columns, rows=rows, right=("age",)) if rows else empty)


@app.command()
def grant(
    context: typer.Context,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="A type of agents.", autocompletion=completion.agents)],
    agent_id: AgentId = None,
    task_type: TaskTypes = None,
    capability: Capabilities = None,
    queue: Queues = None,
    slots: Slots = None,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Say anew what a type of agents may have. It holds from the next claim of any of them."""
    given = in_yard(
        context,
        lambda yard: yard.tokens.grant(
            agent, agent_id=agent_id, types=task_type, capabilities=capability, queues=queue, slots=_slots(slots), by=by
        ),
    )
    show(as_json, {"agent": agent, "agent_id": agent_id, **given.body()}, Text(f"granted to {agent_id or agent}"))


@app.command()
def revoke(
    context: typer.Context,
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="The id of a token, as `token ls` shows it.")],
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """End a token at once, by its id."""
    carry_out(context, as_json, lambda yard: yard.tokens.revoke(token, by=by))


def _slots(text: str | None) -> agents.Slots | None:
    """A number is a number; what else is no `unlimited` the yard refuses."""
    return int(text) if text and text.isdecimal() else cast(agents.Slots | None, text)


def _standing(token: Token, now: Micros) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at is None:
        return "good"
    return "expired" if token.expires_at <= now else f"good for {age(now, token.expires_at)}"
