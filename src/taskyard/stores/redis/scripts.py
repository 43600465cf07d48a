"""The Lua scripts, each assembled from its files. A server knows a script by the SHA-1 digest of its text.

A server compiles a script once, but makes every function of it anew at each call, and looks for each name that the
function uses from outside among all that the script has. So a script has only the functions that it can come to, and
values where its files have the names of fields and constants (decision 188).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

from taskyard.stores.redis.encoding import FIELD_PLACES, fields_script, old_fields_script

# What putting in and completing plain tasks needs of the functions that `commits.py` plans by name. Without the others
# a script begins 45 to 65 µs sooner, a sixth or more of the server's time for a lone enqueue.
PLAIN_GUARDS = frozenset({"changes", "key", "new"})
PLAIN_WRITES = frozenset({"attempts", "change", "changes", "count", "insert", "spend", "tell"})

_TOKEN = re.compile(r"--[^\n]*\n?|'(?:\\.|[^'\\\n])*'|[A-Za-z_]\w*")
# A function that begins and ends at the margin: its table, if it has one, and its name.
_FUNCTION = re.compile(r"^(?:local )?function (?:(\w+)\.)?(\w+)\(.*?^end\n", re.MULTILINE | re.DOTALL)
# Of functions, or of a table of functions, that are defined later.
_DECLARATION = re.compile(r"^local \w+(?:, \w+)*(?: = \{\})? *\n", re.MULTILINE)
_CONSTANT = re.compile(r"^local ([A-Z_]+) = (\d+|'[^'\n]*')\n", re.MULTILINE)


class Script(NamedTuple):
    text: str
    digest: str


def _script(*names: str, first: str = "", only: Mapping[str, Collection[str]] | None = None) -> Script:
    """Only: of these tables, the functions that the script needs."""
    files = ("yard", "places", "log_body", "log", *names)
    parts = (Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8") for name in files)
    text = _with_values("\n".join((first, fields_script(), *parts)))
    text = _without_unused(text, only or {})
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


def _with_values(text: str) -> str:
    """The text without comments, and with values for the names of fields and of constants that are declared once."""
    text = _replaced(text, FIELD_PLACES)
    constants: dict[str, list[str]] = {}
    for name, value in _CONSTANT.findall(text):
        constants.setdefault(name, []).append(value)
    values = {name: found[0] for name, found in constants.items() if len(found) == 1}
    kept = _CONSTANT.sub(lambda found: "" if found[1] in values else found[0], text)
    return _replaced(kept, values)


def _replaced(text: str, values: Mapping[str, str]) -> str:
    def value_of(token: re.Match[str]) -> str:
        word = token[0]
        return "\n" if word.startswith("--") else values.get(word, word)

    return _TOKEN.sub(value_of, text)


def _without_unused(text: str, only: Mapping[str, Collection[str]]) -> str:
    """The text without the functions that nothing in it refers to, and without those that are not asked for."""
    text = _FUNCTION.sub(lambda found: found[0] if found[2] in only.get(found[1], (found[2],)) else "", text)
    bodies: dict[str, list[str]] = {}  # by the name that others refer to: of the function, or of its table
    for found in _FUNCTION.finditer(text):
        bodies.setdefault(found[1] or found[2], []).append(found[0])
    used = _reached(_DECLARATION.sub("", _FUNCTION.sub("", text)), bodies)
    return _FUNCTION.sub(lambda found: found[0] if (found[1] or found[2]) in used else "", text)


def _reached(begin: str, bodies: Mapping[str, Collection[str]]) -> set[str]:
    used: set[str] = set()
    unread = [begin]
    while unread:
        for name in _names(unread.pop()):
            if name in bodies and name not in used:
                used.add(name)
                unread += bodies[name]
    return used


def _names(text: str) -> Iterator[str]:
    return (word for word in _TOKEN.findall(text) if not word.startswith(("--", "'")))


COMMIT = _script("blockers", "announcing", "writes", "commit")
_PLAIN = {"guards": PLAIN_GUARDS, "writes": PLAIN_WRITES}
COMMIT_PLAIN = _script("blockers", "announcing", "writes", "commit", only=_PLAIN)
RESTORE = _script("blockers", "announcing", "writes", "restore")
DUMP = _script("dump")
CLAIM = _script("blockers", "announcing", "claim")
EXTEND = _script("extend")
WRITE = _script("announcing", "write")
READ = _script("read", "read_log")
STREAM = _script("announcing", "stream")
CHECK = _script("check")
MIGRATE = _script("migrate", first=old_fields_script())
