"""JSON goes in and comes back the same, or is refused with the field and the rule."""

import json
import subprocess
import sys
from collections import OrderedDict
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import (
    MOST_VALUES,
    canonical,
    check_values,
    compact,
    decode,
    encode,
    payload_key,
    with_whole_numbers,
)
from tests.core.hostile import circle, nested

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
LONG = " " * 70_000  # so much that another thread gets a turn while it is decoded
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=20,
)


class Colour(StrEnum):
    RED = "red"


class Number(IntEnum):
    ONE = 1


def encoded(value: object, max_bytes: int = 1 << 20) -> str:
    return encode(value, field="payload", max_bytes=max_bytes)


@given(JSON)
def test_what_is_encoded_comes_back_the_same(value: Any):
    text = encoded(value)
    assert decode(text) == value
    assert encoded(decode(text)) == text
    text.encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, '{"b":1,"a":[true,null]}'),
        ("€ 😀", '"€ 😀"'),
        ((1, 2), "[1,2]"),
        (OrderedDict[str, int](a=1), '{"a":1}'),
        ({Colour.RED: Number.ONE}, '{"red":1}'),
        ("\\u0000", '"\\\\u0000"'),  # spelt out with a backslash, it is six ordinary characters
        (0, "0"),
        (None, "null"),
        (-0.0, "-0.0"),
        (2**64, "18446744073709551616"),
    ],
)
def test_the_text_is_compact_and_keeps_the_order(value: object, text: str):
    assert encoded(value) == text


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "NaN"),
        ({"a": [float("inf")]}, "infinity"),
        ([10**4300], "4300 digits"),
        ("\0", "NUL"),
        ({"a": ["\\u0000", "\0"]}, "NUL"),
        ({"\0": 1}, "NUL"),
        ([{"a": {"\0": 1}}], "NUL"),
        (("\0",), "NUL"),
        ("\ud800", "surrogate"),
        ({"\udc00": 1}, "surrogate"),
        ("\ud83d\ude00", "surrogate"),  # a pair in two halves is no character either
        ({1: 1}, "keys"),
        ({True: 1}, "keys"),
        ({None: 1}, "keys"),
        ({"a": [{"b": ({1.5: 1},)}]}, "keys"),
        ({("a",): 1}, "keys"),
        (OrderedDict([(1, 1)]), "keys"),
        ({1, 2}, "set"),
        (object(), "object"),
        ([b"x"], "bytes"),
        (nested(65), "deeper than 64"),
        ((nested(64),), "deeper than 64"),
        ({"a": nested(64)}, "deeper than 64"),
        (nested(100_000), "deeper than 64"),
        (circle(), "deeper than 64"),
    ],
)
def test_what_cannot_be_stored_everywhere_is_refused(value: object, words: str):
    with pytest.raises(InvalidInput) as refused:
        encoded(value)
    assert refused.value.facts["field"] == "payload"
    assert words in str(refused.value.facts["rule"])


def test_64_levels_are_allowed():
    assert encoded(nested(64)) == "[" * 64 + "]" * 64
    assert decode("[" * 64 + "]" * 64) == nested(64)


def test_another_depth_can_be_asked_for():
    assert encode([[1]], field="a", max_bytes=9, max_depth=2) == "[[1]]"
    with pytest.raises(InvalidInput, match="deeper than 1"):
        encode([[1]], field="a", max_bytes=9, max_depth=1)
    with pytest.raises(InvalidInput, match="deeper than 1"):
        decode("[[1]]", max_depth=1)


def test_size_is_counted_in_bytes_of_utf_8():
    assert encoded("x" * 8, max_bytes=10) == '"xxxxxxxx"'
    assert encoded("€€", max_bytes=8) == '"€€"'
    with pytest.raises(InvalidInput, match="at most 9 bytes as JSON, and has 10"):
        encoded("x" * 8, max_bytes=9)
    with pytest.raises(InvalidInput, match="at most 7 bytes as JSON, and has 8"):
        encoded("€€", max_bytes=7)


@given(JSON)
def test_canonical_text_does_not_depend_on_the_order_of_keys(value: Any):
    assert canonical(value) == canonical(turned(value))
    assert json.loads(canonical(value)) == value


def turned(value: Any) -> Any:
    match value:
        case {**members}:
            return {key: turned(members[key]) for key in reversed(members)}
        case [*items]:
            return list(map(turned, items))
        case _:
            return value


