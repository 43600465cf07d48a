"""Artifacts from a shell: list, put, get, remove."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Annotated, BinaryIO

import typer
from rich.text import Text

from taskyard.app import Yard
from taskyard.cli.running import AsJson, By, find_task, in_yard, show
from taskyard.cli.tables import age, short, table
from taskyard.core.artifacts import Artifact
from taskyard.core.errors import InvalidInput
from taskyard.core.units import Micros
from taskyard.wire.chunks import Content
from taskyard.wire.files import artifact as document

app = typer.Typer(help="Files that tasks made, or are to read.", no_args_is_help=True)
ArtifactArgument = Annotated[str, typer.Argument(metavar="ARTIFACT", help="Its id, or artifact:ID.")]
STANDARD = "-"  # input or output, in place of a file


@app.command("ls")
def listed(
    context: typer.Context,
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", help="Only those of this task.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    as_json: AsJson = False,
) -> None:
    """Artifacts that may be seen: of completed tasks, and those that were put in by themselves."""

    async def use(yard: Yard) -> tuple[list[Artifact], Micros]:
        task_id = None if task is None else await find_task(yard, task)
        return await yard.artifacts(task_id=task_id, limit=limit), yard.now()

    found, now = in_yard(context, use)
    rows = [
        (each.id, each.name, _size(each.size), short(each.task_id or ""), age(each.created_at, now)) for each in found
    ]
    columns = ("artifact", "name", "size", "task", "age")
    shown = table(*columns, rows=rows, right=("size", "age")) if rows else Text("no artifacts", style="dim")
    show(as_json, [document(each) for each in found], shown)


@app.command("put")
def put(
    context: typer.Context,
    path: Annotated[str, typer.Argument(metavar="FILE", help="The file, or - for standard input.")],
    name: Annotated[str | None, typer.Option(help="What to call it; nothing: as the file is called.")] = None,
    task: Annotated[str | None, typer.Option(help="The task that made it; with its lease.")] = None,
    lease: Annotated[str | None, typer.Option(help="The lease that `claim` gave.", show_default=False)] = None,
    media_type: Annotated[str | None, typer.Option(help="Such as text/markdown.")] = None,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Store a file: one that a task made, or one for tasks to read."""
    if path == STANDARD and name is None:
        raise InvalidInput("name", "must be given for what comes from standard input")
    data: Content = sys.stdin.buffer if path == STANDARD else Path(path)

    async def use(yard: Yard) -> Artifact:
        task_id = None if task is None else await find_task(yard, task)
        return await yard.put_artifact(
            name or Path(path).name, data, task_id=task_id, lease=lease, media_type=media_type, by=by
        )

    stored = in_yard(context, use)
    show(as_json, document(stored), Text.assemble((stored.reference, "bold"), f"  {stored.name}  {_size(stored.size)}"))


@app.command("get")
def get(
    context: typer.Context,
    artifact: ArtifactArgument,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Where to; - for standard output, nothing: its name, here.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fetch an artifact. It is written whole, and only where it is what was put."""

    async def use(yard: Yard) -> tuple[Artifact, str]:
        found = await yard.artifact(artifact)
        where = output or found.name
        if where == STANDARD:
            await _write(yard, found, sys.stdout.buffer)
        else:
            await _fetch(yard, found, _free(where, force=force))
        return found, where

    found, where = in_yard(context, use)
    if where != STANDARD:
        show(as_json, {**document(found), "path": where}, Text(f"{where}  {_size(found.size)}"))


@app.command("rm")
def remove(context: typer.Context, artifact: ArtifactArgument, by: By = "human:local") -> None:
    """Take away an artifact that was put in by itself. Those of a task go when it is pruned."""
    in_yard(context, lambda yard: yard.remove_artifact(artifact, by=by))


def _free(where: str, *, force: bool) -> Path:
    path = Path(where)
    if path.exists() and not force:
        raise InvalidInput("output", f"{where} is there already: choose another, or --force")
    return path


async def _fetch(yard: Yard, artifact: Artifact, path: Path) -> None:
    # Beside it, until it is whole: nobody takes a part of it for the file.
    unfinished = path.with_name(f".{path.name[:50]}.{token_hex(4)}")
    try:
        with unfinished.open("xb") as file:
            await _write(yard, artifact, file)
        unfinished.replace(path)
    except OSError as error:
        raise InvalidInput("output", f"cannot be written: {error.strerror}") from None
    finally:
        unfinished.unlink(missing_ok=True)


async def _write(yard: Yard, artifact: Artifact, file: BinaryIO) -> None:
    hashed = sha256()
    async for piece in yard.read_artifact(artifact.id):
        hashed.update(piece)
        file.write(piece)
    file.flush()
    if hashed.hexdigest() != artifact.sha256:
        raise InvalidInput("artifact", "is not what was put: run `taskyard verify`")


def _size(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
