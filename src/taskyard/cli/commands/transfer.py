"""A whole yard as a file: export, import."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar

import typer
from typer.core import TyperGroup

from taskyard.app import Yard, connect, url_in
from taskyard.cli.invocation import AsJson, connected, in_yard, show
from taskyard.cli.terminal import Text, table
from taskyard.core.errors import CycleFound, InvalidInput, TaskyardError, Unavailable
from taskyard.core.json_value import Json
from taskyard.features.transfer.comparison import compare
from taskyard.features.transfer.service import Transfer
from taskyard.features.transfer.views import Compared, Exported, Imported
from taskyard.integrations.loki.mirror import PRESET, Mirror, MirrorRound
from taskyard.integrations.loki.queue_files import QueueFiles

Answer = TypeVar("Answer")
LokiFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder .loki, or the one that it is in, or that of the queue files.")
]
Every = Annotated[float, typer.Option("--every", min=0.1, help="Seconds between two looks of one that stays.")]
WHOLE = "yard"  # what is meant where a file is named and no kind


class WholeYardGroup(TyperGroup):
    """`export FILE` is short for `export yard FILE`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        return super().resolve_command(ctx, args if args[0] in self.commands else [WHOLE, *args])


exports = typer.Typer(
    cls=WholeYardGroup, no_args_is_help=True, help="Write a yard into a file, or tasks into another queue's files."
)
imports = typer.Typer(
    cls=WholeYardGroup,
    no_args_is_help=True,
    help="Put a yard from a file into an empty store, or another queue's tasks.",
)


