"""The Lua scripts, each assembled from its files. A server knows a script by the SHA-1 digest of its text."""

from __future__ import annotations

from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

from taskyard.stores.redis.encoding import fields_script, old_fields_script


class Script(NamedTuple):
    text: str
    digest: str


def _script(*names: str, first: str = "") -> Script:
    files = ("yard", "log_body", "log", *names)
    parts = (Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8") for name in files)
    text = "\n".join((first, fields_script(), *parts))
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


COMMIT = _script("blockers", "announcing", "writes", "commit")
RESTORE = _script("blockers", "announcing", "writes", "restore")
DUMP = _script("dump")
CLAIM = _script("blockers", "announcing", "claim")
EXTEND = _script("extend")
WRITE = _script("announcing", "write")
READ = _script("read", "read_log")
STREAM = _script("announcing", "stream")
CHECK = _script("check")
MIGRATE = _script("migrate", first=old_fields_script())
