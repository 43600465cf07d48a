"""Requests made up from the OpenAPI document, as it allows them and as it does not.

What is made up knows nothing that exists, and so would hardly get further than "not found": `varied` puts names of
what exists in its place, and here and there something that nobody should send.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from contextlib import suppress
from copy import deepcopy
from itertools import product
from random import Random
from string import Formatter
from typing import Any, NamedTuple, cast
from urllib.parse import quote, unquote, urlencode

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core import NotSet

from tests.core.hostile import nested

Tree = Any  # of JSON
Known = Mapping[str, Sequence[str]]  # names of what exists, by the fields that hold them

# Values that no field should be undone by, whatever its type.
HOSTILE: tuple[Tree, ...] = (
    None, True, 0, -1, 1.5, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**400, 1e308, -0.0,
    "", " ", "a\0b", "\ud800", "\u202e", "x" * 300, "é" * 5000, "0" * 400, "../../etc/passwd", "%00", "' or 1=1 --",
    "2026-11-15T02:37:00Z", "-1", "1e999", [], [None], {}, {"": {}}, nested(66), ["x"] * 1001,
)  # fmt: skip


class Generated(NamedTuple):
    """A request. Its names and its query are not encoded yet."""

    method: str
    path: str  # as in the document
    names: dict[str, str]
    query: dict[str, Any]
    headers: dict[str, str]
    body: Tree  # bytes are sent as they are, anything else as JSON
    has_body: bool

    @property
    def url(self) -> str:
        path = self.path.format(**{name: quote(value, safe="", errors="replace") for name, value in self.names.items()})
        query = urlencode({name: _spelled(value) for name, value in self.query.items()}, doseq=True, errors="replace")
        return (f"{path}?{query}" if query else path)[:60_000]  # the client sends none that are much longer

    @property
    def content(self) -> bytes | None:
        if not self.has_body:
            return None
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()

    def __str__(self) -> str:
        return f"{self.method} {self.url} {(self.content or b'').decode(errors='replace')}"


def plain(method: str, path: str, body: Tree = None, **query: Any) -> Generated:
    """One that is good once it is about something that exists."""
    names = {name: "" for _, name, _, _ in Formatter().parse(path) if name}
    return Generated(method, path, names, query, {}, body, has_body=body is not None)


class Imagination:
    """Makes up requests of every operation, as the document says and as it does not, when they are first wanted.

    Of a few hundred requests, many kinds get none, and to make one up takes longer than to answer it.
    """

    def __init__(self, document: Mapping[str, Any], of_each: int) -> None:
        schema: Any = schemathesis.openapi.from_dict(dict(document))
        operations: list[Any] = [result.ok() for result in schema.get_all_operations()]
        self._kinds = list(product(operations, (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)))
        self._of_each = of_each
        self._made_up: dict[int, list[Generated]] = {}

    def choose(self, dice: Random) -> Generated:
        while not (found := self._of_kind(dice.randrange(len(self._kinds)))):
            pass
        return dice.choice(found)

    def _of_kind(self, number: int) -> list[Generated]:
        if number not in self._made_up:
            operation, mode = self._kinds[number]
            self._made_up[number] = _cases(operation.as_strategy(generation_mode=mode), self._of_each)
        return self._made_up[number]


def _cases(strategy: Any, number: int) -> list[Generated]:
    """Nothing where an operation takes nothing: it cannot be asked wrongly."""
    found: list[Generated] = []

    @seed(number)
    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large),
    )
    @given(strategy)
    def collect(case: Any) -> None:
        found.append(_read(case))

    with suppress(Unsatisfiable):
        collect()
    return found


def _read(case: Any) -> Generated:
    has_body = not isinstance(case.body, NotSet)
    names, headers = cast(dict[str, Any], case.path_parameters or {}), cast(dict[str, str], case.headers or {})
    return Generated(
        str(case.method).upper(),
        case.path,
        {name: unquote(str(value)) for name, value in names.items()},
        dict(case.query or {}),
        {name: value for name, value in headers.items() if name.lower() != "authorization"},
        case.body if has_body else None,
        has_body,
    )


def varied(request: Generated, known: Known, dice: Random) -> Generated:
    """The same request about what exists, with at most one thing in it that nobody should send."""
    names, query, body = dict(request.names), dict(request.query), deepcopy(request.body)
    for part in (names, query, *_objects(body)):
        _ground(part, known, dice)
    if "lease" in known and dice.random() < 0.8:
        _hold(names, body, known, dice)
    if dice.random() < 0.4:
        _spoil(names, query, body, dice)
    return request._replace(names=names, query=query, body=body)


def _objects(tree: Tree) -> list[MutableMapping[str, Any]]:
    """Every object in a tree."""
    if isinstance(tree, dict):
        members = cast(dict[str, Any], tree)
        return [members, *(found for each in members.values() for found in _objects(each))]
    if isinstance(tree, list):
        return [found for each in cast(list[Any], tree) for found in _objects(each)]
    return []


def _ground(part: MutableMapping[str, Any], known: Known, dice: Random) -> None:
    for name in list(part):
        if name in known and dice.random() < 0.8:
            chosen = dice.choice(known[name])
            part[name] = [chosen] if isinstance(part[name], list) else chosen


def _hold(names: dict[str, str], body: Tree, known: Known, dice: Random) -> None:
    """A lease goes with its own task."""
    for holder in _objects(body):
        if "lease" in holder:
            task_id, _, holder["lease"] = dice.choice(known["lease"]).partition(" ")
            if "task_id" in holder:
                holder["task_id"] = task_id
            elif "task_id" in names:
                names["task_id"] = task_id


def _spoil(names: dict[str, str], query: dict[str, Any], body: Tree, dice: Random) -> None:
    value = deepcopy(dice.choice(HOSTILE))
    places: list[MutableMapping[str, Any]] = [part for part in (query, *_objects(body)) if part]
    if names and dice.random() < 0.2:
        names[dice.choice(list(names))] = value if isinstance(value, str) and value else "%00"
    elif places:
        part = dice.choice(places)
        part[dice.choice([*part, "unheard-of"])] = value
    elif isinstance(body, MutableSequence):
        cast(list[Any], body).append(value)


def _spelled(value: Any) -> Any:
    return [str(each) for each in cast(list[Any], value)] if isinstance(value, list) else str(value)
