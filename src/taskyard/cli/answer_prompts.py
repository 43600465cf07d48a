"""An answer from the keyboard: one prompt for each field of a JSON Schema, and JSON for what no prompt can hold."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import NamedTuple

import typer

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact, decode
from taskyard.visible_text import visible

Ask = Callable[[str], str]
_YES = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


class TitledChoice(NamedTuple):
    value: Json
    title: str


def _prompt(label: str) -> str:
    return typer.prompt(label, default="", show_default=False)


class Prompts:
    """What is typed is read by the type that the schema names; the yard checks the rest of the schema."""

    def __init__(self, ask: Ask = _prompt, say: Callable[[str], object] = typer.echo) -> None:
        self._ask = ask
        self._say = say

    def value(self, schema: Json, name: str, *, required: bool = True) -> Json:
        """One value. Where nothing is typed, a default is taken, or the prompt is repeated if the value is required."""
        rules = schema if isinstance(schema, dict) else {}
        if rules.get("type") == "object" and isinstance(rules.get("properties"), dict):
            is_left_out = not required and not self._is_wanted(_label(rules, name, []))
            return None if is_left_out else self._object(rules)
        choices = choices_of(rules)
        label = _label(rules, name, choices)
        while True:
            text = self._ask(visible(label)).strip()
            if not text and "default" in rules:
                return rules["default"]
            if not text and not required:
                return None
            try:
                return _chosen(text, choices) if choices else typed_value(text, rules.get("type"))
            except (ValueError, KeyError):
                self._say(f"  {wanted_words(rules.get('type'), choices)}")

    def _is_wanted(self, label: str) -> bool:
        """Whether a part that may be left out is to be filled in; nothing typed leaves it out."""
        while True:
            try:
                return _YES[self._ask(visible(f"Fill in {label}? (yes/no)")).strip().lower() or "no"]
            except KeyError:
                self._say(f"  {wanted_words('boolean', [])}")

    def _object(self, schema: dict[str, Json]) -> dict[str, Json]:
        properties, required = schema["properties"], schema.get("required")
        needed = required if isinstance(required, list) else []
        found: dict[str, Json] = {}
        for name, rules in properties.items() if isinstance(properties, dict) else ():
            value = self.value(rules, name, required=name in needed)
            if value is not None or name in needed:
                found[name] = value
        return found


def choices_of(rules: dict[str, Json]) -> list[TitledChoice]:
    """What is to be chosen from; empty where anything may be typed."""
    listed, titled = rules.get("enum"), rules.get("oneOf")
    if isinstance(listed, list):
        return [TitledChoice(each, words_of(each)) for each in listed]
    options = [each for each in titled if isinstance(each, dict)] if isinstance(titled, list) else []
    if not options or options != titled or any("const" not in each for each in options):
        return []
    return [TitledChoice(each["const"], str(each.get("title") or words_of(each["const"]))) for each in options]


def words_of(value: Json) -> str:
    """A value as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else compact(value)


def _label(rules: dict[str, Json], name: str, choices: list[TitledChoice]) -> str:
    title = str(rules.get("title") or name)
    options = "".join(f"\n  {number}. {choice.title}" for number, choice in enumerate(choices, 1))
    if choices:
        return f"{title}{options}\nNumber"
    hint = {"boolean": " (yes/no)", "integer": " (whole number)", "string": "", "number": ""}
    is_object = rules.get("type") == "object" and "properties" in rules
    return f"{title}{'' if is_object else hint.get(str(rules.get('type')), ' (JSON)')}"


def _chosen(text: str, choices: list[TitledChoice]) -> Json:
    return {str(number): choice.value for number, choice in enumerate(choices, 1)}[text]


def typed_value(text: str, kind: Json) -> Json:
    """What was typed, as a value of the type that a schema names. `ValueError` or `KeyError` where it is none."""
    match kind:
        case "string" if text:
            return text
        case "boolean":
            return _YES[text.lower()]
        case "integer":
            return int(text)
        case "number":
            return _finite(float(text))
        case _:
            return _from_json(text)


def _from_json(text: str) -> Json:
    """JSON that the yard takes: neither `NaN`, nor what is nested without an end."""
    try:
        return decode(text, field="text")
    except InvalidInput as error:
        raise ValueError(str(error)) from None


def _finite(number: float) -> float:
    """JSON has neither `nan` nor `inf`: an answer with one would be refused when all else is typed."""
    if not isfinite(number):
        raise ValueError
    return number


def wanted_words(kind: Json, choices: list[TitledChoice]) -> str:
    """What to type instead."""
    if choices:
        return f"type a number from 1 to {len(choices)}"
    words = {
        "boolean": "type yes or no",
        "integer": "type a whole number",
        "number": "type a number",
        "string": "type something",
    }
    return words.get(str(kind), 'type JSON: a text in "quotes", a number, true, an [array] or an {object}')
