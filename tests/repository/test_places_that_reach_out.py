"""Every module that opens a file, a socket, a program or a store is in the security guide, with its guard."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import taskyard

SOURCE = Path(taskyard.__file__).parent
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "security.md"
# By the last part of the name that is called.
OPENERS = frozenset(
    {
        *("open_connection", "open_unix_connection", "create_connection", "connect_tcp", "create_server", "sendto"),
        *("getaddrinfo", "gethostbyname", "urlopen", "urlretrieve", "AsyncClient", "Client", "AsyncHTTPTransport"),
        *("AsyncConnectionPool",),
        *("create_subprocess_exec", "create_subprocess_shell", "Popen", "check_output", "execv", "execvp", "system"),
        *("read_text", "read_bytes", "write_text", "write_bytes", "fdopen", "FileIO", "mkfifo", "symlink_to"),
        *("open_writer", "LocalStore", "from_url", "scandir", "TemporaryDirectory", "TemporaryFile", "mkdtemp"),
        *("sock_connect", "gethostbyaddr", "gethostbyname_ex", "getnameinfo", "start_server", "start_unix_server"),
        *("subprocess_exec", "subprocess_shell", "popen", "posix_spawn", "posix_spawnp", "execve", "spawnv", "spawnve"),
        *("listdir", "copyfile", "copytree", "hardlink_to", "readlink"),
    }
)
# By the whole name: these words alone mean other things too.
WHOLE = frozenset(
    {
        *("open", "os.open", "os.walk", "io.open", "apsw.Connection", "asyncpg.connect", "subprocess.run"),
        *("socket.socket", "socket.create_server", "shutil.copy", "shutil.move"),
    }
)
# Libraries that do nothing else: whoever imports one is a place, whatever it calls of it.
CARRIERS = frozenset(
    {
        *("aiohttp", "httpcore", "httpx", "requests", "urllib3", "websockets", "http.client", "urllib.request"),
        *("ftplib", "imaplib", "poplib", "smtplib", "socketserver", "telnetlib", "xmlrpc", "logging.handlers"),
        *("obstore", "psycopg", "redis", "sqlite3", "subprocess", "tarfile", "tempfile", "zipfile"),
    }
)


def opens(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    last = name.rpartition(".")[2]
    # A Path or an archive is opened with a mode, or by keyword; a yard, a store and a session with nothing.
    # A breaker is opened by its name.
    is_file = last == "open" and bool(call.args or call.keywords) and not name.endswith("breakers.open")
    return name in WHOLE or last in OPENERS or is_file


def imported(node: ast.AST) -> set[str]:
    """The modules that a statement imports, and where it is a call, those whose names it is given."""
    match node:
        case ast.Import(names=names):
            return {each.name for each in names}
        case ast.ImportFrom(module=str(module), names=names):
            return {module, *(f"{module}.{each.name}" for each in names)}
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) if ast.unparse(node.func).endswith("import_module"):
            return {name}
        case _:
            return set()


def carries(node: ast.AST) -> bool:
    return any(f"{name}.".startswith(f"{each}.") for name in imported(node) for each in CARRIERS)


def found(text: str) -> bool:
    return any(carries(node) or (isinstance(node, ast.Call) and opens(node)) for node in ast.walk(ast.parse(text)))


@cache
def reaching() -> set[str]:
    files = SOURCE.rglob("*.py")
    return {file.relative_to(SOURCE).as_posix() for file in files if found(file.read_text(encoding="utf-8"))}


def listed() -> set[str]:
    section = GUIDE.read_text(encoding="utf-8").partition("## Places that reach out")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([\w/]+\.py)`", row.split("|")[1])}


def test_every_place_is_in_the_table():
    assert reaching() - listed() == set(), "add the module to docs/guides/security.md, with its guard"


def test_the_table_names_no_place_that_is_none():
    assert listed() - reaching() == set()


def test_every_row_names_a_guard():
    section = GUIDE.read_text(encoding="utf-8").partition("## Places that reach out")[2]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]

    assert rows
    assert [row[0] for row in rows if len(row) != 4 or not all(cell.strip() for cell in row)] == []


@pytest.mark.parametrize(
    "text",
    [
        "import httpx\nhttpx.Client()",
        "from pathlib import Path\nPath('x').read_text()",
        "open('x')",
        "loop.getaddrinfo('h', 1)",
        "path.open('rb')",
        "import subprocess\nsubprocess.run(['x'])",
        "await asyncio.create_subprocess_exec('x')",
        "import httpx\nhttpx.get('x')",
        "from httpx import get\nget('x')",
        "import urllib.request as way\nway.Request('x')",
        "from urllib import request\nrequest.Request('x')",
        "from http.client import HTTPSConnection\nHTTPSConnection('x')",
        "def late():\n    import smtplib\n    smtplib.SMTP('x')",
        "import_module('aiohttp').ClientSession()",
        "from logging.handlers import SysLogHandler\nSysLogHandler()",
        "import socket\nsocket.socket().connect(('h', 1))",
        "await loop.sock_connect(made, ('h', 1))",
        "import os\nos.listdir('x')",
        "import os\nos.popen('x')",
        "import sqlite3\nsqlite3.connect('x')",
    ],
)
def test_a_new_place_would_be_found(text: str):
    assert found(text)


@pytest.mark.parametrize(
    "text", ["import urllib.parse", "from http import HTTPStatus", "import logging", "import redistribute"]
)
def test_what_only_has_such_a_name_is_no_place(text: str):
    assert not found(text)
