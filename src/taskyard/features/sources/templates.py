"""Templates: what is to be made, as data with places to fill in.

`{{ path.to.value }}` in a text is replaced by what stands there in the values given; where it is the whole text, the
value keeps its type. `{{ path? }}` may be missing and is null then, or nothing within a text. There is no more to it:
nothing is evaluated, called or included, and what is filled in is not looked at for places again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, compact, is_mapping, is_sequence, sound_object

FIELD = "template"
MOST_BYTES = 1 << 18
MOST_FILLED = 4 << 20  # characters that one filling may put in: a short template must not grow without end
MOST_PLACES = 1000

_PLACE = re.compile(r"\{\{\s*([\w-]+(?:\.[\w-]+)*)(\?)?\s*\}\}", re.ASCII)


def check(template: object, field: str = FIELD) -> dict[str, Json]:
    """A template that can be stored and filled in; InvalidInput says what is wrong with it."""
    sound = sound_object(template, field=field, max_bytes=MOST_BYTES)
    for text in _texts(sound):
        if "{{" in _PLACE.sub("", text):
            raise InvalidInput(field, "must have after each {{ a path such as body.items.0.name, and }}")
    if len(list(places(sound))) > MOST_PLACES:
        raise InvalidInput(field, f"must have at most {MOST_PLACES} places to fill in")
    return sound


def places(template: Json) -> Iterator[str]:
    """The paths that a template names, as often as it does."""
    for text in _texts(template):
        yield from (match[1] for match in _PLACE.finditer(text))


def filled(template: Json, values: Mapping[str, Json]) -> Json:
    """The template with its places filled; InvalidInput names the first path that leads nowhere."""
    return _Filling(values).value(template)


def found(values: Json, path: str) -> Json:
    """What stands at a path; LookupError where nothing does. A number is a place in a list, counted from 0."""
    for name in path.split("."):
        values = _inside(values, name)
    return values


def _inside(value: Json, name: str) -> Json:
    if isinstance(value, dict):
        return value[name]
    if isinstance(value, list) and name.isdecimal() and len(name) < 10:
        return value[int(name)]
    raise LookupError(name)


def without_places(template: dict[str, Json]) -> dict[str, Json]:
    """What stands in a template whatever is filled in, to be checked beforehand. A type is put where one belongs."""
    kept = {name: _without(each) for name, each in template.items() if not _has_place(each)}
    return {**kept, "type": "any"} if "type" in template and "type" not in kept else kept


def _without(template: Json) -> Json:
    match template:
        case list():
            return [_without(each) for each in template if not _has_place(each)]
        case dict():
            return without_places(template)
        case _:
            return template


def _has_place(value: Json) -> bool:
    return isinstance(value, str) and _PLACE.search(value) is not None


class _Filling:
    def __init__(self, values: Mapping[str, Json]) -> None:
        self._values: Json = dict(values)
        self._room = MOST_FILLED
        self._sizes: dict[str, int] = {}

    def value(self, template: Json) -> Json:
        match template:
            case str():
                return self._text(template)
            case list():
                return [self.value(each) for each in template]
            case dict():
                return {name: self.value(each) for name, each in template.items()}
            case _:
                return template

    def _text(self, text: str) -> Json:
        if (whole := _PLACE.fullmatch(text)) is not None:
            return self._at(whole)
        return _PLACE.sub(lambda place: _spelled(self._at(place)), text)

    def _at(self, place: re.Match[str]) -> Json:
        path = place[1]
        try:
            value = found(self._values, path)
        except LookupError:
            if place[2]:
                return None
            raise InvalidInput(FIELD, f"names {path}, and there is no such value") from None
        if path not in self._sizes:
            self._sizes[path] = len(compact(value))
        self._room -= self._sizes[path]
        if self._room < 0:
            raise InvalidInput(FIELD, f"must not grow by more than {MOST_FILLED} characters when it is filled in")
        return value


def _spelled(value: Json) -> str:
    """A value within a text: JSON, but for a text, which is itself, and nothing, which is nothing."""
    if value is None:
        return ""
    return value if isinstance(value, str) else compact(value)


def _texts(template: Any) -> Iterator[str]:
    waiting = [template]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif is_mapping(each):
            waiting += each.values()
        elif is_sequence(each):
            waiting += each
