"""Agents, queues, breakers and money: see them, and act on them."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.session import AsJson, carry_out, in_yard, json_given, show
from taskyard.cli.tables import Text, age, dollars, table
from taskyard.core.breaker import BreakerState
from taskyard.core.errors import InvalidInput
from taskyard.core.identifiers import day_ceiling
from taskyard.core.json_value import Json
from taskyard.core.units import Micros, usd, utc_date
from taskyard.features.agents.views import AgentView, RuntimeView
from taskyard.features.breakers.views import BreakerPolicyView

agents = typer.Typer(help="Who can work. Alone: list them.", invoke_without_command=True)
queues = typer.Typer(help="See, pause and resume queues.", no_args_is_help=True)
breakers = typer.Typer(help="Circuit breakers, one for each task type.", no_args_is_help=True)
_MONEY = ("spent_usd", "reserved_usd", "ceiling_usd")
budget = typer.Typer(help="What may be spent, and what was.", no_args_is_help=True)

AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="An agent's id.", autocompletion=completion.agents)]
QueueArgument = Annotated[
    str, typer.Argument(metavar="QUEUE", help="The name of a queue.", autocompletion=completion.queues)
]
TypeArgument = Annotated[
    str, typer.Argument(metavar="TYPE", help="The type of the tasks.", autocompletion=completion.types)
]
DagArgument = Annotated[str, typer.Argument(metavar="DAG", help="A DAG's id.", autocompletion=completion.dags)]
WhyOption = Annotated[str, typer.Option("--why", help="The reason; kept with the event.")]


@agents.callback()
def agents_alone(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    if context.invoked_subcommand is None:
        agents_listed(context, as_json)
    elif as_json:
        raise InvalidInput("--json", "must stand after the command, as in `taskyard agents ls --json`")


@agents.command("ls")
def agents_listed(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """Agents with their state, load, money and last sign of life."""

    async def use(yard: Yard) -> tuple[list[AgentView], Micros]:
        return await yard.agents.list(), yard.now()

    views, now = in_yard(context, use)
    rows = [
        (
            view.id,
            view.type,
            view.status.value,
            f"{view.current_tasks}/{view.max_concurrent_tasks}",
            dollars(view.budget_left),
            f"{age(view.last_heartbeat, now)} ago" if view.last_heartbeat else "never",
            ", ".join(sorted(view.capabilities)),
        )
        for view in views
    ]
    columns = ("agent", "type", "state", "tasks", "left", "heard", "capabilities")
    empty = Text("no agents: run one with `taskyard work MODULE:AGENT`", style="dim")
    value: list[Json] = write(views)
    show(as_json, value, table(*columns, rows=rows, right=("tasks", "left")) if rows else empty)


@agents.command("runtimes")
def runtimes_listed(context: typer.Context, as_json: AsJson = False) -> None:
    """The machines and worker processes that agents run on."""

    async def use(yard: Yard) -> tuple[list[RuntimeView], list[AgentView], Micros]:
        return await yard.runtimes.list(), await yard.agents.list(), yard.now()

    views, known, now = in_yard(context, use)
    rows = [
        (
            view.id,
            view.hostname,
            "" if view.pid is None else str(view.pid),
            view.version,
            f"{age(view.started_at, now)} ago",
            f"{age(view.last_heartbeat, now)} ago" if view.last_heartbeat else "never",
            ", ".join(each.id for each in known if (each.runtime_id, each.incarnation) == (view.id, view.incarnation)),
        )
        for view in views
    ]
    columns = ("runtime", "host", "process", "version", "started", "heard", "agents")
    empty = Text("no runtime: run an agent with `taskyard work MODULE:AGENT`", style="dim")
    value: list[Json] = write(views)
    show(as_json, value, table(*columns, rows=rows, right=("process",)) if rows else empty)


@agents.command()
def drain(
    context: typer.Context,
    agent: AgentArgument,
    as_json: AsJson = False,
) -> None:
    """Let it finish what it holds, and give it nothing new."""
    carry_out(context, as_json, lambda yard: yard.agents.drain(agent))


@agents.command()
def resume(
    context: typer.Context,
    agent: AgentArgument,
    as_json: AsJson = False,
) -> None:
    """Let it take work again."""
    carry_out(context, as_json, lambda yard: yard.agents.resume(agent))


@agents.command("budget")
def agent_budget(
    context: typer.Context,
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT", help="A type, for all its ids together; or one id.", autocompletion=completion.agents
        ),
    ],
    dollars_: Annotated[str | None, typer.Argument(metavar="[DOLLARS]", help="Nothing: no limit.")] = None,
    per: Annotated[str, typer.Option(help="ever, day or month (UTC).")] = "ever",
    take_back: Annotated[bool, typer.Option("--take-back", help="Let what the code says count again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Set what an agent may spend: from now on this counts, whatever its code says."""
    carry_out(
        context, as_json, lambda yard: yard.agents.set_budget(agent, dollars_, budget_per=per, take_back=take_back)
    )


