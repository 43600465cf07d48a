"""Triggers and hooks: work that is made by events."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from taskyard.api.calls import DELIVER
from taskyard.api.codec import write
from taskyard.app import Yard, watch_files
from taskyard.app import listen as listen_to
from taskyard.cli import completion
from taskyard.cli.commands.sources import WorkOptions, fires_table
from taskyard.cli.invocation import (
    AsJson,
    By,
    carry_out,
    console_for_people,
    in_yard,
    object_given,
    show,
    with_option_groups,
)
from taskyard.cli.logs import LogFormat, LogFormatOption, set_up_logs
from taskyard.cli.terminal import Text, age, table
from taskyard.core.json_value import Json
from taskyard.core.units import Micros
from taskyard.features.triggers.rules import SourceName
from taskyard.features.triggers.views import AddedTrigger, TriggerView

app = typer.Typer(help="Work that is made by events.", no_args_is_help=True)
adding = typer.Typer(help="Listen to graphs that end, to files, or to figures.", no_args_is_help=True)
hooks = typer.Typer(help="Webhooks that come in.", no_args_is_help=True)
app.add_typer(adding, name="add")

TriggerArgument = Annotated[str, typer.Argument(metavar="TRIGGER", help="A trigger's id.")]
HookArgument = Annotated[str, typer.Argument(metavar="HOOK", help="Its name, in this workspace.")]
OnlyOption = Annotated[
    str | None, typer.Option("--only", help='Conditions as JSON, such as {"dag.title": "Nightly"}; @FILE or -.')
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddingOptions(WorkOptions):
    """What is the same for every trigger that is added."""

    replace: Annotated[bool, typer.Option("--replace", help="Take the place of one that has the id.")] = False
    by: By = "human:local"
    as_json: AsJson = False


@adding.command("dag")
@with_option_groups
def add_dag(
    context: typer.Context,
    trigger: TriggerArgument,
    status: Annotated[list[str] | None, typer.Option(help="completed (default), failed or cancelled.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only DAGs with this tag.")] = None,
    title: Annotated[str | None, typer.Option(help="Only DAGs of this title.")] = None,
    ends_in: Annotated[str | None, typer.Option(help="Only DAGs that end in a task of this type.")] = None,
    only: OnlyOption = None,
    *,
    adding: AddingOptions,
) -> None:
    """When a DAG ends: {{ output }}, {{ outputs.0 }}, {{ refs }} and {{ dag.title }} are filled in."""
    settings = {"status": status, "tag": tag, "title": title, "type": ends_in}
    _add(context, trigger, SourceName.DAG, settings, adding, only)


@adding.command("files")
@with_option_groups
def add_files(
    context: typer.Context,
    trigger: TriggerArgument,
    folder: Annotated[Path, typer.Argument(help="Where to look, with all that is below.")],
    pattern: Annotated[list[str] | None, typer.Option(help="Such as *.csv; may be repeated.")] = None,
    change: Annotated[list[str] | None, typer.Option(help="added, modified, deleted; may be repeated.")] = None,
    only: OnlyOption = None,
    *,
    adding: AddingOptions,
) -> None:
    """When a file changes: {{ file.path }}, {{ file.name }}, {{ file.change }} are filled in. See `watch`."""
    settings = {"path": str(folder.absolute()), "patterns": pattern, "changes": change}
    _add(context, trigger, SourceName.FILES, settings, adding, only)


@adding.command("rule")
@with_option_groups
def add_rule(
    context: typer.Context,
    trigger: TriggerArgument,
    above: Annotated[float, typer.Option(help="Such as 0.4: of a rate, 40 %.")],
    measure: Annotated[str, typer.Option(help="failure_rate, cost_usd or duration_sec.")] = "failure_rate",
    of_type: Annotated[
        str | None, typer.Option(help="Of tasks of this type; nothing: of all.", autocompletion=completion.types)
    ] = None,
    over: Annotated[int, typer.Option(help="The last so many attempts.")] = 50,
    window: Annotated[int, typer.Option(help="Seconds in which it fires once at most.")] = 86_400,
    *,
    adding: AddingOptions,
) -> None:
    """When a figure turns bad: {{ rule.why }}, {{ rule.mean }}, {{ rule.type }} are filled in."""
    settings = {"measure": measure, "type": of_type, "above": above, "over": over, "window_sec": window}
    _add(context, trigger, SourceName.RULE, settings, adding, None)


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """Triggers, and what they listen to."""
    _list(context, as_json, None, "no triggers: add one with `taskyard triggers add` or `taskyard hooks add`")


@app.command("show")
def shown(context: typer.Context, trigger: TriggerArgument, as_json: AsJson = False) -> None:
    """One trigger, with its last fires and why each did or did not fire."""

    async def use(yard: Yard) -> tuple[TriggerView, Micros]:
        return await yard.triggers.get(trigger), yard.now()

    view, now = in_yard(context, use)
    facts = {
        "listens": _listens(view),
        "only": ", ".join(f"{path} = {wanted}" for path, wanted in view.trigger.only.items()) or "always",
        "state": _standing(view, now),
        "passed": view.passed_over or "nothing yet",
    }
    lines = [Text.assemble((f"{name:<8}", "bold"), value) for name, value in facts.items()]
    show(as_json, write(view), *lines, fires_table(view.fires, now))


@app.command()
def pause(context: typer.Context, trigger: TriggerArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Let nothing fire it until it is resumed."""
    carry_out(context, as_json, lambda yard: yard.triggers.pause(trigger, by=by))


