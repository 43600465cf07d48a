"""Answers are described once: what a view holds is written, shown in the OpenAPI document, and read back the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple, NewType

import pytest

from taskyard.api import openapi
from taskyard.core.errors import LeaseLost, TaskyardError
from taskyard.core.json_value import Json
from taskyard.core.task import Status, TaskId
from taskyard.core.units import Micros, MicroUsd
from taskyard.definition.document import read, write
from taskyard.definition.error_view import Refused
from taskyard.definition.view import CLOSED, FLAT, REST, About, Hidden, Length, Money, Named, Time, shown, view
from taskyard.features.attempts.views import Receipt
from taskyard.server.application import GROUPS
from tests.api.samples import sample_of

Id = NewType("Id", str)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    x: int
    y: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    owner: Annotated[str, Named("owned_by")]
    secret: Annotated[str, Hidden("")]
    nonces: Annotated[Mapping[str, int], Hidden()] = field(default_factory=dict[str, int])


@view
class Everything:
    id: Id
    colour: Colour
    closed: Annotated[Colour | None, CLOSED, About("One of two.")]
    at: Time
    until: Time | None
    cost: Money
    budget: Money | None
    wait: Length
    window: Annotated[Length, Named("span_sec")]
    point: Point
    points: tuple[Point, ...]
    maybe: Point | None
    colours: frozenset[Colour]
    counts: Mapping[Colour, int]
    by_name: dict[str, Point]
    choice: Literal["a", "b"]
    anything: Json
    refused: Mapping[Id, Refused]
    inner: Annotated[Inner, FLAT]
    facts: Annotated[dict[str, Json], REST]

    @shown
    def is_red(self) -> bool:
        return self.colour is Colour.RED


DOCUMENT = {
    "id": "one",
    "colour": "red",
    "closed": None,
    "at": "1970-01-01T00:00:01.000000Z",
    "until": None,
    "cost_usd": "0.25",
    "budget_usd": "-1",
    "wait_sec": 1.5,
    "span_sec": 60.0,
    "point": {"x": 1, "y": None},
    "points": [{"x": 1, "y": 2}],
    "maybe": None,
    "colours": ["blue", "red"],
    "counts": {"blue": 3},
    "by_name": {"p": {"x": 5, "y": None}},
    "choice": "b",
    "anything": {"deep": [1, {"er": None}]},
    "owned_by": "me",
    "more": "facts",
    "is_red": True,
}


def everything(refused: Mapping[Id, TaskyardError]) -> Everything:
    return Everything(
        id=Id("one"),
        colour=Colour.RED,
        closed=None,
        at=Micros(1_000_000),
        until=None,
        cost=MicroUsd(250_000),
        budget=MicroUsd(-1_000_000),
        wait=Micros(1_500_000),
        window=Micros(60_000_000),
        point=Point(1),
        points=(Point(1, 2),),
        maybe=None,
        colours=frozenset(Colour),
        counts={Colour.BLUE: 3},
        by_name={"p": Point(5)},
        choice="b",
        anything={"deep": [1, {"er": None}]},
        refused=refused,
        inner=Inner(owner="me", secret=""),
        facts={"more": "facts"},
    )


def test_every_kind_of_field_is_written_and_read_back():
    written = write(everything({}))

    assert written == {**DOCUMENT, "refused": {}}
    assert read(Everything, written) == everything({})


def test_an_error_among_the_fields_is_the_same_error_beyond_the_wire():
    lost = LeaseLost("task_1")
    found = read(Everything, write(everything({Id("one"): lost}))).refused[Id("one")]

    assert (type(found), found.facts, str(found)) == (LeaseLost, lost.facts, str(lost))


def test_what_is_hidden_is_not_written():
    assert "secret" not in str(write(Inner(owner="me", secret="s3cret", nonces={"s3cret": 1})))


def test_a_field_that_an_older_server_does_not_send_has_its_default():
    assert read(Point, {"x": 1}) == Point(1)
    with pytest.raises(KeyError):
        read(Point, {"y": 1})


def test_what_a_newer_server_sends_beside_is_ignored():
    assert read(Point, {"x": 1, "y": 2, "z": 3}) == Point(1, 2)


def test_lists_are_written_and_read_too():
    points = [Point(1), Point(2, 3)]

    assert read(list[Point], write(points)) == points


@view
class Ambiguous:
    either: Point | Inner


@view
class Wild:
    what: object | Receipt


@pytest.mark.parametrize("kind", [Ambiguous, Wild])
def test_a_union_with_a_view_is_refused_when_it_is_compiled(kind: type):
    with pytest.raises(TypeError, match="no document can be made of"):
        read(kind, {"either": {"x": 1}, "what": {}})


# Every view of the server


def views() -> list[type]:
    assert all(group.routes for group in GROUPS)  # which have said by then what they answer with
    return sorted(openapi.MODELS, key=lambda kind: (kind.__module__, kind.__name__))


@pytest.mark.parametrize("empty", [False, True], ids=["full", "empty"])
@pytest.mark.parametrize("kind", views(), ids=lambda kind: kind.__name__)
def test_every_view_is_read_back_as_it_was_written(kind: Any, empty: bool):
    value = sample_of(kind, empty=empty)

    again = read(kind, write(value))

    assert write(again) == write(value)
    assert type(again) is type(value)


@pytest.mark.parametrize("kind", views(), ids=lambda kind: kind.__name__)
def test_every_view_is_written_as_the_openapi_document_shows_it(kind: Any):
    shape = openapi.model(kind)
    written = write(sample_of(kind))

    assert not shape.model_fields.keys() - written.keys()
    assert shape.model_validate(written, strict=True)


def test_a_receipt_is_written_as_ever():
    receipt = Receipt(TaskId("task_1"), Status.RETRYING, 3, 1, Micros(5_000_000))

    assert write(receipt) == {
        "task_id": "task_1",
        "status": "retrying",
        "version": 3,
        "failures": 1,
        "wake_at": "1970-01-01T00:00:05.000000Z",
    }
