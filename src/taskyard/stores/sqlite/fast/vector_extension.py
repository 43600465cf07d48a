"""The extension sqlite-vec, which compares vectors inside SQLite.

It applies where the package `sqlite-vec` is installed (extra `memory`) and can be loaded. The slow path reads every
vector and compares them in this process (`shared.vectors`). Its gain is in docs/benchmarks.md.
"""

from __future__ import annotations

from functools import cache
from weakref import WeakSet

import apsw

_loaded: WeakSet[apsw.Connection] = WeakSet()


def load(connection: apsw.Connection) -> bool:
    """Load the extension into a connection. False where it is not to be had."""
    if connection in _loaded:
        return True
    path = _path()
    if path is None:
        return False
    connection.enable_load_extension(True)
    try:
        connection.load_extension(path)
    except apsw.ExtensionLoadingError:
        return False
    finally:
        connection.enable_load_extension(False)  # no SQL may load another
    _loaded.add(connection)
    return True


@cache
def _path() -> str | None:
    try:
        import sqlite_vec  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        return None
    return sqlite_vec.loadable_path()
