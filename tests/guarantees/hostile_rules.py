"""Rules that were made to take for ever, each with an output that would let them."""

from random import Random
from typing import Any, NamedTuple

_MEGABYTE = 1_000_000
LONG = "a" * (_MEGABYTE - 10) + "!"
MIXED = "".join(Random(8).choices("ab", k=_MEGABYTE - 10))  # a state of its own for nearly every place
WORDS = "lorem ipsum, dolor " * 50_000

# Each of these takes a backtracking engine for ever, or a linear one so many steps for every character that it may
# as well.
EXPRESSIONS: list[tuple[str, str]] = [
    ("^(a+)+$", LONG),
    ("^(a*)*$", LONG),
    ("^(a|a)*$", LONG),
    ("^(a|aa)+$", LONG),
    ("^(a|a?)+$", LONG),
    ("^([a-z]+)*$", LONG),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", LONG),
    ("^(.*a){20}$", LONG),
    ("^(.*,){11}P", WORDS),
    ("(.*)*x", LONG),
    ("(.*)*x" * 8, LONG),
    ("(.+)+x", LONG),
    ("(x+x+)+y", "x" * 1_000_000),
    ("(a?){30}a{30}c", LONG),
    ("(a?){500}a{500}c", LONG),
    ("(a{0,100}){0,10}c", LONG),
    ("(a+){50}c", LONG),
    ("(a*a*a*a*a*)*b", LONG),
    ("a*a*a*a*a*a*a*a*a*a*b", LONG),
    ("(\\w+\\s?)+!$", WORDS),
    ("^(\\w+\\s?)*$", WORDS),
    ("(\\s*\\w*\\s*)*$", WORDS),
    ("\\s+$", " " * 999_000 + "x"),
    ("^\\s+|\\s+$", " " * 999_000 + "x"),
    ("(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^.]$", WORDS),
    ("([a-zA-Z0-9]+)*@([a-z]+)*\\.com", LONG),
    ("^([a-zA-Z0-9_.-])+@(([a-zA-Z0-9-])+.)+([a-zA-Z0-9]{2,4})+$", LONG),
    ("(https?://([a-z]+\\.?)+)+$", "http://" + LONG),
    ("^(\\d+)*$", "1" * 999_000 + "x"),
    ("^-?(\\d+)*(\\.(\\d+)*)*e$", "1" * 999_000),
    ("((a|b)*|(b|a)*)*c", MIXED),
    ("[ab]*a[ab]{20}c", MIXED),
    ("[ab]*a[ab]{50}c", MIXED),
    ("[ab]*a[ab]{500}c", MIXED),
    ("[ab]*a[ab]{999}c", MIXED),
    ("((a|b)*a(a|b){9}){50}c", MIXED),
    ("[ab]*(a[ab]{20}|b[ab]{21})c", MIXED),
    ("(a|b|ab)*bc", MIXED),
    ("((ab)*(ba)*)*c", MIXED),
    ("(?i)(a|A|b|B)*c", MIXED),
    ("((a{100}){100}){100}", LONG),
    ("(((a{30}){30}){30}){30}", LONG),
    ("a{1000}" * 900, LONG),
    ("(\\pL|\\pN){900}c", LONG),
    ("(?i)(\\w|\\pL){500}x", LONG),
    ("(\\pL{1,30}){30}c", LONG),
    ("(" * 900 + "a" + ")*" * 900 + "c", LONG),
    ("(" * 4_000 + "a" + ")" * 4_000, LONG),
    ("|".join(f"a{{{n}}}" for n in range(1, 900)), MIXED),
    ("[" + "".join(chr(0x100 + 2 * n) for n in range(4_000)) + "]*x", LONG),
    ("(?:(?:a?)*)*" * 500, LONG),
    (".{0,1000}" * 8 + "x", LONG),
]


class HostileSchema(NamedTuple):
    name: str
    schema: Any
    output: Any


def nested(levels: int, innermost: Any = 1) -> Any:
    value = innermost
    for _ in range(levels):
        value = {"a": value}
    return value