@app.command()
def resume(context: typer.Context, trigger: TriggerArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Let it fire again."""
    carry_out(context, as_json, lambda yard: yard.triggers.resume(trigger, by=by))


@app.command()
def fire(
    context: typer.Context,
    trigger: TriggerArgument,
    data: Annotated[str, typer.Option(help='What its template names, as JSON: {"body": {…}}; @FILE or -.')] = "{}",
    key: Annotated[str | None, typer.Option(help="The same key fires once.")] = None,
    dry_run: Annotated[bool, typer.Option(help="Only say whether it would fire.")] = False,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Let something happen to it by hand."""
    given = dict[str, object](object_given("data", data) or {})
    made = in_yard(context, lambda yard: yard.triggers.fire(trigger, given, key=key, dry_run=dry_run, by=by))
    show(as_json, write(made), Text(f"{made.outcome.value}: {made.why}  {made.run or ''}"))


@app.command("rm")
def removed(context: typer.Context, trigger: TriggerArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """End a trigger. What it has made stays."""
    carry_out(context, as_json, lambda yard: yard.triggers.remove(trigger, by=by))


@app.command()
def watch(
    context: typer.Context,
    folder: Annotated[list[Path], typer.Argument(help="What may be watched; triggers say what of it is.")],
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Watch files for the triggers that wait for them, until asked to stop."""
    set_up_logs(log_format)

    def tell(roots: Iterable[Path]) -> None:
        console_for_people().print(Text(f"watching {', '.join(map(str, roots))}"))

    in_yard(context, lambda yard: _until_stopped(lambda stop: watch_files(yard, folder, stop, on_up=tell)))


@app.command()
def listen(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="files, or a source that an installed package adds.")],
    place: Annotated[list[str] | None, typer.Argument(help="What it may listen to, in its own words.")] = None,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Let a source fire the triggers that wait for it, until asked to stop."""
    set_up_logs(log_format)
    in_yard(context, lambda yard: _until_stopped(lambda stop: listen_to(yard, source, place or [], stop)))


async def _until_stopped(run: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await run(stop)


# Hooks


@hooks.command("add")
@with_option_groups
def add_hook(
    context: typer.Context,
    hook: HookArgument,
    github: Annotated[bool, typer.Option(help="Signed as GitHub does, by X-Hub-Signature-256.")] = False,
    ready_made: Annotated[str | None, typer.Option(help="pull-request-opened or json.")] = None,
    only: OnlyOption = None,
    *,
    adding: AddingOptions,
) -> None:
    """When a signed delivery comes: {{ body.… }} is filled in. Its secret is shown this once."""
    settings = {"scheme": "github" if github else "standard"}
    work = {} if ready_made is None else {"ready_made": ready_made}
    _add(context, hook, SourceName.WEBHOOK, settings, adding, only, **work)


@hooks.command("ls")
def hooks_listed(context: typer.Context, as_json: AsJson = False) -> None:
    """Hooks, without their secrets."""
    _list(context, as_json, SourceName.WEBHOOK, "no hooks: add one with `taskyard hooks add`")


@hooks.command("rotate")
def rotated(
    context: typer.Context,
    hook: HookArgument,
    grace: Annotated[float, typer.Option(help="Seconds for which the secret before stays good.")] = 0,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Give a hook another secret, shown this once."""
    secret = in_yard(context, lambda yard: yard.triggers.rotate(hook, grace_sec=grace, by=by))
    show(as_json, {"secret": secret}, Text(secret, style="bold"))


hooks.command("show")(shown)
hooks.command("rm")(removed)


def _add(
    context: typer.Context,
    trigger: str,
    source: SourceName,
    settings: dict[str, Any],
    adding: AddingOptions,
    only: str | None,
    **more: Any,
) -> None:
    settings_given = {name: value for name, value in settings.items() if value is not None}
    work, conditions = adding.work() | more, object_given("only", only)

    async def use(yard: Yard) -> AddedTrigger:
        return await yard.triggers.add(
            trigger,
            source.value,
            settings=settings_given,
            only=conditions,
            **work,
            replace=adding.replace,
            by=adding.by,
        )

    added = in_yard(context, use)
    value: dict[str, Json] = {"trigger": write(added.view), "secret": added.secret}
    lines = [Text(f"{trigger} {_listens(added.view)}")]
    if added.secret is not None:
        lines.append(Text.assemble("secret, shown this once: ", (added.secret, "bold")))
    show(adding.as_json, value, *lines)


def _list(context: typer.Context, as_json: bool, source: SourceName | None, empty: str) -> None:
    async def use(yard: Yard) -> tuple[list[TriggerView], Micros]:
        return await yard.triggers.list(), yard.now()

    views, now = in_yard(context, use)
    wanted = [view for view in views if source in (None, view.trigger.source)]
    rows = [(view.trigger.id, _standing(view, now), _listens(view)) for view in wanted]
    shown = table("trigger", "state", "listens to", rows=rows) if rows else Text(empty, style="dim")
    show(as_json, write(wanted), shown)


def _listens(view: TriggerView) -> str:
    settings_given = {name: value for name, value in view.trigger.settings.items() if value is not None}
    if view.trigger.path is not None:
        settings_given["at"] = DELIVER.to(path=view.trigger.path)
    shown = {
        name: "|".join(map(str, value)) if isinstance(value, list) else value for name, value in settings_given.items()
    }
    return f"{view.trigger.source}: {', '.join(f'{name} {value}' for name, value in shown.items())}"


def _standing(view: TriggerView, now: Micros) -> str:
    if view.trigger.paused:
        return "paused"
    if view.watched is None:
        return "listening"
    quiet = view.watched.quiet_until
    rest = f", quiet for {age(now, quiet)}" if quiet is not None and quiet > now else ""
    return f"{view.watched.mean if view.watched.mean is not None else '-'} over {view.watched.attempts} attempts{rest}"
