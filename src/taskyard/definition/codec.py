"""A definition as text: how every store keeps it.

Sparse: what is as usual is left out, so a plain task costs few bytes. What counts as usual is part of the format:
changing a default of `Definition` needs a new FORMAT, or stored tasks would change with it. Nothing here checks a rule
of the domain; what was stored was sound.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby, pairwise
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from taskyard.core.errors import SchemaTooNew, UnknownField
from taskyard.core.json_value import value_of
from taskyard.core.named_rows import new_row
from taskyard.core.retry import RetryPolicy, Strategy
from taskyard.core.task import Definition, ServiceTier, TaskId, Validation, common_fields
from taskyard.core.units import Micros

FORMAT = 1

_ALWAYS = object()  # equal to no value: such a field is never left out
_DEFAULTS = Definition._field_defaults | {"dag_id": None}
_TUPLES = frozenset(name for name, usual in _DEFAULTS.items() if usual == ())
_COMMON = common_fields(Definition._make(Definition._fields))  # the names of what many have in common
_USUAL = {name: _DEFAULTS.get(name, _ALWAYS) for name in Definition._fields}
_OWN = [0, *map(Definition._fields.index, ("created_at", "payload", "depends_on")), len(Definition._fields)]
_BETWEEN = [range(*ends) for ends in pairwise(_OWN)]
_NO_PAYLOAD = _DEFAULTS["payload"]
_PLACES = {name: place for place, name in enumerate(Definition._fields)}
_ROW = tuple(_DEFAULTS.get(name) for name in Definition._fields)
_RETRY = ',"retry":'  # in a text it would stand with its quotation marks escaped
_USUAL_POLICY = Definition._field_defaults["retry"]
_to_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def encode_definition(definition: Definition) -> str:
    """The same definition always gives the same text."""
    (text,) = encode_definitions([definition])
    return text


class Heading(NamedTuple):
    """The fields that a task's row has too. A store that reads both together may leave them out of the text.

    The time is not always that of the row: a task that judges another has that one's time, by which it ages.
    """

    id: TaskId
    workspace: str
    type: str
    created_at: Micros


_HEADING = tuple(_PLACES[name] for name in Heading._fields)


def encode_definitions(
    definitions: Iterable[Definition], *, row_times: Iterable[Micros | None] | None = None
) -> Iterator[str]:
    """Each as text. What many have in common is put together once.

    Without its heading, where it is given when each row says that its task was put in; None: that is not known.
    """
    with_heading = row_times is None
    times = iter(row_times or ())
    for common, run in groupby(definitions, common_fields):
        before, between, behind, after = _around_its_own(common, with_heading)
        for definition in run:
            prompt = f',"prompt":{encode_basestring(definition.prompt)}' if definition.prompt else ""
            payload = "" if definition.payload == _NO_PAYLOAD else f',"payload":{encode_basestring(definition.payload)}'
            depends_on = f',"depends_on":{_to_text(definition.depends_on)}' if definition.depends_on else ""
            trace = "" if definition.trace is None else f',"trace":{encode_basestring(definition.trace)}'
            named = f',"id":{encode_basestring(definition.id)}' if with_heading else ""
            is_dated = with_heading or next(times) != definition.created_at
            dated = f',"created_at":{definition.created_at}' if is_dated else ""
            yield f'{{"v":{FORMAT}{named}{before}{dated}{between}{prompt}{payload}{behind}{depends_on}{trace}{after}'


# Many that are alike come one by one too; but what they have in common may be large.
@lru_cache(maxsize=16)
def _around_its_own(common: tuple[Any, ...], with_heading: bool) -> tuple[str, ...]:
    """What stands between what is each definition's own, and behind it. A policy that is not the usual one is last."""
    values = dict(zip(_COMMON, common, strict=True))
    policy = values.pop("retry")
    if not with_heading:
        del values["workspace"], values["type"]
    parts = {
        _PLACES[name]: f',"{name}":{_value_text(value)}' for name, value in values.items() if value != _USUAL[name]
    }
    around = ["".join(text for place, text in parts.items() if place in between) for between in _BETWEEN]
    last = "" if policy == _USUAL_POLICY else f"{_RETRY}{_policy_text(policy)}"
    return *around[:-1], f"{around[-1]}{last}}}"


def _value_text(value: object) -> str:
    if type(value) is str:
        return encode_basestring(value)
    return str(value) if type(value) is int else _to_text(value)


def decode_definition(text: str, heading: Heading | None = None) -> Definition:
    """Read a definition. One that was stored without its heading gets it from its row."""
    # The policy stands last, and is nearly always one that was read before: then its text need not be.
    before, found, policy = text.rpartition(_RETRY)
    body: dict[str, Any] = value_of(before + "}" if found else text)
    stored = body.pop("v")
    if stored != FORMAT:
        raise SchemaTooNew(stored=stored, known=FORMAT)
    row = [*_ROW]
    if heading is not None:  # where the text has a time, that one counts
        for place, value in zip(_HEADING, heading, strict=True):
            row[place] = value
    try:
        for name, value in body.items():
            row[_PLACES[name]] = tuple(value) if name in _TUPLES else value
    except KeyError as unknown:
        raise UnknownField(str(unknown.args[0])) from None
    if "validation" in body:
        row[_PLACES["validation"]] = Validation(body["validation"])
    if "service" in body:
        row[_PLACES["service"]] = ServiceTier(body["service"])
    if found:
        row[_PLACES["retry"]] = _policy(policy[:-1])
    return new_row(Definition, row)


# Few policies are in use at a time, and each is used by many tasks.
@lru_cache(maxsize=256)
def _policy_text(policy: RetryPolicy) -> str:
    return _to_text(
        (
            policy.strategy,
            policy.initial_delay,
            policy.multiplier,
            policy.max_delay,
            policy.jitter,
            sorted(policy.retry_on),
            sorted(policy.no_retry_on),
        )
    )


@lru_cache(maxsize=256)
def _policy(text: str) -> RetryPolicy:
    strategy, initial_delay, multiplier, max_delay, jitter, retry_on, no_retry_on = value_of(text)
    return RetryPolicy(
        strategy=Strategy(strategy),
        initial_delay=initial_delay,
        multiplier=multiplier,
        max_delay=max_delay,
        jitter=jitter,
        retry_on=frozenset(retry_on),
        no_retry_on=frozenset(no_retry_on),
    )
