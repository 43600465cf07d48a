"""`taskyard demo`: four agents, a process each, build a landing page, and everything that can go wrong does."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.rule import Rule

from taskyard.app import Yard, connect, served
from taskyard.cli.commands.dags import drawn
from taskyard.cli.commands.events import event_line
from taskyard.cli.commands.overview import picture
from taskyard.cli.invocation import console_for_people
from taskyard.cli.terminal import Terminal, Text, dollars, seconds, state, table
from taskyard.core.changes import StoredEvent
from taskyard.core.task import TaskId
from taskyard.features.dags.views import DagView
from taskyard.features.tasks.views import Details

AGENTS = ("researcher", "designer", "coder", "reviewer")
LONGEST = 60.0  # seconds: it takes about 20; something is wrong where it takes this
QUICK = {"lease_sec": 2, "heartbeat_sec": 1}
SOON = {"strategy": "fixed", "initial_delay_sec": 0.5, "jitter": 0}
CLIENT_X: dict[str, Any] = {
    "title": "Build a landing page for client X",
    "budget_ceiling_usd": 1,
    "tasks": [
        {"name": "research", "type": "research", "title": "research competitors", "max_cost_usd": 0.2},
        {
            "name": "design",
            "type": "design",
            "title": "design a wireframe",
            "retry": SOON,
            "max_cost_usd": 0.2,
            "output": {"validation": "json-schema", "validation_schema": {"required": ["sections", "palette"]}},
        },
        {
            "name": "synthesis",
            "type": "synthesis",
            "title": "synthesise requirements",
            "depends_on": ["research", "design"],
            "timeouts": QUICK,
            "retry": SOON,
            "max_cost_usd": 0.2,
        },
        {"name": "code", "type": "code", "title": "write the page", "depends_on": ["synthesis"], "max_cost_usd": 0.3},
        {"name": "tests", "type": "test", "title": "run the tests", "depends_on": ["code"], "max_cost_usd": 0.1},
        {"name": "review", "type": "review", "title": "review it", "depends_on": ["tests"], "max_cost_usd": 0.1},
        {
            "name": "polish",
            "type": "polish",
            "title": "polish it (too dear)",
            "depends_on": ["design"],
            "max_cost_usd": 5,
        },
    ],
}


def demo(
    port: Annotated[int, typer.Option("--port", "-p", help="Of the dashboard; 0: any that is free.")] = 0,
    stay: Annotated[bool, typer.Option("--stay", help="Keep the dashboard up afterwards, until Ctrl-C.")] = False,
) -> None:
    """Watch four agents build a landing page, with everything going wrong that can. Needs no keys and no set-up."""
    with tempfile.TemporaryDirectory(prefix="taskyard-demo-") as folder:
        ok = asyncio.run(Demo(Path(folder)).run(port, stay=stay))
    if not ok:
        raise typer.Exit(1)


class Demo:
    """One run: a yard in a folder of its own, its agents' processes, and the person who watches."""

    def __init__(self, folder: Path) -> None:
        self._url = f"sqlite:///{folder / 'yard.db'}"
        self._folder = folder
        self._console = console_for_people()
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._lines: list[Text] = []
        self._asked: dict[str, str] = {}

    async def run(self, port: int, *, stay: bool) -> bool:
        async with connect(self._url) as yard, served(yard, port=port) as address:
            self._open(address, stay=stay)
            ok = await self._play(yard)
            if stay and address:
                self._console.print(Text.assemble("the dashboard stays at ", (address, "bold"), ": end it with Ctrl-C"))
                await self._until_stopped()
            return ok

    def _open(self, address: str | None, *, stay: bool) -> None:
        lines = Text("Taskyard demo: a yard in a temporary folder, four agents, four processes", style="bold")
        if address:
            lines.append(f"\nwatch it at {address}")
            lines.append("" if stay else "  (it goes when the demo ends: --stay keeps it)", style="not bold dim")
        self._console.print(lines)

    async def _until_stopped(self) -> None:
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
        await stopped.wait()

    async def _play(self, yard: Yard) -> bool:
        began = monotonic()
        dag = await yard.submit(CLIENT_X, created_by="human:adam")
        try:
            for name in AGENTS:
                await self._start(name)
            async with asyncio.timeout(LONGEST):
                await self._watch(yard, {task.id: name for name, task in dag.tasks.items()})
        except TimeoutError:
            self._say(f"it did not end within {LONGEST:.0f} s", "bold red")
            self._show_logs()
        finally:
            await self._stop()
        return await self._sum_up(yard, dag.id, monotonic() - began)

    # What happens

    async def _watch(self, yard: Yard, names: dict[TaskId, str]) -> None:
        """Follow the events until the graph has ended, and play the person's part in it."""
        live = Live(console=self._console, auto_refresh=False, transient=True) if self._console.is_terminal else None
        if live:
            live.start()
        try:
            async for stored in yard.tail():
                self._tell(stored, names)
                await self._act(yard, stored, names)
                if live:
                    live.update(await self._screen(yard), refresh=True)
                if stored.event.event in ("dag.completed", "dag.failed", "dag.cancelled"):
                    return
        finally:
            if live:
                live.stop()

    async def _act(self, yard: Yard, stored: StoredEvent, names: dict[TaskId, str]) -> None:
        event = stored.event
        name = names.get(event.task_id or TaskId(""), "")
        step = (name, event.event)
        if step == ("synthesis", "task.step") and event.attempt == 1:
            await self._kill("coder")
        elif step == ("polish", "task.parked"):
            await self._ask(yard, "polish", event.task_id)
            await yard.cancel(str(event.task_id), "not worth five dollars")
        elif step == ("review", "task.suspended"):
            await self._ask(yard, "review", event.task_id)
            await yard.signal(str(event.task_id), "approve", {"by": "adam"}, sent_by="human:adam")
            self._say("adam approves the review", "bold green")

    async def _kill(self, name: str) -> None:
        process = self._processes[name]
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        self._say(f"{name} is killed with -9 in the middle of its work; another one is started", "bold red")
        await self._start(name)

    async def _ask(self, yard: Yard, name: str, task_id: TaskId | None) -> None:
        words = (await yard.why(str(task_id))).words
        self._asked[name] = words
        self._say(f"why is {name} not running?  It {words}", "bold yellow")

    # Processes

    async def _start(self, name: str) -> None:
        log = (self._folder / f"{name}.log").open("ab")
        words = ("--url", self._url, "work", f"taskyard.cli.programs.demo_agents:{name}", "--grace", "1")
        self._processes[name] = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "taskyard", *words, stdout=log, stderr=log, stdin=asyncio.subprocess.DEVNULL
        )
        log.close()

    async def _stop(self) -> None:
        for process in self._processes.values():
            if process.returncode is None:
                process.terminate()
        for process in self._processes.values():
            await process.wait()

    def _show_logs(self) -> None:
        for name in AGENTS:
            log = (self._folder / f"{name}.log").read_text(errors="replace")
            self._console.print(Text(f"{name}:\n{log[-2000:]}", style="dim"))

    # What is shown

    def _tell(self, stored: StoredEvent, names: dict[TaskId, str]) -> None:
        line = event_line(stored, names)
        if line is None:
            return
        self._lines.append(line)
        if not self._console.is_terminal:
            self._console.print(line)

    def _say(self, words: str, style: str) -> None:
        line = Text(f"{'':10}{words}", style=style)
        self._lines.append(line)
        if not self._console.is_terminal:
            self._console.print(line)

    async def _screen(self, yard: Yard) -> RenderableType:
        return Group(await picture(yard, 12), Rule(style="dim"), *self._lines[-12:])

    async def _sum_up(self, yard: Yard, dag_id: str, took: float) -> bool:
        dag = await yard.dags.get(dag_id)
        tasks = {hot.id: await yard.get(hot.id) for hot in dag.tasks}
        verified = await yard.verify()
        console = self._console
        console.print(Rule("what became of it", style="dim"))
        console.print(_summary(list(tasks.values())))
        console.print(Text(""))
        console.print(drawn(dag, tasks))
        console.print(Text(""))
        for name, words in self._asked.items():
            console.print(Text.assemble((f"why {name}? ", "bold"), words))
        spent = f"spent {dollars(dag.spent)} of {dollars(dag.budget_ceiling)}; {seconds(took)} in all"
        console.print(Text.assemble((str(verified), "bold green" if verified.ok else "bold red"), f"; {spent}"))
        return verified.ok and _as_it_should_be(dag, tasks, console)


