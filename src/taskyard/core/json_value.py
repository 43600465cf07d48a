"""JSON that every store gives back as it was, or refuses alike.

What one of them cannot hold is refused here, for all: NaN and infinities, NUL, lone surrogates, keys that are no text,
a key twice, what is nested too deep or too large. Nothing here knows what the JSON is for.
"""

import json
import json.decoder
import re
from _json import make_encoder, make_scanner
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Any, TypeGuard, cast

from taskyard.core.errors import InvalidInput

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

DEEPEST = 64
MOST_VALUES = 200_000  # of one payload, output or other value: what has more belongs in an artifact

NO_NUL = "must not contain a NUL character"
NO_SURROGATE = "must not contain a lone surrogate, which is no character"
TEXT_KEYS = "must have only text as keys of its objects"
NO_SUCH_NUMBER = "must not contain NaN, an infinity, or a whole number of more than 4300 digits"

_NESTED = (dict, list, tuple)
_ESCAPED = re.compile(r"\\u(?:0000|d[89a-f])|[\ud800-\udfff]", re.IGNORECASE)
_NO_MARKS = bytes(set(range(256)) - set(b'",[{'))
_SLICE = 1 << 16
_LONG = 1 << 16  # characters from which on others get a turn while a text is decoded
_EXACT = 1 << 53  # up to which floating-point numbers have every whole one
_EMPTY: tuple[Json, ...] = ({}, [], "")


def is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether it has members by name. One whose name is no text is refused later, like one that no rule knows."""
    return isinstance(value, Mapping)


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether it is a mapping as JSON has it."""
    return isinstance(value, dict)


def object_of(value: Json) -> dict[str, Json]:
    """A value that is an object wherever it is read, such as the payload of an event."""
    if not isinstance(value, dict):
        raise TypeError(f"an object is expected here, not {value!r}")
    return value


