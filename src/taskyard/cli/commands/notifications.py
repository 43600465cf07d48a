"""Notifications: who is notified of what, and what did not get through."""

from __future__ import annotations

from typing import Annotated

import typer

from taskyard.api.codec import write
from taskyard.app import Yard
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, carry_out, in_yard, show
from taskyard.cli.terminal import Text, age, table
from taskyard.core.notice import Notice
from taskyard.core.units import SECOND, Micros
from taskyard.features.notifications.rules import UNASKED
from taskyard.features.notifications.views import NotificationView, NotifierView

app = typer.Typer(help="Tell people: dead letters, open breakers, approvals, …", no_args_is_help=True)
EVENTS = ", ".join(notice.value for notice in Notice if notice not in UNASKED)
NotifierArgument = Annotated[str, typer.Argument(metavar="NAME", help="The notifier's name.")]
NotificationArgument = Annotated[str, typer.Argument(metavar="NOTIFICATION", help="Its id, as `parked` shows it.")]


@app.command("add")
def add(
    context: typer.Context,
    name: NotifierArgument,
    target: Annotated[
        str,
        typer.Argument(
            help="https://… for a signed webhook, or a service: slack://TOKEN_A/TOKEN_B/TOKEN_C, mailtos://…, …"
        ),
    ],
    on: Annotated[list[str], typer.Option("--on", help=f"What to tell of: {EVENTS}. May be repeated.")],
    type_: Annotated[
        list[str] | None, typer.Option("--type", help="Only of tasks of these types.", autocompletion=completion.types)
    ] = None,
    queue: Annotated[
        list[str] | None, typer.Option(help="Only of tasks in these queues.", autocompletion=completion.queues)
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only of tasks or DAGs with one of these tags.")] = None,
    after: Annotated[
        float,
        typer.Option(
            "--after", metavar="SECONDS", help="Of approvals and dead letters: when nobody has answered for so long."
        ),
    ] = 0,
    every: Annotated[
        float | None,
        typer.Option(
            "--every", metavar="SECONDS", help="Of approvals and dead letters: again, until somebody answers."
        ),
    ] = None,
    group: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Send what has one cause and comes within so long in one message."),
    ] = None,
    quiet: Annotated[
        str | None, typer.Option(metavar="HH:MM-HH:MM", help="When to leave it alone; sent when that is over.")
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="The time zone of --quiet, such as Europe/Berlin. Default: UTC.")
    ] = None,
    critical: Annotated[
        list[str] | None, typer.Option(help="What to tell of in quiet hours too. May be repeated.")
    ] = None,
    escalate_to: Annotated[
        str | None, typer.Option(metavar="NAME", help="The notifier to tell when nobody has answered.")
    ] = None,
    escalate_after: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="With --escalate-to: how long after this one.")
    ] = None,
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Tell a target of some events, from now on. A webhook's signing secret is shown this once."""
    made = in_yard(
        context,
        lambda yard: yard.notifications.set(
            name,
            target,
            events=on,
            types=type_ or (),
            queues=queue or (),
            tags=tag or (),
            after_sec=after,
            every_sec=every,
            group_sec=group,
            quiet_hours=quiet,
            time_zone=zone,
            critical=critical or (),
            escalate_to=escalate_to,
            escalate_after_sec=escalate_after,
            by=by,
        ),
    )
    shown = [Text(f"{made.notifier.name} tells {made.notifier.target}")]
    if made.secret is not None:
        shown.append(Text.assemble("signed with ", (made.secret, "bold"), ", which is not shown again"))
    show(as_json, write(made), *shown)


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """Who is notified of what. Targets are shown without what may be a secret."""

    async def use(yard: Yard) -> list[NotifierView]:
        return await yard.notifications.list()

    found = in_yard(context, use)
    rows = [(each.name, each.target, ", ".join(each.events), _only(each), _when(each)) for each in found]
    shown = (
        table("name", "target", "of", "only", "when", rows=rows)
        if rows
        else Text("nobody is notified of anything", style="dim")
    )
    show(as_json, write(found), shown)


@app.command("rm")
def remove(context: typer.Context, name: NotifierArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Tell this target no more."""
    carry_out(context, as_json, lambda yard: yard.notifications.remove(name, by=by))


@app.command("test")
def try_out(context: typer.Context, name: NotifierArgument, by: By = "human:local", as_json: AsJson = False) -> None:
    """Send a test at once."""
    in_yard(context, lambda yard: yard.notifications.try_out(name, by=by))
    show(as_json, {"ok": True}, Text("it arrived", style="green"))


@app.command("waiting")
def waiting(context: typer.Context, as_json: AsJson = False) -> None:
    """What is on its way, with how often it was tried."""
    _show_notifications(context, as_json, parked=False)


@app.command("parked")
def parked(context: typer.Context, as_json: AsJson = False) -> None:
    """What was given up after its last try."""
    _show_notifications(context, as_json, parked=True)


@app.command("callback-secret")
def callback_secret(context: typer.Context, as_json: AsJson = False) -> None:
    """What the callbacks of tasks are signed with, for those who receive them."""
    found = in_yard(context, lambda yard: yard.notifications.callback_secret())
    show(as_json, write(found), Text(found.secret))


@app.command("resend")
def resend(
    context: typer.Context, notification: NotificationArgument, by: By = "human:local", as_json: AsJson = False
) -> None:
    """Try a parked one again."""
    carry_out(context, as_json, lambda yard: yard.notifications.resend(notification, by=by))


@app.command("dismiss")
def dismiss(
    context: typer.Context, notification: NotificationArgument, by: By = "human:local", as_json: AsJson = False
) -> None:
    """Forget a parked one."""
    carry_out(context, as_json, lambda yard: yard.notifications.dismiss(notification, by=by))


def _show_notifications(context: typer.Context, as_json: bool, *, parked: bool) -> None:
    async def use(yard: Yard) -> tuple[list[NotificationView], Micros]:
        return await yard.notifications.deliveries(parked=parked), yard.now()

    found, now = in_yard(context, use)
    columns = ("notification", "event", "tries", "age", "title", "error")
    rows = [
        (each.id, each.event.value, str(each.tries), age(each.at, now), each.title, each.error or "") for each in found
    ]
    shown = (
        table(*columns, rows=rows, right=("tries", "age"), wraps=("title", "error"))
        if rows
        else Text("none", style="dim")
    )
    show(as_json, write(found), shown)


def _when(notifier: NotifierView) -> str:
    """In one line: what is not sent one by one and at once."""
    stated = (
        (notifier.after, f"after {_seconds(notifier.after)}"),
        (notifier.every, f"again every {_seconds(notifier.every)}"),
        (notifier.group, f"together every {_seconds(notifier.group)}"),
        (notifier.quiet_hours, f"not {notifier.quiet_hours} {notifier.time_zone}"),
        (notifier.critical, f"but {', '.join(notifier.critical)}"),
        (notifier.escalate_to, f"then {notifier.escalate_to} after {_seconds(notifier.escalate_after)}"),
    )
    return "; ".join(words for is_stated, words in stated if is_stated)


def _seconds(length: Micros | None) -> str:
    return f"{(length or 0) / SECOND:g} s"


def _only(notifier: NotifierView) -> str:
    named = (("type", notifier.types), ("queue", notifier.queues), ("tag", notifier.tags))
    return "; ".join(f"{word} {', '.join(values)}" for word, values in named if values)
