"""A row of the event log gives back its events, in order and with their numbers; what is removed from it is gone."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.changes import Event, StoredEvent
from taskyard.core.task import DagId, Status, TaskId, lone_dag
from taskyard.core.units import Micros
from taskyard.stores.shared import log_rows
from taskyard.stores.shared.log_rows import (
    Chunk,
    decode_ends,
    decode_row,
    event_number,
    keep_events,
    last_number_of,
    remember_rows,
    split_events,
    split_number,
)

TASKS = [None, *(TaskId(f"task_{number}") for number in range(3))]
DATA = ["", '{"waited":17}', '{"waited":1234,"by":"ü"}', '{"waited":12}', '"\\"\n']


@st.composite
def events(draw: st.DrawFn) -> Event:
    task_id = draw(st.sampled_from(TASKS))
    lone = [] if task_id is None else [lone_dag(task_id)]
    return Event(
        draw(st.sampled_from(["task.ready", "dag.completed"])),
        draw(st.sampled_from(["here", "there"])),
        task_id,
        draw(st.sampled_from([None, DagId("dag_7"), *lone])),
        Micros(draw(st.integers(0, 3))),
        draw(st.sampled_from([None, 1, 2])),
        draw(st.sampled_from([None, Status.READY, Status.COMPLETED])),
        draw(st.sampled_from([None, 0, 1])),
        draw(st.none() | st.sampled_from(DATA)),
    )


def decoded(number: int, chunk: Chunk) -> list[StoredEvent]:
    found = [stored for row in chunk.rows for stored in decode_row(number, row.workspace, row.body)]
    return sorted(found, key=lambda stored: stored.seq)


def an_event(number: int, *, data: str | None = None) -> Event:
    task_id = TaskId(f"task_{number}")
    return Event("task.ready", "here", task_id, lone_dag(task_id), Micros(number), 1, Status.READY, 0, data)


@given(st.lists(events(), min_size=1, max_size=12), st.integers(1, 2**43))
def test_the_events_of_a_commit_come_back_in_order_with_growing_numbers(given_events: list[Event], number: int):
    (chunk,) = split_events(given_events)

    found = decoded(number, chunk)

    assert [stored.event for stored in found] == given_events
    assert [split_number(stored.seq) for stored in found] == [(number, place) for place in range(len(found))]
    assert len(chunk.rows) == len({event.workspace for event in given_events})


@given(st.lists(events(), min_size=1, max_size=12), st.sets(st.sampled_from(TASKS)))
def test_events_that_are_removed_leave_the_others_at_their_numbers(given_events: list[Event], gone: set[TaskId | None]):
    (chunk,) = split_events(given_events)
    before = decoded(5, chunk)

    kept = [
        row
        for each in chunk.rows
        for row in keep_events(5, each.workspace, each.body, lambda one: one.task_id not in gone)
    ]

    assert decoded(5, Chunk((), kept)) == [stored for stored in before if stored.event.task_id not in gone]


@given(st.lists(events(), min_size=1, max_size=12), st.sets(st.sampled_from([*TASKS[1:], DagId("dag_7")])))
def test_what_is_read_of_a_row_without_its_events_agrees_with_them(given_events: list[Event], owners: set[str]):
    (chunk,) = split_events(given_events)

    for row in chunk.rows:
        stored = decode_row(5, row.workspace, row.body)
        ends = [(each.seq, each.event.task_id) for each in stored if each.event.status is Status.COMPLETED]
        of_owners = [
            each.seq
            for each in stored
            if (each.event.dag_id if each.event.task_id is None else each.event.task_id) in owners
        ]
        assert decode_ends(5, row.body) == [end for end in ends if end[1] is not None]
        assert last_number_of(5, row.body, owners) == max(of_owners, default=0)


@given(st.lists(events(), min_size=1, max_size=12))
def test_a_row_counts_whom_it_belongs_to(given_events: list[Event]):
    (chunk,) = split_events(given_events)

    for row in chunk.rows:
        told = [event for event in given_events if event.workspace == row.workspace]
        loose = [event for event in told if event.task_id is None and event.dag_id is None]
        owners = {event.task_id or event.dag_id for event in told} - {None}
        ends = [event for event in told if event.status is Status.COMPLETED]
        assert row[1:5] == (max(event.at for event in told), len(owners), len(ends), len(loose))


def test_a_long_commit_is_split_by_number_and_by_length():
    many = [an_event(number) for number in range(1_200)]
    assert [len(chunk.events) for chunk in split_events(many)] == [512, 512, 176]

    long = [an_event(number, data="x" * 20_000) for number in range(7)]
    assert [len(chunk.events) for chunk in split_events(long)] == [3, 3, 1]
    assert [event for chunk in split_events(long) for event in chunk.events] == long
    assert split_events([]) == []


def test_one_text_that_is_longer_than_a_chunk_has_a_row_of_its_own():
    long = [an_event(1), an_event(2, data="x" * 100_000), an_event(3)]

    assert [len(chunk.events) for chunk in split_events(long)] == [1, 1, 1]


def test_what_is_common_to_all_events_is_written_once():
    alike = [
        an_event(1)._replace(version=number, data=f'{{"waited":{number},"by":"a worker"}}') for number in range(50)
    ]
    (chunk,) = split_events(alike)
    body = chunk.rows[0].body

    assert [body.count(word) for word in ("task.ready", "task_1", "a worker", "waited")] == [1, 1, 1, 1]
    assert len(body) < 50 * 12


def test_numbers_grow_from_row_to_row():
    numbers = [event_number(number, place) for number in (1, 2, 9) for place in (0, 1, 1023)]

    assert all(one < other for one, other in pairwise(numbers))


def test_a_row_of_several_workspaces_says_of_each_event_which():
    body = '{"f":1,"n":2,"event":"agent.registered","workspace":["here","there"],"dag":null,"at":[1,2],"place":[3,7]}'

    found = decode_row(4, None, body)

    assert [(stored.seq, stored.event.workspace) for stored in found] == [
        (4 * 1024 + 3, "here"),
        (4 * 1024 + 7, "there"),
    ]
    assert [stored.event.dag_id for stored in found] == [None, None]
    assert [row.workspace for row in keep_events(4, None, body, lambda _: True)] == ["here", "there"]


def test_a_row_of_a_later_release_is_refused():
    with pytest.raises(ValueError, match="format 2"):
        decode_row(1, "here", '{"f":2}')


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are parsed from here on."""
    texts: list[str] = []
    parse = json.loads

    def loads(text: str) -> object:
        texts.append(text)
        return parse(text)

    monkeypatch.setattr(json, "loads", loads)
    return texts