def _doubled(levels: int, word: str = "allOf") -> Any:
    """Each part asks twice for the next."""
    parts: dict[str, Any] = {f"p{n}": {word: [{"$ref": f"#/$defs/p{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/p0", "$defs": {**parts, f"p{levels}": {"type": "integer"}}}


def _unevaluated(levels: int) -> Any:
    schema: Any = {"properties": {"a": {"type": "integer"}}}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


def _chain(length: int) -> Any:
    parts: dict[str, Any] = {f"p{n}": {"$ref": f"#/$defs/p{n + 1}"} for n in range(length)}
    return {"$ref": "#/$defs/p0", "$defs": {**parts, f"p{length}": True}}


_TWICE_BELOW = [{"properties": {"a": {"$ref": "#"}}}] * 2
SCHEMAS = [
    HostileSchema("doubled references", _doubled(30), 1),
    HostileSchema("doubled references that fail", _doubled(16), "x"),
    HostileSchema("doubled alternatives", _doubled(40, "anyOf"), "x"),
    HostileSchema("doubled choices", _doubled(40, "oneOf"), 1),
    HostileSchema("twice at every level", {"allOf": _TWICE_BELOW}, nested(60)),
    HostileSchema("one of two at every level", {"oneOf": _TWICE_BELOW, "required": ["b"]}, nested(60)),
    HostileSchema(
        "twice by a dynamic reference",
        {
            "$dynamicAnchor": "n",
            "allOf": [{"properties": {"a": {"$dynamicRef": "#n"}}}, {"additionalProperties": {"$dynamicRef": "#n"}}],
        },
        nested(60),
    ),
    HostileSchema("itself", {"$ref": "#"}, 1),
    HostileSchema("itself, twice", {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, 1),
    HostileSchema(
        "each other", {"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}}}, 1
    ),
    HostileSchema("unevaluated within unevaluated", _unevaluated(18), {"a": 1}),
    HostileSchema("a chain", _chain(3_000), 1),
    HostileSchema("a remote reference", {"$ref": "http://127.0.0.1:9/schema.json"}, 1),
    HostileSchema(
        "a document within", {"$defs": {"x": {"$id": "http://x/", "$ref": "#/$defs/y"}}, "$ref": "#/$defs/x"}, 1
    ),
    HostileSchema("many parts", {"allOf": [{"type": "integer"}] * 20_000}, 1),
    HostileSchema("many parts for many values", {"items": {"allOf": [{"type": "integer"}] * 1_000}}, [1] * 100_000),
    HostileSchema("a huge enumeration", {"enum": list(range(30_000))}, 0.5),
    HostileSchema("an enumeration for many", {"items": {"not": {"enum": list(range(60))}}}, [0.5] * 200_000),
    HostileSchema("a giant expression", {"pattern": "(\\pL{1,100}){5}"}, "x"),
    HostileSchema("a slow expression", {"pattern": "[ab]*a[ab]{500}c"}, MIXED),
    HostileSchema("many expressions", {"patternProperties": {f"x{n}": True for n in range(2_000)}}, {"y": 1}),
    HostileSchema(
        "names by expressions",
        {"patternProperties": {f"^(y+{n})+": False for n in range(100)}},
        {f"y{n}" * 50: 1 for n in range(4_000)},
    ),
    HostileSchema("fine steps", {"items": {"multipleOf": 1e-300}}, [7e300] * 40_000),
    HostileSchema("long numbers", {"items": {"minimum": 3}}, [10**4_000 + n for n in range(200)]),
    HostileSchema("many names", {"required": [f"p{n}" for n in range(20_000)]}, {f"p{n}": 1 for n in range(20_000)}),
    HostileSchema(
        "deep and wide", {"additionalProperties": {"$ref": "#"}, "items": {"$ref": "#"}}, nested(60, [0] * 200_000)
    ),
]


def with_addresses(url: str) -> dict[str, Any]:
    """Schemas that name this address wherever a validator might fetch it from."""
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {
        "$schema": {"$schema": url},
        "$schema with a fragment": {"$schema": f"{url}#"},
        "$schema of a file": {"$schema": "file:///etc/passwd"},
        "$schema that is no text": {"$schema": [url]},
        "$schema of a known draft at another host": {"$schema": draft.replace("json-schema.org", url[7:-5])},
        "$schema within a part": {"properties": {"a": {"$schema": url}}},
        "$schema within definitions": {"$defs": {"a": {"$schema": url}}},
        "$schema of another known draft within a part": {"$schema": draft, "not": {"$schema": f"{draft}#"}},
        "$schema beside $id": {"$id": url, "$schema": url},
        "$ref": {"$ref": url},
        "$ref in definitions that nothing leads to": {"$defs": {"a": {"$ref": url}}},
        "$ref in old definitions": {"definitions": {"a": {"items": [{"$ref": url}]}}},
        "$ref in a word that nobody knows": {"unheard-of": {"$ref": url}},
        "$ref relative to $id": {"$id": url, "$ref": "other"},
        "$ref in definitions relative to $id": {"$id": url, "$defs": {"a": {"$ref": "other"}}},
        "$dynamicRef": {"$dynamicRef": f"{url}#x"},
        "$dynamicRef in definitions": {"$defs": {"a": {"$dynamicRef": f"{url}#x"}}},
        "$recursiveRef": {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": url},
        "$id within a part": {"$defs": {"a": {"$id": url, "$ref": "#/x"}}},
        "id of the oldest draft": {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "definitions": {"a": {"id": url, "$ref": "x"}},
        },
    }
