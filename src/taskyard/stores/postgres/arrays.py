"""How many rows travel as the values of one statement: column by column, each as a text.

The driver looks at every element of a list several times before it is sent, which was half of what a batch cost this
process; a text it sends as it is. And most columns of a batch are alike in all rows: what they have in common is sent
once, and the server reads it once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_ROWS = re.compile(r"unnest\(\s*(\$[^()]*?)\s*\)(\s+with ordinality)?\s+as (\w+) \(([^()]*)\)")
_GIVEN = re.compile(r" as given \([^()]*\)")
_ARRAY = re.compile(r"\$\d+::(\w+)\[\]")
_number = int.__repr__  # of every kind of whole number, truth values included


class Columns(NamedTuple):
    """A statement whose rows are given as columns, and the types of those."""

    sql: str
    kinds: Sequence[str]

    def values(self, columns: Iterable[Sequence[Any]]) -> list[str | None]:
        """The first column says how many rows there are; of the others what is in it, or else what is common to all."""
        texts: list[str | None] = []
        for kind, column in zip(self.kinds, columns, strict=True):
            if not texts:
                texts.append(_array(kind, column))
            elif _is_alike(column):
                texts += ("{}", None if column[0] is None else _one(kind, column[0]))
            else:
                texts += (_array(kind, column), None)
        return texts


def by_columns(sql: str) -> Columns:
    """The statement, which names its rows `unnest($1::TYPE[], …) as NAME (…)`, for columns as they are sent."""
    found = _ROWS.search(sql)
    assert found is not None, f"this statement has no rows: {sql}"
    arrays, ordinality, name, names = found.groups()
    kinds = _ARRAY.findall(arrays)
    columns = [each.strip() for each in names.split(",")]
    first, *rest = columns[: len(kinds)]
    shared = [f"coalesce({each}, ${2 * place + 3}::text::{kinds[place + 1]})" for place, each in enumerate(rest)]
    texts = ["$1", *(f"${2 * place + 2}" for place in range(len(rest)))]
    given = ", ".join(f"{text}::text::{kind}[]" for text, kind in zip(texts, kinds, strict=True))
    each_row = ", ".join((first, *shared, *columns[len(kinds) :]))
    # What is common to all rows stands in an array that has no elements: such an array is filled up with nulls.
    rows = f"(select {each_row} from unnest({given}){ordinality or ''} as given ({names})) as {name} ({names})"
    return Columns(sql[: found.start()] + rows + sql[found.end() :], kinds)


def only_where(condition: str, sql: str) -> str:
    """The same statement of columns, with no rows at all where it is not so."""
    found = _GIVEN.search(sql)
    assert found is not None, f"this statement has no columns: {sql}"
    return f"{sql[: found.end()]} where {condition}{sql[found.end() :]}"


def _is_alike(column: Sequence[Any]) -> bool:
    return column[0] == column[-1] and column.count(column[0]) == len(column)


def _one(kind: str, value: Any) -> str:
    return str(value) if kind == "text" else _number(value)


def _array(kind: str, values: Sequence[Any]) -> str:
    """The values as PostgreSQL writes an array."""
    if kind != "text":
        texts = map(_number, values) if None not in values else ["NULL" if v is None else _number(v) for v in values]
    elif None in values:
        texts = ["NULL" if value is None else _quoted(value) for value in values]
    else:
        joined = '","'.join(values)
        if "\\" not in joined and joined.count('"') == 2 * (len(values) - 1):
            return f'{{"{joined}"}}'
        texts = map(_quoted, values)
    return f"{{{','.join(texts)}}}"


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
