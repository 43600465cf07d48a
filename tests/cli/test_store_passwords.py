"""No password of a store is printed by any command, however the URL is written and whatever goes wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import taskyard
from taskyard.core.errors import InvalidInput, TaskyardError
from tests.core.test_store_url import SOUND, UNSOUND
from tests.storage import asked_for, url_of

HERE = "127.0.0.1:1"
BAD = (
    *UNSOUND,
    *(url for url in SOUND if "hunter2" in url),
    "postgresql://ada:hunter2@127.0.0.1:1/yard?pool_size=hunter2",
    "postgresql://ada:hunter2@127.0.0.1:1/yard?sslmode=hunter2",
    "postgresql://ada:hunter2@127.0.0.1:1/yard?port=hunter2",
    "postgresql://127.0.0.1:1/yard?password=hunter2&host=%2Fhunter2",
)


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TASKYARD_CALL_TIMEOUT_SEC": "1", **environment}
    return subprocess.run(
        [sys.executable, "-m", "taskyard", *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def here(url: str) -> str:
    """The same at an address where nobody listens."""
    return url.replace("db.example", HERE).replace("cache.example", HERE).replace("s1:26379", HERE)


@pytest.mark.parametrize("url", [here(url) for url in BAD])
async def test_what_goes_wrong_is_an_error_without_the_password(url: str):
    with pytest.raises(TaskyardError) as failed:
        await taskyard.connect(url, call_timeout_sec=1, sweeps=False).open()

    said = f"{failed.value} {failed.value.facts}"
    assert not any(part in said for part in ("hunter2", "ter2@"))


@pytest.mark.parametrize("option", ["sslmode=hunter2", "target_session_attrs=hunter2"])
async def test_an_option_that_the_driver_refuses_is_to_be_corrected_and_not_waited_for(option: str):
    with pytest.raises(InvalidInput, match="url") as refused:
        await taskyard.connect(f"postgresql://ada@{HERE}/yard?{option}", call_timeout_sec=1, sweeps=False).open()

    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(("command", "url"), [("doctor", BAD[0]), ("serve", BAD[-1]), ("serve", BAD[-3])])
def test_a_command_ends_with_a_sentence_without_the_password(tmp_path: Path, command: str, url: str):
    ran = run(tmp_path, "--url", here(url), command)

    said = ran.stdout + ran.stderr
    assert ran.returncode in (2, 5, 6, 7), said
    assert "Traceback" not in said
    assert "hunter2" not in said


@pytest.mark.skipif("postgres" not in asked_for(), reason="PostgreSQL is not asked for")
def test_a_yard_that_is_served_and_examined_is_named_without_the_password(tmp_path: Path):
    url = url_of("postgres", tmp_path)
    url += f"{'&' if '?' in url else '?'}password=hunter2"  # which this server, trusting its machine, does not ask for
    examined = run(tmp_path, "--url", url, "doctor")
    words = [sys.executable, "-m", "taskyard", "--url", url, "serve", "--port", "0"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        line = next(line for line in server.stdout if " serves " in line)
        server.terminate()
        said = line + server.stdout.read()

    for each in (examined.stdout + examined.stderr, said):
        assert "postgresql://" in each
        assert "hunter2" not in each


def test_the_url_can_come_from_a_file(tmp_path: Path):
    (tmp_path / "url").write_text(f"sqlite:///{tmp_path}/from-file.db\n")

    by_flag = run(tmp_path, "--url-file", "url", "enqueue", "code")
    by_name = run(tmp_path, "ls", TASKYARD_URL_FILE=str(tmp_path / "url"))

    assert (by_flag.returncode, by_name.returncode) == (0, 0), by_flag.stderr + by_name.stderr
    assert "code" in by_name.stdout
    assert (tmp_path / "from-file.db").exists()


@pytest.mark.parametrize("content", [None, b"one\ntwo\n"])
def test_a_file_without_a_url_is_refused(tmp_path: Path, content: bytes | None):
    if content is not None:
        (tmp_path / "url").write_bytes(content)

    ran = run(tmp_path, "--url-file", "url", "ls")

    assert (ran.returncode, "url_file" in ran.stderr, "Traceback" in ran.stderr) == (2, True, False)
