"""Logs: what attempts said while they worked."""

from __future__ import annotations

from typing import Annotated

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, find_task, in_yard, show
from taskyard.cli.terminal import Terminal, Text
from taskyard.features.streams.views import StreamedChunk, words_of


def logs(
    context: typer.Context,
    task: Annotated[str, typer.Argument(metavar="TASK", help="Whose.", autocompletion=completion.tasks)],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the task has ended.")] = False,
    after: Annotated[
        str | None, typer.Option(help="Behind the chunk at this place: ATTEMPT-INDEX, as --json shows it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What attempts said and printed while they worked: text, messages, progress, standard output and error."""

    async def use(yard: Yard) -> None:
        task_id, screen = await find_task(yard, task), _Screen(as_json)
        if follow:
            async for chunk in yard.streams.follow(task_id, after=after):
                screen.show(chunk)
            return
        place = after
        while True:
            page = await yard.streams.page(task_id, after=place)
            for chunk in page.chunks:
                screen.show(chunk)
            if not page.chunks:
                return
            place = page.after

    in_yard(context, use)


class _Screen:
    """Prints chunks as a person reads them: texts as they are, and what is no text on a line of its own."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._terminal = Terminal(soft_wrap=True)
        self._errors = Terminal(stderr=True, soft_wrap=True)
        self._is_within_a_line = False

    def show(self, chunk: StreamedChunk) -> None:
        if self._as_json:
            show(True, write(chunk))
            return
        if chunk.restarted:
            self._line(f"attempt {chunk.attempt} begins anew", "bold")
        match chunk.kind:
            case "text" | "stdout":
                self._terminal.print(Text(chunk.text), end="")
                self._is_within_a_line = not chunk.text.endswith("\n")
            case "stderr":
                self._errors.print(Text(chunk.text, "red"), end="")
            case "cut":
                self._line(chunk.text, "yellow")
            case kind:
                self._line(f"{kind}: {words_of(chunk.data)}", "dim")

    def _line(self, text: str, style: str) -> None:
        if self._is_within_a_line:
            self._terminal.print()
        self._is_within_a_line = False
        self._terminal.print(Text(text, style))