def _summary(tasks: Sequence[Details]) -> RenderableType:
    rows = [
        (
            task.title,
            state(task.status),
            str(len(task.attempts)),
            ", ".join(dict.fromkeys(attempt.agent.partition("-")[0] for attempt in task.attempts)),
            seconds(sum((each.ended_at - each.claimed_at) / 1_000_000 for each in task.attempts)),
            dollars(task.cost),
            ", ".join(dict.fromkeys(attempt.reason for attempt in task.attempts if attempt.reason)),
        )
        for task in sorted(tasks, key=lambda task: task.seq)
    ]
    columns = ("task", "state", "tries", "agent", "worked", "cost", "went wrong")
    return table(*columns, rows=rows, right=("tries", "worked", "cost"), wraps=("task",))


def _as_it_should_be(dag: DagView, tasks: dict[TaskId, Details], console: Terminal) -> bool:
    """The demo is a test too: everything it set out to show must have happened."""
    reasons = {attempt.reason for task in tasks.values() for attempt in task.attempts}
    # Work of a killed worker comes back by its lease, or sooner by the worker that is started in its place.
    taken_back = {"heartbeat_timeout", "runtime_recovery"} & reasons or {"heartbeat_timeout"}
    missing = {*taken_back, "rate_limit", "invalid_output"} - reasons
    synthesis = next(task for task in tasks.values() if task.type == "synthesis")
    outline: dict[str, Any] = synthesis.result or {}
    survived = outline.get("outline_by_attempt") == 1
    if dag.status != "completed" or missing or not survived:
        console.print(Text(f"the demo did not go as it should: {dag.status}, missing {missing}", style="bold red"))
        return False
    return True