@exports.command(WHOLE)
def export_yard(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, such as yard.jsonl.")],
    only: Annotated[
        str | None, typer.Option("--only", metavar="WORKSPACE", help="One workspace instead of all of them.")
    ] = None,
    secrets: Annotated[
        bool, typer.Option(help="With the yard's secret, and the hashes of tokens and sessions.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Write a yard into a file, to import it into another store. `export FILE` is short for it.

    The yard must be at rest: stop its servers and workers. The file is for you alone, as the yard is.
    """

    async def use(transfer: Transfer) -> Exported:
        with _new_file(file) as opened:
            return await transfer.export(opened, workspace=only, with_secrets=secrets)

    done = _on_store(context, use)
    value = {"export": done.export, "sha256": done.sha256, "counts": done.counts, "held": done.held}
    held = f"; {done.held} tasks are held, and stay so until their leases end" if done.held else ""
    show(as_json, value, Text(f"{file}: {_figures(done.counts)}{held}", style="green"))


@imports.command(WHOLE)
def import_yard(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file that `export` wrote.")],
    verify: Annotated[bool, typer.Option(help="Replay the history afterwards, as `taskyard verify` does.")] = True,
    as_json: AsJson = False,
) -> None:
    """Put the yard of a file into an empty store. `import FILE` is short for it.

    The same command again goes on with an import that was interrupted; until then nobody else opens the yard. Exit
    status 1 where the history does not hold together.
    """

    async def use(transfer: Transfer) -> Imported:
        with _existing_file(file) as opened:
            return await transfer.load(opened, file.name)

    done = _on_store(context, use)
    problems = _problems(context, done.workspaces) if verify else []
    value = {
        "export": done.export,
        "counts": done.counts,
        "resumed_after": done.resumed_after,
        "workspaces": [*done.workspaces],
        "problems": problems,
    }
    resumed = f"; lines up to {done.resumed_after} were stored before" if done.resumed_after else ""
    read = Text(f"stored and read again: {_figures(done.counts)}{resumed}", style="green")
    checked = [Text("\n".join(problems) or "verify: ok", style="bold red" if problems else "green")] if verify else []
    show(as_json, value, read, *checked)
    if problems:
        raise typer.Exit(1)


def compare_yards(
    context: typer.Context,
    other: Annotated[str, typer.Argument(metavar="URL", help="The other yard. Name a password in a file: @FILE.")],
    as_json: AsJson = False,
) -> None:
    """Compare this yard with another, row by row: after a move, or before one store takes the place of another.

    Exit status 1 where they differ.
    """

    async def run() -> Compared:
        here = connected(context).store
        there = connect(url_in(Path(other[1:])) if other.startswith("@") else other, sweeps=False).store
        await here.open()
        await there.open()
        try:
            return await compare(here, there)
        finally:
            await here.close()
            await there.close()

    found = asyncio.run(run())
    value = {"ok": found.ok, "counts": found.counts, "differences": [asdict(each) for each in found.differences]}
    outcomes = ("alike", "differs", "only_here", "only_there")
    rows = [(part, *(str(each.get(outcome, 0)) for outcome in outcomes)) for part, each in found.counts.items()]
    named = [Text(f"{each.outcome}: {each.part} {each.name}", style="bold red") for each in found.differences]
    show(as_json, value, table("rows", "alike", "differ", "only here", "only there", rows=rows), *named)
    if not found.ok:
        raise typer.Exit(1)


@imports.command("loki")
def import_loki(
    context: typer.Context,
    folder: LokiFolder,
    follow: Annotated[
        bool, typer.Option("--follow", help="Stay, follow what scripts do in the files, and write what the yard does.")
    ] = False,
    every: Every = 1.0,
    as_json: AsJson = False,
) -> None:
    """Bring the tasks of Loki's queue files into a yard of the preset loki, each where its file has it.

    Ids are mapped, always to the same ones, so the same import again brings in only what is new. Exit status 1 where
    something was not taken over; the yard is right then.
    """
    _mirror(context, folder, as_json, follows=True, writes=follow, every=every if follow else None)


@exports.command("loki")
def export_loki(
    context: typer.Context,
    folder: LokiFolder,
    watch: Annotated[bool, typer.Option("--watch", help="Stay, and keep the files current.")] = False,
    every: Every = 1.0,
    as_json: AsJson = False,
) -> None:
    """Write the tasks of a yard of the preset loki into queue files. Tasks that only the files have stay there."""
    _mirror(context, folder, as_json, follows=False, writes=True, every=every if watch else None)


def _mirror(
    context: typer.Context, folder: Path, as_json: bool, *, follows: bool, writes: bool, every: float | None
) -> None:
    """Look once, or again and again until the process is ended; print what was done and what was not."""

    async def use(yard: Yard) -> MirrorRound:
        mirror = Mirror(yard, QueueFiles(folder))
        mirrored = await mirror.look(follows=follows, writes=writes)
        _show_mirrored(as_json, mirrored)
        trouble = ""
        while every is not None:
            await asyncio.sleep(every)
            try:
                mirrored = await mirror.look(follows=follows, writes=writes)
            except (InvalidInput, CycleFound, Unavailable) as error:
                # A file that somebody mends, or a lock or store that comes back: nothing was changed, and the next look
                # may find it well. It is said once.
                trouble = _show_trouble(as_json, error, trouble)
                continue
            trouble = ""
            if not mirrored.is_idle:
                _show_mirrored(as_json, mirrored)
        return mirrored

    if in_yard(context, use, preset=PRESET).conflicts:
        raise typer.Exit(1)


def _show_trouble(as_json: bool, error: TaskyardError, before: str) -> str:
    if str(error) != before:
        line = Text.assemble((error.code, "bold red"), f": {error}")
        show(as_json, {"error": {"code": error.code, "detail": str(error)}}, line)
        sys.stdout.flush()
    return str(error)


def _show_mirrored(as_json: bool, mirrored: MirrorRound) -> None:
    value: dict[str, Json] = {
        "imported": dict[str, Json](mirrored.imported),
        "followed": list[Json](mirrored.followed),
        "conflicts": dict[str, Json](mirrored.conflicts),
        "written": list[Json](mirrored.written),
    }
    lines = [Text(f"{loki_id} is {task_id}") for loki_id, task_id in mirrored.imported.items()]
    lines += [Text(f"{loki_id} followed", style="green") for loki_id in mirrored.followed]
    lines += [Text(f"{loki_id}: {why}", style="bold red") for loki_id, why in mirrored.conflicts.items()]
    lines += [Text(f"written: {', '.join(f'{queue}.json' for queue in mirrored.written)}")] if mirrored.written else []
    show(as_json, value, *lines or [Text("both sides are alike", style="green")])
    sys.stdout.flush()  # whoever reads the lines of a process that stays reads them now


def _on_store(context: typer.Context, use: Callable[[Transfer], Awaitable[Answer]]) -> Answer:
    """Do something with a store on which no yard is open."""

    async def run() -> Answer:
        store = connected(context).store
        await store.open()
        try:
            return await use(Transfer(store))
        finally:
            await store.close()

    return asyncio.run(run())


def _problems(context: typer.Context, workspaces: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for workspace in workspaces:
        verified = in_yard(context, lambda yard: yard.verify(), workspace=workspace, preset=None)
        found += [f"{workspace}: {problem}" for problem in verified.problems]
    return found


@contextmanager
def _new_file(path: Path) -> Generator[BinaryIO]:
    """A file that appears under its name only when it is whole."""
    if path.exists():
        raise InvalidInput("FILE", f"must not be there yet, and {path} is")
    part = path.with_name(f"{path.name}.part")
    try:
        opened = os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")
    except OSError as error:
        raise InvalidInput("FILE", f"must be a file that can be written: {error.strerror}") from None
    try:
        with opened:
            yield opened
            opened.flush()
            os.fsync(opened.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _existing_file(path: Path) -> Generator[BinaryIO]:
    try:
        opened = path.open("rb")
    except OSError as error:
        raise InvalidInput("FILE", f"must be a file that can be read: {error.strerror}") from None
    with opened:
        yield opened


def _figures(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items())
