"""Variants of task types: other models or prompts for shares of the tasks."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from taskyard.api.codec import write
from taskyard.cli import completion
from taskyard.cli.invocation import AsJson, By, in_yard, json_given, show
from taskyard.cli.terminal import Text, one_line, table
from taskyard.core.json_value import compact
from taskyard.features.variants.views import TypeVariants, VariantView

app = typer.Typer(help="Try other models or prompts on shares of the tasks of a type.", no_args_is_help=True)


@app.command("set")
def set_variants(
    context: typer.Context,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="Of tasks.", autocompletion=completion.types)],
    variants: Annotated[
        str,
        typer.Argument(
            metavar="JSON",
            help='A list of {"name", "share", "model_preferences", "fallback_models", "prompt", "payload"}; '
            "@FILE, or - for standard input; [] ends it.",
        ),
    ],
    by: By = "human:local",
    as_json: AsJson = False,
) -> None:
    """Say in which variants the tasks of a type are put in from now on."""
    given: Any = json_given("JSON", variants)
    stored = in_yard(context, lambda yard: yard.variants.set(type, given, by=by))
    show(as_json, write(stored), _table([stored]))


@app.command("ls")
def listed(context: typer.Context, as_json: AsJson = False) -> None:
    """Every type that has variants."""
    found = in_yard(context, lambda yard: yard.variants.list())
    show(as_json, write(found), _table(found) if found else Text("none", style="dim"))


def _table(found: list[TypeVariants]) -> Table:
    rows = [
        (of.type, each.name, _percent(each, of), one_line(compact(each.values))) for of in found for each in of.variants
    ]
    return table("type", "variant", "share", "values", rows=rows, right=("share",))


def _percent(variant: VariantView, of: TypeVariants) -> str:
    return f"{variant.share / sum(each.share for each in of.variants):.0%}"
