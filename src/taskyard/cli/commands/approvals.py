"""Approvals: signal, which answers a task that waits for somebody."""

from __future__ import annotations

from typing import Annotated

import typer

from taskyard.app import Yard
from taskyard.cli.invocation import AsJson, By, TaskArgument, find_task, in_yard, json_given, show
from taskyard.cli.terminal import Text


def signal(
    context: typer.Context,
    task: TaskArgument,
    name: Annotated[str, typer.Argument(help="What the task waits for, e.g. approve.")],
    data: Annotated[str, typer.Option(help="JSON, @FILE or -.")] = "true",
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Send a task a signal it waits for: an approval, an answer."""

    async def use(yard: Yard) -> str:
        task_id = await find_task(yard, task)
        await yard.signal(task_id, name, json_given("--data", data), sent_by=by)
        return task_id

    task_id = in_yard(context, use)
    show(as_json, {"id": task_id, "signal": name}, Text(f"{name} sent to {task_id}"))
