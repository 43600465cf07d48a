"""The git worktrees of command agents on this machine: ls, clean."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from taskyard.app import Yard
from taskyard.cli.invocation import AsJson, in_yard, show
from taskyard.cli.terminal import Text, table
from taskyard.core.errors import NotFound
from taskyard.core.json_value import Json
from taskyard.worker.isolation.git import GitFailed
from taskyard.worker.isolation.task_worktrees import SeenWorktree, WorktreeTaken, clean, listed, seen

app = typer.Typer(help="Worktrees that `taskyard work --worktree` made below this folder.", no_args_is_help=True)


@app.command("ls")
def worktrees_listed(context: typer.Context, as_json: AsJson = False) -> None:
    """Each worktree with its task, its branch, and why it is there."""
    found = in_yard(context, _all)
    value: list[Json] = [
        {
            "task": each.task,
            "status": each.status and each.status.value,
            "branch": each.branch,
            "path": os.fspath(each.place),
            "why": _why(each),
        }
        for each in found
    ]
    rows = [
        (each.task or "?", each.status.value if each.status else "unknown", each.branch or "?", _why(each))
        for each in found
    ]
    empty = Text("no worktrees here", style="dim")
    show(as_json, value, table("task", "status", "branch", "why", rows=rows) if rows else empty)


@app.command("clean")
def cleaned(
    context: typer.Context,
    tasks: Annotated[list[str] | None, typer.Argument(metavar="TASK", help="Only these; default: all.")] = None,
    discard: Annotated[
        bool, typer.Option("--discard", help="Throw uncommitted changes away. Default: commit them to the branch.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove the worktrees of tasks that have ended, also those that a policy keeps. Branches with commits stay.

    Exit status 1 where one cannot be removed.
    """
    found = in_yard(context, _all)
    if unknown := set(tasks or ()) - {each.task for each in found}:
        raise NotFound(kind="worktree", id=min(unknown))
    asked = [each for each in found if (each.task in tasks if tasks else each.has_ended)]
    outcomes = [_removed(each, discard=discard) for each in asked]
    value: list[Json] = [dict[str, Json](each) for each in outcomes]
    rows = [(each["task"] or "?", each["error"] or "removed", each["branch"] or "") for each in outcomes]
    empty = Text("nothing to clean", style="dim")
    show(as_json, value, table("task", "outcome", "branch that stays", rows=rows) if rows else empty)
    if any(each["error"] for each in outcomes):
        raise typer.Exit(1)


async def _all(yard: Yard) -> list[SeenWorktree]:
    return [await seen(yard, each) for each in listed()]


def _removed(worktree: SeenWorktree, *, discard: bool) -> dict[str, str | None]:
    if not worktree.has_ended:
        return {"task": worktree.task, "branch": worktree.branch, "error": "the task has not ended"}
    try:
        branch, error = clean(worktree.place, discard=discard), None
    except (GitFailed, WorktreeTaken, OSError) as failure:
        branch, error = worktree.branch, str(failure)
    return {"task": worktree.task, "branch": branch, "error": error}


def _why(worktree: SeenWorktree) -> str:
    if worktree.is_held:
        return "in use"
    if not worktree.has_ended:
        return "for the next attempt"
    return "left" if worktree.is_left else f"kept ({worktree.keep})"
