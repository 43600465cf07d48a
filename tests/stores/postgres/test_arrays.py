"""Rows travel as columns of text, and arrive as they were sent."""

from typing import Any

import asyncpg
import pytest

from taskyard.stores.postgres.arrays import add_condition, to_columns

ROWS = "select * from unnest($1::bigint[], $2::text[], $3::bigint[], $4::boolean[]) as given (a, b, c, d)"
NUMBERED = "select * from unnest($1::text[], $2::text[]) with ordinality as given (a, b, place) order by place desc"
AWKWARD = ("", " ", "NULL", "null", '"', "\\", "a,b", "{}", '{"a"}', '","', "new\nline", "\t", "ü", "日本", "'", "\\n")

Rows = list[tuple[Any, ...]]


async def sent(connection: asyncpg.Connection, sql: str, rows: Rows) -> Rows:
    text, values = to_columns(sql).fill(rows)
    found = await connection.fetch(text, *values)
    return [tuple(row) for row in found]


@pytest.mark.parametrize(
    "rows",
    [
        [(1, "one", 2, True)],
        [(1, None, None, None)],
        [(1, "same", 7, True), (2, "same", 7, True)],
        [(1, None, 7, False), (2, None, None, False)],
        [(1, "x", None, True), (2, None, 7, False), (3, "x", None, True)],
        [(-(2**63), "x", 2**63 - 1, True), (0, "y", 0, False)],
    ],
)
async def test_rows_arrive_as_they_were_sent(mine: asyncpg.Connection, rows: Rows):
    assert await sent(mine, ROWS, rows) == rows


async def test_text_is_nothing_but_text(mine: asyncpg.Connection):
    apart: Rows = [(number, text, None, None) for number, text in enumerate(AWKWARD)]
    alike: list[Rows] = [[(1, text, 0, True), (2, text, 0, True)] for text in AWKWARD]
    lone: list[Rows] = [[(1, text, 0, True)] for text in AWKWARD]

    assert await sent(mine, ROWS, apart) == apart
    assert [await sent(mine, ROWS, rows) for rows in alike] == alike
    assert [await sent(mine, ROWS, rows) for rows in lone] == lone


async def test_rows_keep_the_order_they_were_given_in(mine: asyncpg.Connection):
    assert await sent(mine, NUMBERED, [("x", "y"), ("z", "y")]) == [("z", "y", 2), ("x", "y", 1)]
    assert await sent(mine, NUMBERED, [("x", "y")]) == [("x", "y", 1)]


async def test_a_condition_leaves_out_all_rows(mine: asyncpg.Connection):
    for rows in ([(1, "one", 2, True)], [(1, "one", 2, True), (2, "two", 3, False)]):
        text, values = to_columns(ROWS).fill(rows)

        assert len(await mine.fetch(add_condition("1 = 1", text), *values)) == len(rows)
        assert await mine.fetch(add_condition("1 = 2", text), *values) == []


def test_what_all_rows_have_in_common_is_sent_once():
    rows = [(1, "same", None, True), (2, "same", None, False), (3, "same", None, True)]

    assert to_columns(ROWS).fill(rows)[1] == ["{1,2,3}", "{}", "same", "{}", None, "{1,0,1}", None]
    assert to_columns(ROWS).fill(rows[:1])[1] == ["1", "same", None, "1"]
