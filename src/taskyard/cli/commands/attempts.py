"""Attempts: doing work from a shell, from claim to complete, fail or release."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

import typer
from rich.table import Table

from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, LeaseOption, TaskArgument, find_task, in_yard, json_given, show, text_given
from taskyard.cli.terminal import Text, dollars, one_line, seconds, short, table
from taskyard.core.errors import LeaseLost
from taskyard.core.json_value import Json
from taskyard.core.units import SECOND, to_iso
from taskyard.features.attempts.views import HeartbeatAnswer, Receipt, StepView
from taskyard.features.budgets.views import Spent
from taskyard.features.tasks.views import Held

Cost = Annotated[str | None, typer.Option("--cost", help="What it cost in all, in dollars.")]
InputTokens = Annotated[int | None, typer.Option(help="Tokens read in all, cached ones among them.")]
OutputTokens = Annotated[int | None, typer.Option(help="Tokens written in all.")]
CacheRead = Annotated[int | None, typer.Option("--cache-read-tokens", help="Of those read, from the provider's cache.")]
CacheWrite = Annotated[
    int | None, typer.Option("--cache-write-tokens", help="Of those read, into the provider's cache.")
]
Model = Annotated[str | None, typer.Option(help="The model. Without --cost, its price is looked up.")]


def claim(
    context: typer.Context,
    agent: Annotated[
        str,
        typer.Option(
            "--agent", "-a", help="Who claims. Registered here if it is new.", autocompletion=completion.agents
        ),
    ],
    agent_type: Annotated[
        str | None, typer.Option(help="Its type, where it is new. Default: that of the same name.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many at most.")] = 1,
    wait: Annotated[float, typer.Option(help="Seconds to wait for work.")] = 0.0,
    capability: Annotated[
        list[str] | None, typer.Option("--capability", help="Added to what the agent can; may be repeated.")
    ] = None,
    type: Annotated[
        list[str] | None,
        typer.Option("--type", help="Only these types; may be repeated.", autocompletion=completion.types),
    ] = None,
    start: Annotated[bool, typer.Option("--start/--no-start", help="Begin at once.")] = True,
    as_json: AsJson = False,
) -> None:
    """Take the best task there is. Prints nothing and exits with 1 where there is none."""

    async def use(yard: Yard) -> list[dict[str, Json]]:
        await yard.agents.register(
            agent, agent_type, capabilities=capability or (), max_concurrent_tasks=count, keep=True
        )
        await yard.sweep()  # where only shell scripts work, nobody else lets delays end and leases expire
        held = await yard.claim(agent, count=count, wait_sec=wait, types=type, start=start)
        return [await _claimed(yard, each) for each in held]

    tasks = in_yard(context, use)
    shown = [Text(f"{each['id']}  {each['type']}  --lease {each['lease']}") for each in tasks]
    if as_json:
        show(True, {"tasks": tasks})
    else:
        show(False, None, *shown)
    if not tasks:
        raise typer.Exit(1)


async def _claimed(yard: Yard, task: Held) -> dict[str, Json]:
    details = (await yard.get(task.id)).to_dict()
    inputs = [{"ref": each.ref, "data": each.data} for each in await yard.tasks.inputs(task.id, task.lease)]
    return {**details, "lease": task.lease, "attempt": task.attempt, "inputs": list[Json](inputs)}


def start(context: typer.Context, task: TaskArgument, lease: LeaseOption, as_json: AsJson = False) -> None:
    """Say that work on a claimed task has begun."""
    _settled(context, task, as_json, lambda yard, task_id: yard.start(task_id, lease))


def heartbeat(
    context: typer.Context,
    task: TaskArgument,
    lease: LeaseOption,
    cost: Cost = None,
    input_tokens: InputTokens = None,
    output_tokens: OutputTokens = None,
    cache_read: CacheRead = None,
    cache_write: CacheWrite = None,
    model: Model = None,
    rate_limited_sec: Annotated[
        float | None,
        typer.Option("--rate-limited", help="A provider wants no more calls for so many seconds: others wait, too."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep the lease, and hear what there is to know."""
    spent = _spent(cost, input_tokens, output_tokens, cache_read, cache_write, model)

    async def use(yard: Yard) -> HeartbeatAnswer:
        return await yard.heartbeat(await find_task(yard, task), lease, rate_limited_sec=rate_limited_sec, **spent)

    answer = in_yard(context, use)
    value: dict[str, Json] = {"id": answer.task_id, "words": list[Json](answer.words), "stop": answer.must_stop}
    show(as_json, value, Text(", ".join(answer.words) or "go on"))
    if answer.must_stop:
        raise typer.Exit(LeaseLost.exit_status)


