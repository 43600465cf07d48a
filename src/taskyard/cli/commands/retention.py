"""What time does to the yard, once: sweep."""

from __future__ import annotations

import typer

from taskyard.app import Yard
from taskyard.cli.invocation import AsJson, in_yard, show
from taskyard.cli.terminal import Text


def sweep(context: typer.Context, as_json: AsJson = False) -> None:
    """Do once what a worker does every second: expire leases, end delays, prune, deliver notifications."""

    async def use(yard: Yard) -> dict[str, int]:
        return {**(await yard.sweep())._asdict(), **(await yard.host.run_outbox())._asdict()}

    counts = in_yard(context, use)
    done = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    show(as_json, counts, Text(done or "nothing was due"))