@agents.command("rm")
def removed(
    context: typer.Context,
    agent: AgentArgument,
    as_json: AsJson = False,
) -> None:
    """Forget an agent; what it holds goes to others."""
    carry_out(context, as_json, lambda yard: yard.agents.remove(agent))


@queues.command("ls")
def queues_listed(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """Queues with their state, what waits in them, and their preset."""
    views = in_yard(context, lambda yard: yard.queues.list())
    rows = [
        (
            view.queue,
            "paused" if view.paused else "open",
            str(view.ready),
            view.preset,
            "required" if view.report_required else "",
        )
        for view in views
    ]
    columns = ("queue", "state", "ready", "preset", "reports")
    shown = table(*columns, rows=rows, right=("ready",)) if rows else Text("no queue was ever used", style="dim")
    show(as_json, write(views), shown)


@queues.command()
def pause(
    context: typer.Context,
    queue: QueueArgument,
    as_json: AsJson = False,
) -> None:
    """Hand out nothing of a queue."""
    carry_out(context, as_json, lambda yard: yard.queues.pause(queue))


@queues.command("resume")
def queue_resumed(
    context: typer.Context,
    queue: QueueArgument,
    as_json: AsJson = False,
) -> None:
    """Hand out a paused queue's tasks again."""
    carry_out(context, as_json, lambda yard: yard.queues.resume(queue))


@queues.command()
def preset(
    context: typer.Context,
    queue: QueueArgument,
    name: Annotated[str, typer.Argument(metavar="PRESET", help="The name of a preset.")],
    as_json: AsJson = False,
) -> None:
    """Let a queue's new tasks follow a preset."""
    carry_out(context, as_json, lambda yard: yard.queues.set_preset(queue, name))


@queues.command()
def reports(
    context: typer.Context,
    queue: Annotated[
        str | None, typer.Argument(help="This queue alone. Default: all.", autocompletion=completion.queues)
    ] = None,
    required: Annotated[bool, typer.Option("--required/--optional", help="Whether a report is required.")] = True,
    as_json: AsJson = False,
) -> None:
    """Let new tasks be completed only with a decision report."""
    carry_out(context, as_json, lambda yard: yard.queues.set_report_policy(required, queue=queue))


@breakers.command("ls")
def breakers_listed(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """Breakers that have ever opened."""
    views = in_yard(context, lambda yard: yard.breakers.list())
    value = [{"type": view.type, "state": view.state.value, "open_until": view.open_until} for view in views]
    rows = [
        (
            view.type,
            Text(view.state.value, style="green" if view.state is BreakerState.CLOSED else "bold red"),
            view.open_until or "",
            view.why,
        )
        for view in views
    ]
    empty = Text("no breaker has opened", style="green")
    show(as_json, value, table("type", "state", "open until", "why", rows=rows) if rows else empty)


@breakers.command("policy")
def breaker_policy(
    context: typer.Context,
    threshold: Annotated[int | None, typer.Option(help="Failures in a row that open a breaker.")] = None,
    half_open_after: Annotated[
        float | None, typer.Option(help="Seconds until an open one lets a probe through.")
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            help='For one type, as TYPE=N or TYPE=JSON: ops-security={"failureThreshold": 3}. May be repeated.'
        ),
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Everything as the preset has it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show when the workspace's breakers open, or set it as a whole: what is not given is the preset's."""
    overrides = dict(_override(each) for each in override or [])

    async def use(yard: Yard) -> BreakerPolicyView:
        if threshold is None and half_open_after is None and not overrides and not reset:
            return (await yard.budgets.show()).breakers or BreakerPolicyView(None, None, {})
        return await yard.breakers.set_policy(
            failure_threshold=threshold, half_open_after_sec=half_open_after, overrides=overrides
        )

    value = write(in_yard(context, use))
    show(as_json, value, Text(json.dumps(value, indent=2)))


def _override(given: str) -> tuple[str, Any]:
    type_, equals, value = given.partition("=")
    if not equals:
        raise InvalidInput("--override", "must be TYPE=N or TYPE=JSON")
    return type_, json_given("--override", value)


@breakers.command("open")
def opened(
    context: typer.Context, type: TypeArgument, why: WhyOption = "opened by hand", as_json: AsJson = False
) -> None:
    """Hand out nothing of a type for a while."""
    carry_out(context, as_json, lambda yard: yard.breakers.open(type, why=why))


@breakers.command("close")
def closed(
    context: typer.Context, type: TypeArgument, why: WhyOption = "closed by hand", as_json: AsJson = False
) -> None:
    """Let a type through again."""
    carry_out(context, as_json, lambda yard: yard.breakers.close(type, why=why))


@budget.command("show")
def spent(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """What was spent today, by agents and by DAGs."""

    async def use(yard: Yard) -> list[dict[str, Json]]:
        today = day_ceiling(utc_date(yard.now()))
        return [{**write(spend), "today": spend.name == today} for spend in await yard.budgets.spending()]

    rows = in_yard(context, use)
    shown = table(
        "what",
        "spent",
        "reserved",
        "ceiling",
        right=("spent", "reserved", "ceiling"),
        rows=[
            (
                "today" if row["today"] else str(row["name"]),
                *(dollars(None if row[name] is None else usd(str(row[name]))) for name in _MONEY),
            )
            for row in rows
        ],
    )
    show(as_json, rows, shown if rows else Text("nothing was spent", style="dim"))


@budget.command("dag")
def dag_limited(
    context: typer.Context,
    dag: DagArgument,
    dollars_: Annotated[str | None, typer.Argument(metavar="[DOLLARS]", help="Nothing: no limit.")] = None,
    as_json: AsJson = False,
) -> None:
    """Set what a DAG may spend in all."""
    carry_out(context, as_json, lambda yard: yard.dags.set_budget(dag, dollars_))


@budget.command("tasks")
def dag_sized(
    context: typer.Context,
    dag: DagArgument,
    tasks: Annotated[int | None, typer.Argument(metavar="[TASKS]", help="Nothing: as many as any, 10,000.")] = None,
    as_json: AsJson = False,
) -> None:
    """Set how many tasks a DAG may have in all."""
    carry_out(context, as_json, lambda yard: yard.dags.set_limit(dag, tasks))


@budget.command("set")
def limited(
    context: typer.Context,
    daily: Annotated[str | None, typer.Option(help="What the workspace may spend in a UTC day, in dollars.")] = None,
    reserve: Annotated[str, typer.Option(help="What a task without a maximum reserves where money is limited.")] = "0",
    as_json: AsJson = False,
) -> None:
    """Limit what the workspace spends in a day."""
    carry_out(context, as_json, lambda yard: yard.budgets.set(daily_budget_usd=daily, default_reserve_usd=reserve))