def remembered(name: str, number: int = 3) -> Chunk:
    """Rows with this name in their texts, so that no other test has them."""
    (chunk,) = split_events([an_event(serial, data=f'{{"by":"{name}"}}') for serial in range(number)])
    remember_rows(chunk)
    return chunk


@given(st.lists(events(), min_size=1, max_size=12), st.integers(1, 2**43))
def test_rows_that_were_remembered_give_the_events_that_their_texts_do(given_events: list[Event], number: int):
    (chunk,) = split_events(given_events)
    read = decoded(number, chunk)
    remember_rows(chunk)
    decode_row.cache_clear()

    assert decoded(number, chunk) == read


def test_a_row_that_was_remembered_is_not_parsed_whatever_its_number(parsed: list[str]):
    chunk = remembered("ada")

    assert [stored.event for stored in decoded(7, chunk) + decoded(8, chunk)] == 2 * list(chunk.events)
    assert parsed == []


def test_a_row_that_was_written_again_is_parsed(parsed: list[str]):
    """What was removed from it, by whichever process, is gone."""
    chunk = remembered("bob")
    left = keep_events(7, "here", chunk.rows[0].body, lambda event: event.task_id != "task_1")

    assert [stored.event.task_id for stored in decoded(7, Chunk((), left))] == ["task_0", "task_2"]
    assert parsed == [left[0].body]


def test_only_so_much_is_remembered(parsed: list[str], monkeypatch: pytest.MonkeyPatch):
    first = remembered("eve")
    monkeypatch.setattr(log_rows, "MOST_REMEMBERED", 2 * len(first.rows[0].body))
    chunks = [remembered(name) for name in ("fay", "gil")]

    found = [decoded(7, chunk) for chunk in (first, *chunks)]

    assert [[stored.event for stored in each] for each in found] == [list(each.events) for each in (first, *chunks)]
    assert parsed == [first.rows[0].body]
