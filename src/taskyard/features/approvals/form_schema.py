"""The schema of an answer as forms show it: what it refers to is in its place, and what may be null may be left out.

Libraries that make a schema of a class write nested classes as references, optional fields as "this, or null", and
choices in several ways. A form has a field for none of these. Whatever fits the schema that is made here fits the one
that was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from taskyard.core.json_value import Json, canonical

Schema = Mapping[str, Json]
MOST_PARTS = 1_000  # of a schema: references to references can make a large one of a small one
DEEPEST = 64  # parts within parts
_DEFINITIONS = ("$defs", "definitions")
_ABOUT = frozenset({"title", "description", "default", "examples", "deprecated"})  # they allow and refuse nothing
_NULL: Json = {"type": "null"}


def form_schema(schema: Json) -> Json:
    """The schema with its own definitions in place; as it was given, where that would be too much to show."""
    if not isinstance(schema, dict):
        return schema
    try:
        whole = {name: each for name, each in schema.items() if name not in _DEFINITIONS}
        made = _chosen(_Form(schema).part(whole, ()), is_needed=True)
    except _TooLarge:
        return schema
    kept = {name: schema[name] for name in _DEFINITIONS if name in schema}
    return {**made, **kept} if any(_references(made)) else made


class _TooLarge(Exception):
    pass


class _Form:
    def __init__(self, whole: Schema) -> None:
        self._whole = whole
        self._parts = self._depth = 0

    def part(self, schema: Schema, within: tuple[str, ...], *, may_lack: bool = False) -> dict[str, Json]:
        """One part of the schema. `within`: the references that it stands in the place of, not to be followed again."""
        self._parts += 1
        self._depth += 1
        if self._parts > MOST_PARTS or self._depth > DEEPEST:
            raise _TooLarge
        made = self._made(schema, within, may_lack=may_lack)
        self._depth -= 1
        return made

    def _made(self, schema: Schema, within: tuple[str, ...], *, may_lack: bool) -> dict[str, Json]:
        if (found := self._referred(schema, within)) is not None:
            reference, target = found
            return self.part({**target, **_without(schema, "$ref")}, (*within, reference), may_lack=may_lack)
        if may_lack and (rest := _without_null(schema)) is not None:
            return self.part(rest, within)
        if (only := _only_part(schema)) is not None:
            return self.part(only, within, may_lack=may_lack)
        schema = _with_choices(schema)
        return {name: self._member(name, each, schema, within) for name, each in schema.items()}

    def _member(self, name: str, value: Json, schema: Schema, within: tuple[str, ...]) -> Json:
        if name == "properties" and isinstance(value, dict):
            required = schema.get("required")
            needed = required if isinstance(required, list) else []
            return {
                each: _chosen(self.part(part, within, may_lack=each not in needed), is_needed=each in needed)
                if isinstance(part, dict)
                else part
                for each, part in value.items()
            }
        if name == "items" and isinstance(value, dict):
            return _chosen(self.part(value, within), is_needed=True)
        if name in ("anyOf", "oneOf", "allOf") and isinstance(value, list):
            return [self.part(part, within) if isinstance(part, dict) else part for part in value]
        return value

    def _referred(self, schema: Schema, within: tuple[str, ...]) -> tuple[str, Schema] | None:
        """The definition that a part refers to, unless it is inside of that one, or says more than what it is about."""
        reference, rest = schema.get("$ref"), set(schema) - {"$ref"}
        if not isinstance(reference, str) or not rest <= _ABOUT or reference in within:
            return None
        start, _, name = reference.rpartition("/")
        definitions = self._whole.get(start.removeprefix("#/"))
        target = definitions.get(name) if start.startswith("#/") and isinstance(definitions, dict) else None
        # The name of the class is no title for each field that has it.
        return (reference, _without(target, "title")) if isinstance(target, dict) else None


def _without_null(schema: Schema) -> Schema | None:
    """A part that may be null, without that; None where it may not be, or is nothing else."""
    about = {name: each for name, each in schema.items() if (name, each) != ("default", None)}
    types = schema.get("type")
    if isinstance(types, list) and "null" in types and len(types) > 1:
        others = [each for each in types if each != "null"]
        return {**_without_null_choice(about), "type": others[0] if len(others) == 1 else others}
    for word in ("anyOf", "oneOf"):
        options = schema.get(word)
        if not isinstance(options, list) or _NULL not in options or not set(schema) - {word} <= _ABOUT:
            continue
        others = [each for each in options if each != _NULL]
        if len(others) == 1 and isinstance(others[0], dict):
            return {**others[0], **_without(about, word)}
        return {**about, word: others} if others else None
    return None


def _without_null_choice(schema: Schema) -> Schema:
    choices = schema.get("enum")
    kept: list[Json] = [each for each in choices if each is not None] if isinstance(choices, list) else []
    return {**schema, "enum": kept} if kept else schema


def _only_part(schema: Schema) -> Schema | None:
    """What all of one part has to be, which is that part; None where there are several, or none."""
    parts = schema.get("allOf")
    if not isinstance(parts, list) or len(parts) != 1 or not set(schema) - {"allOf"} <= _ABOUT:
        return None
    (part,) = parts
    return {**part, **_without(schema, "allOf")} if isinstance(part, dict) else None


def _with_choices(schema: Schema) -> Schema:
    """Any of several constants is one of them, and no two of them have the same title."""
    word = "anyOf" if "oneOf" not in schema else "oneOf"
    options = schema.get(word)
    choices = (
        [each for each in options if isinstance(each, dict) and "const" in each] if isinstance(options, list) else []
    )
    values = [canonical(each["const"]) for each in choices]
    if not choices or choices != options or len(set(values)) < len(values):
        return schema
    titles = [each.get("title") for each in choices]
    titled: list[Json] = [
        {**each, "title": f"{title} ({value})"} if title is not None and titles.count(title) > 1 else each
        for each, title, value in zip(choices, titles, values, strict=True)
    ]
    return {**_without(schema, word), "oneOf": titled}


def _chosen(part: dict[str, Json], *, is_needed: bool) -> dict[str, Json]:
    """A constant as the only choice there is. Where it is needed, nobody has to choose it."""
    if "const" not in part or "enum" in part:
        return part
    begun: dict[str, Json] = {"default": part["const"]} if is_needed else {}
    return {**begun, **_without(part, "const"), "enum": [part["const"]]}


def _without(schema: Schema, name: str) -> dict[str, Json]:
    return {each: value for each, value in schema.items() if each != name}


def _references(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)
