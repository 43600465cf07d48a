"""Agents and runtimes: see them, act on them, and run them: work."""

from __future__ import annotations

import importlib
import logging
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from taskyard.api.codec import write
from taskyard.app import Yard, connect
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, carry_out, chosen, in_yard, show, stay
from taskyard.cli.judge_agents import agent_that_asks, agent_that_tests
from taskyard.cli.logs import LogFormat, LogFormatOption, set_up_logs
from taskyard.cli.programs.reload import run_again_on_changes
from taskyard.cli.protocol_agents import agent_elsewhere, agent_with_tool
from taskyard.cli.terminal import Text, age, agent_cells, table
from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json
from taskyard.core.units import Micros
from taskyard.features.agents.views import AgentView, RuntimeView
from taskyard.ledger.options import LOCAL
from taskyard.worker.adapters import Adapter, adapter
from taskyard.worker.command import Command, command_agent
from taskyard.worker.gateway.attempt_endpoint import Gateway
from taskyard.worker.gateway.process_memory import hide
from taskyard.worker.gateway.upstreams import configured
from taskyard.worker.handlers import Agent
from taskyard.worker.isolation.git import opened
from taskyard.worker.isolation.limits import ProgramLimits, size_of
from taskyard.worker.isolation.task_worktrees import Keep, Worktrees
from taskyard.worker.process.membership import when_reached

app = typer.Typer(help="Who can work. Alone: list them.", invoke_without_command=True)
AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="An agent's id.", autocompletion=completion.agents)]


