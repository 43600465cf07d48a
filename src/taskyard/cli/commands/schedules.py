"""Schedules: work that is made by time."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli.commands.sources import WorkOptions, fires_table, shown_time
from taskyard.cli.invocation import AsJson, By, carry_out, in_yard, show, with_option_groups
from taskyard.cli.terminal import Text, age, counted, short, table
from taskyard.core.units import Micros
from taskyard.features.schedules.views import ScheduleView

app = typer.Typer(help="Work that is made by time.", no_args_is_help=True)
ScheduleArgument = Annotated[str, typer.Argument(metavar="SCHEDULE", help="A schedule's id.")]


@app.command()
@with_option_groups
def add(
    context: typer.Context,
    schedule: ScheduleArgument,
    when: Annotated[
        str, typer.Argument(help='"every Monday at 09:00 Europe/Berlin", "30 2 * * *", "every 15 minutes"')
    ],
    *,
    made: WorkOptions,
    misfire: Annotated[str, typer.Option(help="Times that were missed: skip, once (the latest) or all.")] = "once",
    window: Annotated[float, typer.Option(help="Seconds in which a missed time is made up for.")] = 86_400,
    busy: Annotated[str, typer.Option(help="While the run before still goes: allow, skip or replace.")] = "allow",
    gap: Annotated[str | None, typer.Option(help="Clock times that do not exist: next or skip.")] = None,
    overlap: Annotated[str | None, typer.Option(help="Clock times that come twice: first, second or both.")] = None,
    starts_at: Annotated[str | None, typer.Option(help="Nothing before this time.")] = None,
    ends_at: Annotated[str | None, typer.Option(help="Nothing after this time.")] = None,
    paused: Annotated[bool, typer.Option(help="Add it without starting it.")] = False,
    replace: Annotated[bool, typer.Option(help="Take the place of one that has the id.")] = False,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Make a task or a DAG at certain times. {{ fire.date }} and the like in its texts are filled in."""

    async def use(yard: Yard) -> ScheduleView:
        return await yard.schedules.add(
            schedule,
            when,
            **made.work(),
            misfire=misfire,
            misfire_window_sec=window,
            busy=busy,
            gap=gap,
            overlap=overlap,
            starts_at=starts_at,
            ends_at=ends_at,
            paused=paused,
            replace=replace,
            by=by,
        )

    view = in_yard(context, use)
    upcoming = ", ".join(shown_time(at) for at in view.next_times[:3])
    show(as_json, write(view), Text(f"{view.schedule.id}: next at {upcoming or 'no time'}"))


@app.command("next")
def upcoming(
    context: typer.Context,
    when: Annotated[str, typer.Argument(help='As for `add`: "every weekday at 9am Europe/Berlin", "30 2 * * *"')],
    as_json: AsJson = False,
) -> None:
    """Say how a time is understood, and the next five times that it names. Nothing is stored."""
    found = in_yard(context, lambda yard: yard.schedules.preview(when))
    meant = Text(f"{found.cron or 'interval'}, {found.timezone}", style="dim")
    show(as_json, write(found), meant, *(Text(shown_time(at)) for at in found.next_times))


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """Schedules, with their next times."""

    async def use(yard: Yard) -> tuple[list[ScheduleView], Micros]:
        return await yard.schedules.list(), yard.now()

    views, now = in_yard(context, use)
    rows = [
        (
            view.schedule.id,
            view.schedule.timing.text,
            _standing(view, now),
            short(view.schedule.last_run) if view.schedule.last_run else "",
            _made_of(view.schedule.template),
        )
        for view in views
    ]
    empty = Text("no schedules: add one with `taskyard schedules add`", style="dim")
    columns = ("schedule", "when", "next", "last run", "makes")
    show(as_json, write(views), table(*columns, rows=rows) if rows else empty)


@app.command("show")
def shown(context: typer.Context, schedule: ScheduleArgument, as_json: AsJson = False) -> None:
    """One schedule: its policies, its next times, and its last fires with why each did or did not fire."""

    async def use(yard: Yard) -> tuple[ScheduleView, Micros]:
        return await yard.schedules.get(schedule), yard.now()

    view, now = in_yard(context, use)
    it, timing = view.schedule, view.schedule.timing
    facts = {
        "when": f"{timing.text}  ({timing.cron or 'interval'}, {timing.zone})",
        "clocks": f"gap {timing.gap.value}, overlap {timing.overlap.value}",
        "missed": f"{it.misfire.value}, within {it.window // 1_000_000} s",
        "busy": it.busy.value,
        "makes": _made_of(it.template),
        "next": "paused" if it.paused else ", ".join(map(shown_time, view.next_times)) or "never",
    }
    lines = [Text.assemble((f"{name:<8}", "bold"), value) for name, value in facts.items()]
    show(as_json, write(view), *lines, fires_table(view.fires, now))


@app.command()
def pause(context: typer.Context, schedule: ScheduleArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Let no time fire until it is resumed."""
    carry_out(context, as_json, lambda yard: yard.schedules.pause(schedule, by=by))


@app.command()
def resume(context: typer.Context, schedule: ScheduleArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Go on from now."""
    carry_out(context, as_json, lambda yard: yard.schedules.resume(schedule, by=by))


@app.command()
def run(context: typer.Context, schedule: ScheduleArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Make its work now, beside its times."""
    fire = in_yard(context, lambda yard: yard.schedules.run(schedule, by=by))
    show(as_json, write(fire), Text(str(fire.run)))


@app.command("rm")
def removed(
    context: typer.Context, schedule: ScheduleArgument, by: By = "human:local", as_json: AsJson = False
) -> None:
    """End a schedule. What it has made stays."""
    carry_out(context, as_json, lambda yard: yard.schedules.remove(schedule, by=by))


def _standing(view: ScheduleView, now: Micros) -> str:
    if view.schedule.paused:
        return "paused"
    return "never" if view.schedule.next_at is None else age(view.schedule.next_at, now)


def _made_of(template: Any) -> str:
    if "task" in template:
        return f"task {template['task'].get('type', '')}"
    dag = template["dag"]
    return " ".join(["DAG", *filter(None, [dag.get("title")]), "of", counted(len(dag.get("tasks", ())), "task")])