def test_the_yards_own_values_are_written_compactly():
    assert compact({"b": "ü", "a": [1]}) == '{"b":"ü","a":[1]}'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a":1,"a":1}', "twice"),
        ('[{"b":{"a":1,"\\u0061":2}}]', "twice"),
        ("NaN", "NaN"),
        ("[-Infinity]", "infinity"),
        ("1e999", "infinity"),
        ("-1e999", "infinity"),
        ("9" * 5000, "digits"),
        ('"\\u0000"', "NUL"),
        ('{"\\u0000":1}', "NUL"),
        ('"\\ud800"', "surrogate"),
        ('{"\\udc00":1}', "surrogate"),
        ('"\ud800"', "surrogate"),
        (b'"\xff"', "UTF-8"),
        (b'"\xed\xa0\x80"', "UTF-8"),
        ("", "must be JSON"),
        ("{", "must be JSON"),
        ("{'a':1}", "must be JSON"),
        ("[1,]", "must be JSON"),
        ("[1]x", "must be JSON"),
        ('"a\nb"', "must be JSON"),
        ("01", "must be JSON"),
        ("[" * 65 + "]" * 65, "deeper than 64"),
        ("[" * 100_000, "deeper than 64"),
        ('{"a":' * 100_000, "deeper than 64"),
    ],
)
@pytest.mark.parametrize("is_long", [False, True])
def test_text_from_outside_is_read_strictly(text: str | bytes, words: str, is_long: bool):
    given = LONG + text if isinstance(text, str) else LONG.encode() + text
    with pytest.raises(InvalidInput) as refused:
        decode(given if is_long else text, field="the body")
    assert refused.value.facts["field"] == "the body"
    assert words in str(refused.value.facts["rule"])
    str(refused.value).encode()


@given(JSON)
def test_a_long_text_means_what_a_short_one_does(value: Any):
    text = json.dumps(value)

    assert decode(f"{LONG}{text}{LONG}") == decode(text)
    assert decode(f'{{"a": {LONG}{text} , "b": [ {text},{text} ]}}') == {"a": value, "b": [value, value]}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[]", 2),  # what is empty counts twice: it takes a closer look to tell
        ("[0]", 2),
        ("[0,1,2]", 4),
        ('{"a":{"b":[1,2]}}', 5),
        ('[",,,[[[{{{"]', 2),
        ('["\\",", 1]', 3),
        ('["\\\\",1,2]', 4),
        ('["\\\\\\",", 1]', 3),
        ('{",":",","[":"{"}', 3),
        ("[" + "0," * 70_000 + "0]", 70_002),
        ("[" + '",",' * 70_000 + "0]", 70_002),
    ],
)
def test_values_are_counted_without_decoding(text: str, values: int):
    check_values(text.encode(), "body", values)
    with pytest.raises(InvalidInput, match=f"at most {values - 1} values"):
        check_values(text.encode(), "body", values - 1)


def test_a_value_has_a_most_of_values_too():
    assert encoded([0] * (MOST_VALUES - 2), max_bytes=1 << 20)
    with pytest.raises(InvalidInput, match="at most 200000 values"):
        encoded([0] * MOST_VALUES, max_bytes=1 << 20)


def test_bytes_and_pairs_of_surrogates_are_read():
    assert decode('{"a":"€"}'.encode()) == {"a": "€"}
    assert decode('"\\ud83d\\ude00"') == "😀"


def test_the_key_of_a_payload_is_the_hash_of_its_canonical_text():
    # printf '{"a":[1,"ü"],"b":null}' | sha256sum
    key = "0315e7da7dad15415af50795b6eea22b22929c6804ff4aad3ebbc45ace4a1aa7"
    assert payload_key({"b": None, "a": [1, "ü"]}, prompt="p", type="t") == key
    assert payload_key({"a": [1, "ü"], "b": None}, prompt="another", type="other") == key


@pytest.mark.parametrize("empty", [None, {}, [], ""])
def test_an_empty_payload_is_distinguished_by_prompt_and_type(empty: Any):
    key = payload_key(empty, prompt="p", type="t")
    assert key == payload_key({}, prompt="p", type="t")
    assert key != payload_key(empty, prompt="q", type="t")
    assert key != payload_key(empty, prompt="p", type="u")


@pytest.mark.parametrize("payload", [0, False, 0.0, [None], {"": None}, " "])
def test_a_payload_that_is_only_false_is_not_empty(payload: Any):
    assert payload_key(payload, prompt="p", type="t") == payload_key(payload, prompt="q", type="u")


def test_a_key_is_the_same_in_every_process():
    program = (
        "from taskyard.core.json_value import payload_key;"
        "print(payload_key({k: {k: [k]} for k in 'zyxabc'}, prompt='', type=''))"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert keys == {payload_key({k: {k: [k]} for k in "abcxyz"}, prompt="", type="") + "\n"}


def test_whole_numbers_come_back_from_floating_point_where_that_is_exact():
    floats: Any = {"n": 3.0, "list": [0.0, -1.0, 0.5, True, None, "1.0", [2.0]], "large": 2.0**53, "larger": 2.0**54}

    found = with_whole_numbers(floats)

    assert compact(found) == (
        '{"n":3,"list":[0,-1,0.5,true,null,"1.0",[2]],"large":9007199254740992,"larger":1.8014398509481984e+16}'
    )
