"""Bringing the store to this release as a step of its own: migrate plan, apply, status."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer
from rich.console import RenderableType

from taskyard.app import connect
from taskyard.cli.invocation import AsJson, chosen, in_yard, show
from taskyard.cli.terminal import Text, table
from taskyard.core.json_value import Json
from taskyard.stores.contract import Store
from taskyard.stores.shared.migrations import Migration, State

Answer = TypeVar("Answer")

app = typer.Typer(
    help="The schema of the store: what is there, what is to come, and bringing it along.", no_args_is_help=True
)


@app.command()
def plan(
    context: typer.Context,
    sql: Annotated[bool, typer.Option("--sql", help="Print the statements too.")] = False,
    as_json: AsJson = False,
) -> None:
    """What `apply` would do. Nothing is changed."""
    steps = _with_store(context, lambda store: store.schema()).outstanding()
    value = [{**_step(each), "sql": each.sql} if sql else _step(each) for each in steps]
    show(as_json, value, *_steps(steps), *([Text(each.sql) for each in steps] if sql else ()))


@app.command()
def apply(
    context: typer.Context,
    preset: Annotated[
        str | None,
        typer.Option("--preset", help="Of a workspace that was used before presets were stored with it (0.1.0)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Bring the store to this release. Many may do so at once: one does it, the others wait and find it done.

    Where `status` says so, stop every process of the yard before, and back it up.
    """

    async def use(store: Store) -> list[Migration]:
        steps = (await store.schema()).outstanding()
        await store.migrate()
        return steps

    steps = _with_store(context, use)
    if preset is not None:
        in_yard(context, lambda yard: yard.presets.adopt(preset), preset=None)
    done = Text(f"applied {len(steps)} of them" if len(steps) > 1 else "applied", style="green")
    show(as_json, [_step(each) for each in steps], *_steps(steps), *([done] if steps else ()))


@app.command()
def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Where the store stands. Exit status 1 where it is not at this release."""
    state = _with_store(context, lambda store: store.schema())
    steps = [] if state.is_too_new else state.outstanding()
    value: dict[str, Json] = {
        "stored": state.stored.version,
        "known": len(state.known),
        "min_reader": state.stored.min_reader,
        "min_writer": state.stored.min_writer,
        "outstanding": [each.label for each in steps],
        "too_new": state.is_too_new,
        "needs_stop": not state.is_too_new and state.needs_stop,
    }
    show(as_json, value, _words(state, steps))
    if steps or state.is_too_new:
        raise typer.Exit(1)


def _with_store(context: typer.Context, use: Callable[[Store], Awaitable[Answer]]) -> Answer:
    """Do something with a store that is not open: opening it would migrate."""

    async def run() -> Answer:
        return await use(connect(chosen(context).url).store)

    return asyncio.run(run())


def _step(step: Migration) -> dict[str, Json]:
    version, min_reader, min_writer = step.schema
    return {"version": version, "name": step.name, "min_reader": min_reader, "min_writer": min_writer}


def _steps(steps: list[Migration]) -> list[RenderableType]:
    if not steps:
        return [Text("nothing to do", style="green")]
    rows = [(each.label, f"schema {each.schema.min_writer} or newer") for each in steps]
    return [table("migration", "afterwards works with releases of", rows=rows)]


def _words(state: State, steps: list[Migration]) -> Text:
    if not state.known:
        return Text("this store has no schema to migrate", style="green")
    at = f"the store is at schema {state.stored.version}, this release at {len(state.known)}"
    if state.is_too_new:
        return Text(f"{at}: upgrade taskyard", style="bold red")
    if steps:
        first = ", when every process of the yard is stopped and it is backed up" if state.needs_stop else ""
        return Text(f"{at}: {len(steps)} to apply, with `taskyard migrate apply`{first}", style="yellow")
    return Text(f"{at}: nothing to do", style="green")
