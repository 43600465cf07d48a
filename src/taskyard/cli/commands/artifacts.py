"""Artifacts from a shell: list, put, get, remove."""

from __future__ import annotations

import sys
from io import FileIO
from pathlib import Path
from typing import Annotated, cast

import typer

from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, carry_out, find_task, in_yard, show
from taskyard.cli.terminal import Text, age, short, table
from taskyard.core.errors import InvalidInput
from taskyard.core.units import Micros
from taskyard.definition import document
from taskyard.features.artifacts.content import Content
from taskyard.features.artifacts.rules import Artifact
from taskyard.worker.fetch import fetch, write

app = typer.Typer(help="Files that tasks made, or are to read.", no_args_is_help=True)
ArtifactArgument = Annotated[str, typer.Argument(metavar="ARTIFACT", help="Its id, or artifact:ID.")]
Lease = Annotated[str | None, typer.Option(help="The lease that `claim` gave.", show_default=False)]
STANDARD = "-"  # input or output, in place of a file


@app.command("ls")
def listed(
    context: typer.Context,
    task: Annotated[
        str | None, typer.Argument(metavar="[TASK]", help="Only those of this task.", autocompletion=completion.tasks)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Artifacts that may be seen: of completed tasks, and those that were put in by themselves."""

    async def use(yard: Yard) -> tuple[list[Artifact], Micros]:
        task_id = None if task is None else await find_task(yard, task)
        return await yard.artifacts.list(task_id=task_id, limit=limit), yard.now()

    found, now = in_yard(context, use)
    rows = [
        (each.id, each.name, _size(each.size), short(each.task_id or ""), age(each.created_at, now)) for each in found
    ]
    columns = ("artifact", "name", "size", "task", "age")
    shown = table(*columns, rows=rows, right=("size", "age")) if rows else Text("no artifacts", style="dim")
    show(as_json, document.write(found), shown)


@app.command("put")
def put(
    context: typer.Context,
    path: Annotated[str, typer.Argument(metavar="FILE", help="The file, or - for standard input.")],
    name: Annotated[str | None, typer.Option(help="What to call it; nothing: as the file is called.")] = None,
    task: Annotated[
        str | None, typer.Option(help="The task that made it; with its lease.", autocompletion=completion.tasks)
    ] = None,
    lease: Lease = None,
    media_type: Annotated[str | None, typer.Option(help="Such as text/markdown.")] = None,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Store a file: one that a task made, or one for tasks to read."""
    if path == STANDARD and name is None:
        raise InvalidInput("name", "must be given for what comes from standard input")
    data = _standard_input() if path == STANDARD else Path(path)

    async def use(yard: Yard) -> Artifact:
        task_id = None if task is None else await find_task(yard, task)
        return await yard.artifacts.put(
            name or Path(path).name, data, task_id=task_id, lease=lease, media_type=media_type, by=by
        )

    stored = in_yard(context, use)
    show(
        as_json,
        document.write(stored),
        Text.assemble((stored.reference, "bold"), f"  {stored.name}  {_size(stored.size)}"),
    )


@app.command("get")
def get(
    context: typer.Context,
    artifact: ArtifactArgument,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Where to; - for standard output, nothing: its name, here.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    task: Annotated[
        str | None, typer.Option(help="The validator that judges it; with its lease.", autocompletion=completion.tasks)
    ] = None,
    lease: Lease = None,
    as_json: AsJson = False,
) -> None:
    """Fetch an artifact. It is written whole, and only where it is what was put."""

    async def use(yard: Yard) -> tuple[Artifact, str]:
        task_id = None if task is None else await find_task(yard, task)
        found = await yard.artifacts.get(artifact, task_id=task_id, lease=lease)
        content = yard.artifacts.read(found.id, task_id=task_id, lease=lease)
        where = output or found.name
        if where == STANDARD:
            if sys.stdout.isatty():
                raise InvalidInput("output", "must be a file or a pipe: a terminal would obey what is in an artifact")
            await write(found, content, sys.stdout.buffer)
        else:
            await fetch(found, content, _free(where, force=force))
        return found, where

    found, where = in_yard(context, use)
    if where != STANDARD:
        show(as_json, {**document.write(found), "path": where}, Text(f"{where}  {_size(found.size)}"))


@app.command("rm")
def remove(context: typer.Context, artifact: ArtifactArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Take away an artifact that was put in by itself. Those of a task go when it is pruned."""
    carry_out(context, as_json, lambda yard: yard.artifacts.remove(artifact, by=by))


def _standard_input() -> Content:
    """Without a buffer: a thread that waits in one when the program ends takes the interpreter down."""
    try:
        return cast(Content, FileIO(sys.stdin.fileno(), closefd=False))
    except OSError:
        return sys.stdin.buffer  # it is none of the system's files


def _free(where: str, *, force: bool) -> Path:
    path = Path(where)
    if path.exists() and not force:
        raise InvalidInput("output", f"{where} is there already: choose another, or --force")
    return path


def _size(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