def progress(
    context: typer.Context,
    task: TaskArgument,
    lease: LeaseOption,
    fraction: Annotated[float | None, typer.Argument(help="0 to 1.")] = None,
    note: Annotated[str, typer.Option(help="What is being done.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say how far it is."""

    async def use(yard: Yard) -> dict[str, Json]:
        progress: dict[str, Json] = {"fraction": fraction, "note": note}
        answer = await yard.progress(await find_task(yard, task), lease, progress)
        return {"id": answer.task_id, "words": list[Json](answer.words)}

    show(as_json, in_yard(context, use), Text("noted"))


def complete(
    context: typer.Context,
    task: TaskArgument,
    lease: LeaseOption,
    output: Annotated[str, typer.Option("--output", "-o", help="JSON, @FILE or -.")] = "null",
    report: Annotated[str | None, typer.Option(help="Decision report: JSON, @FILE or -.")] = None,
    cost: Cost = None,
    input_tokens: InputTokens = None,
    output_tokens: OutputTokens = None,
    cache_read: CacheRead = None,
    cache_write: CacheWrite = None,
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """Hand the output in."""
    data, reported = json_given("--output", output), json_given("--report", report)
    spent = _spent(cost, input_tokens, output_tokens, cache_read, cache_write, model)
    _settled(
        context,
        task,
        as_json,
        lambda yard, task_id: yard.complete(task_id, lease, data, decision_report=reported, **spent),
    )


def fail(
    context: typer.Context,
    task: TaskArgument,
    lease: LeaseOption,
    reason: Annotated[
        str, typer.Option(help="timeout, crash, rate_limit, auth_failure, … or your own word.")
    ] = "agent_error",
    error: Annotated[str, typer.Option(help="What went wrong; @FILE or - to read it.")] = "",
    cost: Cost = None,
    input_tokens: InputTokens = None,
    output_tokens: OutputTokens = None,
    cache_read: CacheRead = None,
    cache_write: CacheWrite = None,
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """Say that the attempt failed. The policy decides what follows."""
    error_text = text_given("--error", error)
    spent = _spent(cost, input_tokens, output_tokens, cache_read, cache_write, model)
    _settled(context, task, as_json, lambda yard, task_id: yard.fail(task_id, lease, reason, error_text, **spent))


def release(context: typer.Context, task: TaskArgument, lease: LeaseOption, as_json: AsJson = False) -> None:
    """Give the task back unfinished; no attempt is counted."""
    _settled(context, task, as_json, lambda yard, task_id: yard.release(task_id, lease))


def _spent(
    cost: str | None,
    input_tokens: int | None,
    output_tokens: int | None,
    cache_read: int | None,
    cache_write: int | None,
    model: str | None,
) -> Spent:
    return {
        "cost_usd": cost,
        "tokens_input": input_tokens,
        "tokens_output": output_tokens,
        "tokens_cache_read": cache_read,
        "tokens_cache_write": cache_write,
        "model": model,
    }


def _settled(context: typer.Context, task: str, as_json: bool, act: Callable[[Yard, str], Awaitable[Receipt]]) -> None:
    async def use(yard: Yard) -> Receipt:
        return await act(yard, await find_task(yard, task))

    receipt = in_yard(context, use)
    value = {"id": receipt.task_id, "status": receipt.status.value, "attempts": receipt.failures}
    show(as_json, value, Text(f"{short(receipt.task_id)} is {receipt.status.value}"))


def steps_table(steps: Sequence[StepView]) -> Table:
    """What each step took and cost, where its agent said so."""
    rows = [
        (
            one_line(each.name),
            str(each.attempt),
            "" if each.ended_at is None else to_iso(each.ended_at)[:19].replace("T", " "),
            "" if each.began_at is None or each.ended_at is None else seconds((each.ended_at - each.began_at) / SECOND),
            dollars(each.cost),
            "" if each.tokens_input is None else str(each.tokens_input),
            "" if each.tokens_output is None else str(each.tokens_output),
            one_line(each.model or ""),
        )
        for each in steps
    ]
    columns = ("step", "attempt", "stored (UTC)", "took", "cost", "in", "out", "model")
    return table(*columns, rows=rows, right=("attempt", "took", "cost", "in", "out"))
