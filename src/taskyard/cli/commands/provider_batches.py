"""Provider batches: model calls that were gathered, at the batch price."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli.invocation import AsJson, TaskArgument, find_task, in_yard, show
from taskyard.cli.terminal import Text, age, short, table
from taskyard.core.units import Micros, to_iso
from taskyard.features.provider_batches.views import ProviderBatchView

app = typer.Typer(help="Model calls that were gathered into batches of a provider.", no_args_is_help=True)
NONE = Text("none", style="dim")


@app.command("ls")
def listed(
    context: typer.Context,
    limit: Annotated[int, typer.Option(help="How many, newest first.", min=1, max=200)] = 50,
    as_json: AsJson = False,
) -> None:
    """The newest batches, and how many of their calls are outstanding."""

    async def use(yard: Yard) -> tuple[list[ProviderBatchView], Micros]:
        return await yard.provider_batches.list(limit=limit), yard.now()

    found, now = in_yard(context, use)
    show(as_json, write(found), batches_table(found, now) if found else NONE)


@app.command("show")
def shown(context: typer.Context, task: TaskArgument, as_json: AsJson = False) -> None:
    """One batch, by the id of its task: what was sent, as what, and until when the provider keeps it."""

    async def use(yard: Yard) -> ProviderBatchView:
        return await yard.provider_batches.get(await find_task(yard, task))

    found = in_yard(context, use)
    parts = [
        (each.provider_id, str(each.calls), to_iso(each.sent_at), to_iso(each.expires_at) if each.expires_at else "")
        for each in found.parts
    ]
    facts = [
        ("batch", found.id),
        ("provider", found.provider),
        ("calls of", found.group),
        ("agent", found.agent_type),
        ("state", found.status.value),
        ("outstanding", str(found.outstanding)),
    ]
    sent = table("provider's id", "calls", "sent", "kept until", rows=parts, right=("calls",)) if parts else NONE
    show(as_json, write(found), table("", "", rows=facts), Text(""), sent)


def batches_table(found: list[ProviderBatchView], now: Micros) -> Table:
    rows = [
        (
            short(each.id),
            each.status.value,
            f"{age(each.created_at, now)} ago",
            str(sum(part.calls for part in each.parts)),
            str(each.outstanding),
            ", ".join(part.provider_id for part in each.parts),
            each.group,
        )
        for each in found
    ]
    columns = ("batch", "state", "begun", "sent", "outstanding", "provider's id", "calls of")
    return table(*columns, rows=rows, right=("sent", "outstanding"))
