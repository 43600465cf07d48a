"""How much work a JSON Schema can make, so that no schema and no output together can make too much.

A schema is a graph of parts: each is applied at one place of a value, some of them send others to the same place
(`allOf`, `$ref`), some to the places below it (`properties`, `items`). Where two ways lead to one place, what is there
is looked at twice, and where that comes again at every level, more often than anybody can wait for. Here it is counted
before it is done. A unit is about a tenth of a microsecond of the validator that does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any
from urllib.parse import unquote

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, is_list, is_object

FIELD = "output.validation_schema"
MOST_PARTS = 4_000
MOST_WORK = 400_000  # units
MOST_MATCHING = 3_000_000  # instructions of regular expressions, times the characters they are looked for in
MOST_LOOKS = 10_000  # of a part at a place, that are counted one by one
LONGEST_CHAIN = 500  # parts that send each other to the same place

_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_HERE = frozenset({"not", "if", "then", "else", "contentSchema"})
_LISTED_HERE = frozenset({"allOf", "anyOf", "oneOf"})
_NAMED_HERE = frozenset({"dependentSchemas", "dependencies"})
_BELOW = frozenset({"additionalProperties", "propertyNames", "additionalItems", "contains"})
_UNEVALUATED = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_COMPARED = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_LISTS = frozenset({"required", "dependentRequired", "type"})
_AGAIN = 3  # times that parts are gone through which something unevaluated is asked about
_SEVERAL = 60  # units of a number that is compared with one written otherwise
_HUGE = 2**63

# The drafts by the names they have. Any other name of a draft is an address that somebody would have to fetch.
DRAFTS = frozenset(
    f"{name}{end}"
    for name in (
        *(f"http://json-schema.org/draft-0{number}/schema" for number in (4, 6, 7)),
        *(f"https://json-schema.org/draft/{year}/schema" for year in ("2019-09", "2020-12")),
    )
    for end in ("", "#")
)
_NEWEST = sorted(name for name in DRAFTS if not name.endswith("#"))


@dataclass(slots=True)
class _Part:
    """One schema within the schema."""

    weight: int = 1
    matching: int = 0  # instructions of the regular expressions that it tries
    repeats: int = 1  # times that what it sends to the same place is gone through
    here: list[int] = field(default_factory=list[int])
    below: list[int] = field(default_factory=list[int])  # for whatever is below
    named: dict[str, list[int]] = field(default_factory=dict[str, list[int]])  # for what has this name, or number


@dataclass(slots=True)
class Patterns:
    """The regular expressions of a schema, and how many instructions each comes to."""

    sizes: Mapping[str, int]

    def of(self, schema: Mapping[str, Any]) -> int:
        texts = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
        return sum(self.sizes.get(text, 0) for text in [*texts, *_object(schema.get("patternProperties"))])


def patterns_of(schema: Json) -> set[str]:
    """Every text in a schema that may be taken for a regular expression."""
    found: set[str] = set()
    for part in _objects(schema):
        found |= _object(part.get("patternProperties")).keys()
        if isinstance(pattern := part.get("pattern"), str):
            found.add(pattern)
    return found


class Work:
    """The work that a schema makes; `InvalidInput` where that is not known, or is too much for any value."""

    def __init__(self, schema: Json, patterns: Patterns) -> None:
        _refuse_other_drafts(schema)
        _refuse_other_places(schema)
        self._parts = _Graph(schema, patterns).parts
        self._order = _in_order(self._parts)
        self._place = {number: place for place, number in enumerate(self._order)}
        self._levels = [self._level([0] * len(self._parts), [part.weight for part in self._parts])]
        self._matching = [self._level([0] * len(self._parts), [part.matching for part in self._parts])]
        if self._levels[0][0] > MOST_WORK:
            raise InvalidInput(FIELD, f"must not come to more than {MOST_WORK} parts where its references are followed")

    def is_too_much(self, value: Json) -> bool:
        """Whether checking this value would take longer than anybody is to wait for."""
        return self._may_be_too_much(value) and self._is_counted_too_much(value)

    def _may_be_too_much(self, value: Json) -> bool:
        """A look at how much there is at each level, as if all of it were where the schema asks for most."""
        work = matching = 0
        level, depth = [value], 0
        while level:
            each = self._at(self._levels, depth)
            if work + len(level) * each > MOST_WORK:
                return True
            size, characters, level = _measured(level)
            work += size * each
            matching += characters * self._at(self._matching, depth)
            depth += 1
        return work > MOST_WORK or matching > MOST_MATCHING

    def _is_counted_too_much(self, value: Json) -> bool:
        """The same place by place: which parts come to each, and how often."""
        work = matching = looks = 0
        places: list[tuple[Json, dict[int, int]]] = [(value, {0: 1})]
        while places:
            place, sent = places.pop()
            times = self._with_those_sent_on(sent)
            size, characters, _ = _measured([place])
            work += size * sum(count * self._parts[number].weight for number, count in times.items())
            matching += characters * sum(count * self._parts[number].matching for number, count in times.items())
            going_on = [number for number in times if self._parts[number].below or self._parts[number].named]
            looks += len(times) + len(going_on) * (len(place) if isinstance(place, dict | list) else 0)
            if work > MOST_WORK or matching > MOST_MATCHING or looks > MOST_LOOKS:
                return True
            places += self._below(place, {number: times[number] for number in going_on})
        return False

    def _with_those_sent_on(self, sent: Mapping[int, int]) -> dict[int, int]:
        """How often each part comes to a place, from those that were sent there from above."""
        times, waiting = dict(sent), [-self._place[number] for number in sent]
        heapify(waiting)
        while waiting:
            number = self._order[-heappop(waiting)]
            part = self._parts[number]
            for each in part.here:
                if each not in times:
                    heappush(waiting, -self._place[each])
                times[each] = min(times.get(each, 0) + times[number] * part.repeats, MOST_WORK + 1)
        return times

    def _below(self, place: Json, times: Mapping[int, int]) -> Iterator[tuple[Json, dict[int, int]]]:
        """What is at the places under this one, with what is sent there."""
        if not isinstance(place, dict | list) or not times:
            return
        for name, value in place.items() if isinstance(place, dict) else enumerate(place):
            sent: dict[int, int] = {}
            for number, count in times.items():
                part = self._parts[number]
                for each in (*part.below, *part.named.get(f"{name}", ())):
                    sent[each] = sent.get(each, 0) + count
            if sent:
                yield value, sent

    def _at(self, levels: list[list[int]], level: int) -> int:
        """The work at one place so many levels down, at most."""
        while len(levels) <= level:
            last = levels[-1]
            deeper = self._level(last, [0] * len(last))
            if deeper == last:
                return last[0]  # and so on for ever
            levels.append(deeper)
        return levels[level][0]

    def _level(self, above: Sequence[int], weights: Sequence[int]) -> list[int]:
        """For each part the work that it makes at a place, from the work that parts make one level nearer to it."""
        found = list(weights)
        for number in self._order:
            part = self._parts[number]
            any_name = sum(above[each] for each in part.below)
            one_name = max((sum(above[each] for each in some) for some in part.named.values()), default=0)
            here = part.repeats * sum(found[each] for each in part.here)
            found[number] = min(found[number] + any_name + one_name + here, MOST_MATCHING + 1)
        return found


class _Graph:
    """Takes a schema apart. Its parts are numbered; the whole is number 0."""

    def __init__(self, schema: Json, patterns: Patterns) -> None:
        self._root = schema
        self._patterns = patterns
        self._anchors = _anchors(schema)
        self._numbers: dict[int, int] = {}
        self._waiting: list[tuple[_Part, Mapping[str, Any]]] = []
        self.parts: list[_Part] = []
        self._number(schema)
        while self._waiting:
            self._take_apart(*self._waiting.pop())

    def _number(self, schema: Any) -> int:
        """The number of a part; what is no object asks for nothing further."""
        place = id(schema)
        if is_object(schema) and place in self._numbers:
            return self._numbers[place]
        number, part = len(self.parts), _Part()
        self.parts.append(part)
        if number > MOST_PARTS:
            raise InvalidInput(FIELD, f"must have at most {MOST_PARTS} parts")
        if is_object(schema):
            self._numbers[place] = number
            self._waiting.append((part, schema))
        return number

    def _take_apart(self, part: _Part, schema: Mapping[str, Any]) -> None:
        part.matching = self._patterns.of(schema)
        for word, value in schema.items():
            part.weight += _weight(word, value)
            part.here += map(self._number, self._sent_here(word, value))
            part.below += map(self._number, _sent_below(word, value))
            for name, each in _sent_by_name(word, value):
                part.named.setdefault(name, []).append(self._number(each))
            if word in _UNEVALUATED:
                part.repeats = _AGAIN

    def _sent_here(self, word: str, value: Any) -> Iterable[Any]:
        if word in _REFERENCES:
            return self._found(value) if isinstance(value, str) else ()
        if word in _LISTED_HERE:
            return _list(value)
        if word in _NAMED_HERE:
            return _object(value).values()
        return (value,) if word in _HERE else ()

    def _found(self, target: str) -> Iterable[Any]:
        """Where a reference leads; nowhere is for the validator to refuse."""
        pointer = unquote(target[1:])
        if not pointer.startswith("/"):
            return self._anchors.get(pointer, [] if pointer else [self._root])
        place: Any = self._root
        for step in pointer[1:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if is_object(place):
                place = place.get(name)
            elif is_list(place) and name.isdecimal() and int(name) < len(place):
                place = place[int(name)]
            else:
                return []
        return [place]


def _sent_below(word: str, value: Any) -> Iterable[Any]:
    if word == "patternProperties":
        return _object(value).values()
    if word in _BELOW or word in _UNEVALUATED:
        return (value,)
    if word == "uniqueItems":
        return (True, True, True)
    return (value,) if word == "items" and not isinstance(value, list) else ()


def _sent_by_name(word: str, value: Any) -> Iterable[tuple[str, Any]]:
    if word == "properties":
        return _object(value).items()
    if word in ("prefixItems", "items"):
        return ((f"{number}", each) for number, each in enumerate(_list(value)))
    return ()


def _weight(word: str, value: Any) -> int:
    if word in _LISTS:
        return len(_list(value)) + len(_object(value))
    if word == "enum":
        return sum(map(_compared, _list(value)))
    if word == "const":
        return _compared(value)
    if word == "multipleOf":
        return 20 if isinstance(value, int | float) and 1e-12 <= value <= 1e12 else 500
    return 6 if word in _COMPARED else 0


def _compared(member: Any) -> int:
    """What comparing with one value costs."""
    if is_object(member) or is_list(member):
        return _SEVERAL // 2 + len(str(member))
    return _SEVERAL if isinstance(member, int | float) and not isinstance(member, bool) else 1


def _in_order(parts: Sequence[_Part]) -> list[int]:
    """Every part after those that it sends to its own place."""
    depth: dict[int, int] = {}
    for start in range(len(parts)):
        path: dict[int, Iterator[int]] = {} if start in depth else {start: iter(parts[start].here)}
        while path:
            number = next(reversed(path))
            following = next((each for each in path[number] if each not in depth), None)
            if following is None:
                del path[number]
                depth[number] = 1 + max((depth[each] for each in parts[number].here), default=0)
            elif following in path:
                raise InvalidInput(FIELD, "must not refer to itself without going deeper into the value")
            elif len(path) > LONGEST_CHAIN:
                raise InvalidInput(FIELD, f"must not refer on from part to part more than {LONGEST_CHAIN} times")
            else:
                path[following] = iter(parts[following].here)
    return list(depth)


def _measured(level: Sequence[Json]) -> tuple[int, int, list[Json]]:
    """How much there is, how many characters that expressions may be looked for in, and what is below."""
    size, characters, below = len(level), 0, list[Json]()
    for each in level:
        if isinstance(each, str):
            characters += len(each)
        elif isinstance(each, dict):
            below += each.values()
            characters += sum(map(len, each))
        elif isinstance(each, list):
            below += each
        elif isinstance(each, float | int):
            size += _length(each)
    return size, characters, below


def _length(number: float | int) -> int:
    """What a number adds to the work that is out of the ordinary."""
    if isinstance(number, float):
        return 0 if not number or 1e-30 < abs(number) < 1e30 else 50
    return 0 if -_HUGE < number < _HUGE else (number.bit_length() // 4) ** 2 // 1600 + 1


def _refuse_other_drafts(schema: Json) -> None:
    """Only known drafts, and one for the whole schema: what a validator does not know by name it would look for."""
    draft = _object(schema).get("$schema")
    if "$schema" in _object(schema) and not (isinstance(draft, str) and draft in DRAFTS):
        raise InvalidInput(FIELD, f"must have the name of a known draft as its $schema: {', '.join(_NEWEST)}")
    for part in _objects(schema):
        if isinstance(named := part.get("$schema"), str) and named != draft:
            raise InvalidInput(FIELD, "must not have a $schema but at its top")


def _refuse_other_places(schema: Json) -> None:
    """A part with an address of its own is another document, in which references lead elsewhere.

    References are looked at wherever they stand: a validator follows also those in parts that nothing leads to.
    """
    old = "draft-04" in str(_object(schema).get("$schema"))
    for part in _objects(schema):
        for word in _REFERENCES:
            if isinstance(target := part.get(word), str) and not target.startswith("#"):
                raise InvalidInput(FIELD, f"may refer only to itself, not to {target[:300]}")
        if part is not schema and any(isinstance(part.get(word), str) for word in ("$id", "id")[: 1 + old]):
            raise InvalidInput(FIELD, "must not have an $id but at its top")


def _anchors(schema: Json) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for part in _objects(schema):
        for word in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := part.get(word), str):
                found.setdefault(name, []).append(part)
    return found


def _objects(value: Json) -> Iterator[Mapping[str, Any]]:
    """Every object in a value, wherever it stands."""
    waiting: list[Json] = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)


def _object(value: Any) -> Mapping[str, Any]:
    return value if is_object(value) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if is_list(value) else ()