@app.callback()
def agents_alone(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    if context.invoked_subcommand is None:
        agents_listed(context, as_json)
    elif as_json:
        raise InvalidInput("--json", "must stand after the command, as in `taskyard agents ls --json`")


@app.command("ls")
def agents_listed(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """Agents with their state, load, money and last sign of life."""

    async def use(yard: Yard) -> tuple[list[AgentView], Micros]:
        return await yard.agents.list(), yard.now()

    views, now = in_yard(context, use)
    rows = [agent_cells(view, now) for view in views]
    columns = ("agent", "type", "state", "tasks", "left", "heard", "capabilities")
    empty = Text("no agents: run one with `taskyard work MODULE:AGENT`", style="dim")
    value: list[Json] = write(views)
    show(as_json, value, table(*columns, rows=rows, right=("tasks", "left")) if rows else empty)


@app.command("runtimes")
def runtimes_listed(context: typer.Context, as_json: AsJson = False) -> None:
    """The machines and worker processes that agents run on."""

    async def use(yard: Yard) -> tuple[list[RuntimeView], list[AgentView], Micros]:
        return await yard.runtimes.list(), await yard.agents.list(), yard.now()

    views, known, now = in_yard(context, use)
    rows = [
        (
            view.id,
            view.hostname,
            "" if view.pid is None else str(view.pid),
            view.version,
            f"{age(view.started_at, now)} ago",
            f"{age(view.last_heartbeat, now)} ago" if view.last_heartbeat else "never",
            ", ".join(each.id for each in known if (each.runtime_id, each.incarnation) == (view.id, view.incarnation)),
        )
        for view in views
    ]
    columns = ("runtime", "host", "process", "version", "started", "heard", "agents")
    empty = Text("no runtime: run an agent with `taskyard work MODULE:AGENT`", style="dim")
    value: list[Json] = write(views)
    show(as_json, value, table(*columns, rows=rows, right=("process",)) if rows else empty)


@app.command()
def drain(
    context: typer.Context,
    agent: AgentArgument,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Let it finish what it holds, and give it nothing new."""
    carry_out(context, as_json, lambda yard: yard.agents.drain(agent, by=by))


@app.command()
def resume(
    context: typer.Context,
    agent: AgentArgument,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Let it take work again."""
    carry_out(context, as_json, lambda yard: yard.agents.resume(agent, by=by))


@app.command("budget")
def agent_budget(
    context: typer.Context,
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT", help="A type, for all its ids together; or one id.", autocompletion=completion.agents
        ),
    ],
    dollars_: Annotated[str | None, typer.Argument(metavar="[DOLLARS]", help="Nothing: no limit.")] = None,
    per: Annotated[str, typer.Option(help="ever, day or month (UTC).")] = "ever",
    take_back: Annotated[bool, typer.Option("--take-back", help="Let what the code says count again.")] = False,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Set what an agent may spend: from now on this counts, whatever its code says."""
    carry_out(
        context,
        as_json,
        lambda yard: yard.agents.set_budget(agent, dollars_, budget_per=per, take_back=take_back, by=by),
    )


@app.command("rm")
def removed(
    context: typer.Context,
    agent: AgentArgument,
    by: By = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Forget an agent; what it holds goes to others."""
    carry_out(context, as_json, lambda yard: yard.agents.remove(agent, by=by))


def work(
    context: typer.Context,
    agents: Annotated[
        list[str] | None, typer.Argument(metavar="MODULE:AGENT", help="Agents to run, e.g. myagents:coder.")
    ] = None,
    program: Annotated[str | None, typer.Option("--exec", help="A command that is given the task as JSON.")] = None,
    with_adapter: Annotated[
        str | None, typer.Option("--adapter", help="Speak a coding agent's own protocol: claude, codex, …")
    ] = None,
    test_runner: Annotated[
        list[str] | None,
        typer.Option("--test-runner", metavar="NAME=COMMAND", help="Judge by a test that tasks may name; repeatable."),
    ] = None,
    work_dir: Annotated[Path, typer.Option(help="With --test-runner: where tests run.")] = Path(),
    limit: Annotated[float, typer.Option(help="With --test-runner: seconds that a test may take.")] = 600.0,
    judge: Annotated[
        str | None,
        typer.Option("--judge", metavar="URL", help="Judge by a model: what stands before /chat/completions."),
    ] = None,
    judge_model: Annotated[str | None, typer.Option(help="With --judge: the model's name.")] = None,
    judge_key: Annotated[
        str | None, typer.Option(metavar="VARIABLE", help="With --judge: the variable that holds the key.")
    ] = None,
    a2a: Annotated[
        str | None, typer.Option("--a2a", metavar="URL", help="An A2A agent elsewhere: a task becomes a message to it.")
    ] = None,
    skill: Annotated[str | None, typer.Option(help="With --a2a: the skill of its card to ask for.")] = None,
    a2a_key: Annotated[
        str | None, typer.Option(metavar="VARIABLE", help="With --a2a: the variable that holds its token.")
    ] = None,
    mcp: Annotated[
        str | None,
        typer.Option("--mcp", metavar="COMMAND", help="Starts an MCP server: a task becomes a call of its --tool."),
    ] = None,
    tool: Annotated[str | None, typer.Option(help="With --mcp: the tool to call.")] = None,
    agent: Annotated[
        str, typer.Option(help="With --exec, --a2a or --mcp: the agent's type.", autocompletion=completion.agents)
    ] = "command",
    agent_id: Annotated[str | None, typer.Option(help="With --exec, …: a fixed id. Default: a new one.")] = None,
    type: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            help="With --exec, …: a task type it takes; default: all.",
            autocompletion=completion.types,
        ),
    ] = None,
    capability: Annotated[
        list[str] | None, typer.Option("--capability", help="With --exec, …; may be repeated.")
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", help="With --exec, --mcp or --test-runner: a variable to pass on.")
    ] = None,
    worktree: Annotated[
        Path | None,
        typer.Option(metavar="REPO", help="With --exec: give each task a git worktree of its own of this repository."),
    ] = None,
    worktree_keep: Annotated[
        Keep, typer.Option(help="With --worktree: which worktrees stay when their tasks have ended.")
    ] = Keep.FAILED,
    limit_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="With --exec: memory of each process, such as 2GiB.")
    ] = None,
    limit_total_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="With --exec: memory of all its processes. Needs a control group."),
    ] = None,
    limit_cores: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="With --exec: cores at a time. Needs a control group.")
    ] = None,
    limit_cpu: Annotated[
        int | None, typer.Option(metavar="SECONDS", help="With --exec: processor time of each process.")
    ] = None,
    limit_time: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="With --exec: time from the program's start to its end.")
    ] = None,
    limit_processes: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="With --exec: processes and threads at a time.")
    ] = None,
    no_network: Annotated[
        bool, typer.Option("--no-network", help="With --exec: no connection, not even to this machine. Needs bwrap.")
    ] = False,
    gateway: Annotated[
        bool,
        typer.Option(
            "--gateway", help="With --exec: call models through this worker, which prices, records and stops the calls."
        ),
    ] = False,
    concurrency: Annotated[int, typer.Option(help="Not of MODULE:AGENT: tasks at a time.")] = 1,
    budget: Annotated[
        str | None, typer.Option(help="With --exec: what all agents of its type may spend, in dollars.")
    ] = None,
    budget_per: Annotated[str | None, typer.Option(help="With --budget: ever, day or month (UTC).")] = None,
    grace: Annotated[float, typer.Option(help="Seconds to finish in when stopped.")] = 30.0,
    runtime: Annotated[
        str | None,
        typer.Option(help="The runtime: sessions are resumed by the same one. Default: of this machine and folder."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say only what goes wrong.")] = False,
    reload: Annotated[
        bool, typer.Option("--reload", help="For development: start again when a .py file changes.")
    ] = False,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Run agents until stopped (SIGTERM or Ctrl-C): finish what runs, give back the rest. Again: stop at once."""
    if reload:
        raise typer.Exit(run_again_on_changes(Path.cwd()))
    set_up_logs(log_format, level=logging.WARNING if quiet else logging.INFO)
    found = [_named_agent(each) for each in agents or []]
    if sum(each is not None for each in (program or with_adapter, a2a, mcp)) > 1:
        raise InvalidInput("--exec", "must be given without --a2a and --mcp: one process does one kind of work")
    mine = Agent(
        agent,
        id=agent_id,
        capabilities=capability or (),
        max_concurrent_tasks=concurrency,
        budget_usd=budget,
        budget_per=budget_per,
    )
    limits = ProgramLimits(
        memory=None if limit_memory is None else size_of(limit_memory),
        total_memory=None if limit_total_memory is None else size_of(limit_total_memory, "--limit-total-memory"),
        cores=limit_cores,
        cpu_sec=limit_cpu,
        time_sec=limit_time,
        processes=limit_processes,
        network=not no_network,
    )
    if program is not None or with_adapter is not None:
        command = Command(
            words=_words(program),
            adapter=adapter(with_adapter) if with_adapter else Adapter(),
            passed=env or (),
            limits=limits,
            worktrees=None if worktree is None else Worktrees(repository=opened(worktree), keep=worktree_keep),
            gateway=Gateway(configured(os.environ)) if gateway else None,
        )
        found.append(command_agent(mine, command, *(type or ())))
        if gateway:
            hide()  # the real keys are in this process's environment
    elif worktree is not None or gateway or limits != ProgramLimits():
        field = "--worktree" if worktree is not None else "--gateway" if gateway else "--limit-…"
        raise InvalidInput(field, "must come with --exec or --adapter")
    if a2a is not None:
        found.append(agent_elsewhere(mine, a2a, skill, a2a_key, type or ()))
    if mcp is not None:
        found.append(agent_with_tool(mine, mcp, tool, env or (), type or ()))
    if test_runner:
        found.append(agent_that_tests(test_runner, work_dir, limit, env or (), concurrency))
    if judge is not None:
        found.append(agent_that_asks(judge, judge_model, judge_key, concurrency))
    if not found:
        raise InvalidInput("MODULE:AGENT", "must be given, or one of --exec, --a2a, --mcp, --test-runner and --judge")
    settings = chosen(context)

    async def run() -> None:
        yard = await when_reached(lambda: connect(settings.url, **settings.options).open())
        try:
            await yard.work(*found, grace_sec=grace, runtime=runtime)
        finally:
            await yard.close()

    stay(run())


def _words(program: str | None) -> list[str]:
    try:
        return shlex.split(program or "")
    except ValueError as error:
        raise InvalidInput("--exec", f"must be the words of a command: {error}") from None


def _named_agent(name: str) -> Agent:
    module, colon, attribute = name.partition(":")
    if not colon:
        raise InvalidInput("MODULE:AGENT", f"{name} must have a colon, as in myagents:coder")
    sys.path.insert(0, os.fspath(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidInput("MODULE:AGENT", f"{name} cannot be loaded: {error}") from None
    if not isinstance(found, Agent):
        raise InvalidInput("MODULE:AGENT", f"{name} is not a taskyard.Agent")
    return found
