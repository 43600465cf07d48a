"""`taskyard serve` as a real process, and the tokens that close it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from taskyard.cli.programs.serve import COLLECT_AFTER
from tests.cli.conftest import Command

BIN = Path(sys.executable).parent


@contextmanager
def serving(url: str, *options: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """The program, and the address it says it serves at."""
    command = [str(BIN / "taskyard"), "--url", url, "serve", "--port", "0", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        address = re.search(r"http://\S+", process.stdout.readline())
        assert address is not None
        try:
            yield process, address[0]
        finally:
            process.kill()


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_what_is_put_in_over_http_is_seen_by_the_command_line(taskyard: Command, url: str) -> None:
    with serving(url) as (process, address):
        made = httpx.post(f"{address}/api/tasks", json={"type": "code", "prompt": "over the wire"})
        assert made.status_code == 201
        assert taskyard("show", made.json()["task"]["id"], "--json").json["spec"]["prompt"] == "over the wire"
        assert httpx.get(f"{address}/readyz").json() == {"ok": True}

        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_a_token_closes_the_server_and_its_end_ends_the_access(taskyard: Command, url: str) -> None:
    with serving(url) as (_, address):
        made = taskyard("token", "create", "ann", "--role", "viewer", "--json").json

        shown = bearing(made["token"])
        assert httpx.get(f"{address}/api/stats").status_code == 401
        assert httpx.get(f"{address}/api/stats", headers=shown).status_code == 200
        assert httpx.post(f"{address}/api/tasks", json={"type": "code"}, headers=shown).status_code == 403

        taskyard("token", "revoke", made["id"])
        assert httpx.get(f"{address}/api/stats", headers=shown).status_code == 401
    assert [token["name"] for token in taskyard("token", "ls", "--json").json] == ["ann"]
    assert "revoked" in taskyard("token", "ls").out


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_without_a_token_only_this_machine_is_served(taskyard: Command, host: str) -> None:
    refused = taskyard("serve", "--host", host, "--port", "0")
    assert refused.status == 2
    assert "taskyard token create" in refused.out


def test_a_port_that_is_taken_is_named(taskyard: Command, url: str) -> None:
    with serving(url) as (_, address):
        refused = taskyard("serve", "--port", address.rpartition(":")[2])
    assert refused.status == 2
    assert "port" in refused.out


WATCHED = """
import gc, os, signal
from taskyard.cli.main import main
from taskyard.cli.programs import serve as program

serve = program.serve

async def watched(yard, *, on_up, **settings):
    def up(address, is_open):
        on_up(address, is_open)
        print("looked at and left alone:", len(gc.get_objects()), gc.get_freeze_count(), *gc.get_threshold())
        os.kill(os.getpid(), signal.SIGTERM)

    await serve(yard, on_up=up, **settings)

program.serve = watched
main()
"""


def test_what_a_server_has_loaded_is_not_looked_at_for_garbage(tmp_path: Path):
    """A look at all of it would hold every call up for tens of milliseconds, again and again under load."""
    words = [sys.executable, "-c", WATCHED, "--url", f"sqlite:///{tmp_path / 'yard.db'}", "serve", "--port", "0"]
    shown = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout

    looked_at, left_alone, *collect_after = map(int, shown.rpartition(":")[2].split())
    assert left_alone > 100_000
    assert looked_at < left_alone / 20
    assert tuple(collect_after[:2]) == COLLECT_AFTER