def is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Whether JSON would have it as a list: a tuple too, and no text."""
    return isinstance(value, list | tuple)


def with_whole_numbers(value: Json) -> Json:
    """The value as its JSON meant it, where a format on the way knows floating-point numbers only: 3, and not 3.0.

    Above 2^53 such a number stands for several whole ones, and stays as it is.
    """
    match value:
        case float() if value.is_integer() and abs(value) <= _EXACT:
            return int(value)
        case list():
            return [with_whole_numbers(each) for each in value]
        case dict():
            return {name: with_whole_numbers(each) for name, each in value.items()}
        case _:
            return value


def encode(value: object, *, field: str, max_bytes: int, max_depth: int = DEEPEST) -> str:
    """The JSON text of `value`, compact; InvalidInput names `field` and the rule that the value breaks.

    Ordinary values cost one pass of the C encoder and one over their objects' keys, which that encoder would convert.
    """
    _check_shape(value, field, max_depth)
    try:
        text = compact(value)
    except TypeError as error:
        raise InvalidInput(field, str(error)) from None
    except ValueError:
        raise InvalidInput(field, NO_SUCH_NUMBER) from None
    # The text also has this where a string spells it out with a backslash, which is harmless.
    if "\\u0000" in text and any("\0" in each for each in _texts(value)):
        raise InvalidInput(field, NO_NUL)
    if (size := size_of(text, field)) > max_bytes:
        raise InvalidInput(field, f"must be at most {max_bytes} bytes as JSON, and has {size}")
    if size > 2 * MOST_VALUES:  # each takes two bytes at least
        check_values(text.encode(), field, MOST_VALUES)
    return text


def sound_object(value: object, *, field: str, max_bytes: int, max_depth: int = DEEPEST) -> dict[str, Json]:
    """A copy of an object that somebody gave, which `encode` lets pass; InvalidInput says why it does not."""
    if not isinstance(value, Mapping):
        raise InvalidInput(field, "must be an object")
    given = dict(cast(Mapping[str, Json], value))  # of nothing else: `encode` looks at every value
    encode(given, field=field, max_bytes=max_bytes, max_depth=max_depth)
    return given


def compact(value: object) -> str:
    """The JSON text of a value that is known to be sound, because the yard made it or `encode` let it pass."""
    return "".join(_COMPACT(value, 0))


def canonical(value: object) -> str:
    """The same text for equal values, whatever the order of their keys: for hashing what is known to be sound."""
    return "".join(_SORTED(value, 0))


def decode(text: str | bytes, *, field: str = "body", max_depth: int = DEEPEST) -> Json:
    """The value of JSON text from outside; InvalidInput names `field` and the rule that the text breaks."""
    try:
        source = text.decode() if isinstance(text, bytes) else text
        value = _decoded(source)
    except UnicodeDecodeError:
        raise InvalidInput(field, "must be UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(field, f"must be JSON: {error.msg} at character {error.pos}") from None
    except _Refused as refused:
        raise InvalidInput(field, refused.rule) from None
    except ValueError:
        raise InvalidInput(field, NO_SUCH_NUMBER) from None
    except RecursionError:
        raise InvalidInput(field, _too_deep(max_depth)) from None
    _check_shape(value, field, max_depth)
    # Only an escape can spell what a text must not have, or what was no UTF-8 to begin with: the decoder takes no NUL.
    if (isinstance(text, str) or "\\u" in source) and _ESCAPED.search(source):
        for each in _texts(value):
            check_text(each, field)
    return value


def check_values(text: bytes, field: str, most: int) -> None:
    """Refuse JSON text of more than so many values, without decoding it."""
    # A quick look at every mark, also those in texts: few bodies need the closer one.
    if 1 + sum(map(text.count, (b",", b"[", b"{"))) > most and _has_more_values(text, most):
        raise InvalidInput(field, f"must have at most {most} values")


def _has_more_values(text: bytes, most: int) -> bool:
    """Whether the marks outside of texts come to more values. Garbled text is for the decoder to refuse."""
    marks = text.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_MARKS)
    count, is_inside = 1, False
    for start in range(0, len(marks), _SLICE):
        parts = marks[start : start + _SLICE].split(b'"')
        count += sum(map(len, parts[is_inside::2]))
        if count > most:
            return True
        is_inside ^= len(parts) % 2 == 0
    return False


def value_of(text: str) -> Any:
    """The value of JSON text that the yard itself has stored: nothing about it is asked again."""
    return _SCAN(text, 0)[0]


def payload_key(payload: Json, *, prompt: str, type: str) -> str:
    """What tells two tasks apart by content: SHA-256 of the payload, or of prompt and type where that is empty."""
    # Not by truth: 0 and false are payloads.
    content = {"prompt": prompt, "type": type} if payload is None or payload in _EMPTY else payload
    return sha256(canonical(content).encode()).hexdigest()


def check_text(text: str, field: str) -> None:
    """Refuse what not every store can hold in a text."""
    if "\0" in text:
        raise InvalidInput(field, NO_NUL)
    size_of(text, field)


def mended(text: object) -> str:
    """A text as every store can hold it, where it is not refused: it may not be what it was meant to be."""
    return str(text).replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def size_of(text: str, field: str) -> int:
    """In bytes of UTF-8, which a lone surrogate has none of."""
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput(field, NO_SURROGATE) from None


def _check_shape(value: Any, field: str, max_depth: int, depth: int = 0) -> None:
    """Depth first, so that a list that contains itself ends at the depth rule."""
    kind: Any = value.__class__
    if not issubclass(kind, _NESTED):
        return
    if depth == max_depth:
        raise InvalidInput(field, _too_deep(max_depth))
    items: Any = value
    if issubclass(kind, dict):
        for key in value:
            if not isinstance(key, str):
                raise InvalidInput(field, TEXT_KEYS)
        items = value.values()
    for item in items:
        if isinstance(item, _NESTED):
            _check_shape(item, field, max_depth, depth + 1)


def _too_deep(max_depth: int) -> str:
    return f"must not be nested deeper than {max_depth}"


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, keys included."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += each
            waiting += each.values()
        elif isinstance(each, (list, tuple)):
            waiting += each


def _decoded(text: str) -> Any:
    if len(text) <= _LONG:
        return _STRICT.decode(text)
    # The library's own loops over the members of the outermost object and of the lists in it, and its quick scanner for
    # each of them: between two calls of that scanner another thread may run.
    value, end = _outermost(text, _AFTER_SPACE(text, 0).end())
    if (end := _AFTER_SPACE(text, end).end()) != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def _outermost(text: str, start: int) -> tuple[Any, int]:
    if text[start : start + 1] == "{":
        return _LIBRARY.JSONObject((text, start + 1), True, _member, None, _unique, {})
    return _member(text, start)


def _member(text: str, start: int) -> tuple[Any, int]:
    if text[start : start + 1] == "[":
        return _LIBRARY.JSONArray((text, start + 1), _one)
    return _one(text, start)


def _one(text: str, start: int) -> tuple[Any, int]:
    try:
        return _STRICT.scan_once(text, start)
    except StopIteration as nothing:
        raise json.JSONDecodeError("Expecting value", text, nothing.value) from None


class _Refused(Exception):
    def __init__(self, rule: str) -> None:
        self.rule = rule


def _unknown(value: object) -> object:
    raise TypeError(f"must be made of what JSON has, which {type(value).__name__[:100]} is not")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _Refused("must not have a key twice in one object")
    return members


def _no_constant(_: str) -> float:
    raise _Refused(NO_SUCH_NUMBER)


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):  # 1e999
        raise _Refused(NO_SUCH_NUMBER)
    return number


def _encoder(*, sort_keys: bool) -> Callable[[object, int], Iterable[str]]:
    """What `JSONEncoder.iterencode` makes anew for every value, which takes longer than most values do."""
    # Circles need no check: they ended at the depth rule.
    return make_encoder(None, _unknown, encode_basestring, None, ":", ",", sort_keys, False, False)


_COMPACT = _encoder(sort_keys=False)
_SORTED = _encoder(sort_keys=True)
_DECODER: Any = json.JSONDecoder()
_SCAN = make_scanner(_DECODER)  # what `json.loads` comes to, after longer than most texts take
_STRICT: Any = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
_LIBRARY: Any = json.decoder
_AFTER_SPACE: Any = re.compile(r"[ \t\n\r]*").match
