"""Every module that opens a file, a socket, a program or a store is in the security guide, with its guard."""

import ast
import re
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
    }
)
# By the whole name: these words alone mean other things too.
WHOLE = frozenset({"open", "os.open", "os.walk", "io.open", "apsw.Connection", "asyncpg.connect", "subprocess.run"})


def opens(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    last = name.rpartition(".")[2]
    # A Path or an archive is opened with a mode, or by keyword; a yard, a store and a session with nothing.
    # A breaker is opened by its name.
    is_file = last == "open" and bool(call.args or call.keywords) and not name.endswith("breakers.open")
    return name in WHOLE or last in OPENERS or is_file


def found(text: str) -> bool:
    return any(isinstance(node, ast.Call) and opens(node) for node in ast.walk(ast.parse(text)))


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
    ],
)
def test_a_new_place_would_be_found(text: str):
    assert found(text)
