"""The file system of the image, read-only and without root: what `make image-test` builds and then tries."""

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

USER = "10001"
WITHIN = 120  # seconds for whatever is waited for, on a machine that does other things too


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder of the image's user: pytest's own ones are closed to others."""
    with TemporaryDirectory(dir="/tmp") as folder:
        os.chown(folder, int(USER), int(USER))
        yield Path(folder)


def inside(data: Path, *command: str) -> list[str]:
    """The command in the image, as an engine would start it with `--read-only`."""
    root = os.environ["TASKYARD_IMAGE_ROOT"]
    return [
        *("setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"),
        *(
            "bwrap",
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--uid",
            USER,
            "--gid",
            USER,
            "--die-with-parent",
        ),
        *("--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", str(data), "/data"),
        *("--chdir", "/data", "--clearenv", "--setenv", "HOME", "/data", "--setenv", "PYTHONDONTWRITEBYTECODE", "1"),
        *(
            "--setenv",
            "PATH",
            "/opt/taskyard/bin:/usr/bin:/bin",
            "--setenv",
            "TASKYARD_URL",
            "sqlite:////data/taskyard.db",
        ),
        *command,
    ]


def run(data: Path, *command: str) -> str:
    done = subprocess.run(inside(data, *command), capture_output=True, text=True, timeout=WITHIN, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def until(what: str) -> Iterator[None]:
    end = time.monotonic() + WITHIN
    while time.monotonic() < end:
        yield
        time.sleep(0.1)  # another process is polled, in whose file system nobody else listens
    pytest.fail(f"not within {WITHIN} s: {what}")


def child_of(bwrap: subprocess.Popen[bytes]) -> int:
    """The process inside: signals to bubblewrap itself would kill it, as an engine's do not."""
    for _ in until("bubblewrap has started the command"):
        pid, found = bwrap.pid, 0
        while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            pid, found = int(children[0]), found + 1
            if found == 2:
                return pid
    raise AssertionError


def test_nothing_but_its_data_can_be_written(data: Path):
    said = run(data, "sh", "-c", "touch /etc/x 2>&1; touch /opt/taskyard/x 2>&1; touch /data/x && id -u")
    assert said.count("Read-only file system") == 2
    assert said.endswith(f"{USER}\n")


def test_the_server_is_ready_and_ends_when_it_is_asked_to(data: Path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    server = subprocess.Popen(inside(data, "taskyard", "serve", "--port", port, "--log-format", "json"))
    try:
        for _ in until("/readyz answers"):
            assert server.poll() is None
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
                    assert json.load(answer) == {"ok": True}
                break
            except OSError:
                continue
        browser = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Accept": "text/html"})
        with urllib.request.urlopen(browser, timeout=10) as page:
            assert b"<div id=" in page.read()
        os.kill(child_of(server), 15)
        assert server.wait(WITHIN) == 0
    finally:
        server.kill()
        server.wait()


def test_a_worker_finishes_its_task_when_it_is_asked_to_end(data: Path):
    run(data, "taskyard", "enqueue", "nap", "--prompt", "x")
    slow = "sh -c 'touch /data/begun; while [ ! -e /data/go ]; do sleep 0.1; done; echo {}'"
    worker = subprocess.Popen(inside(data, "taskyard", "work", "--exec", slow, "--type", "nap", "--grace", "60"))
    try:
        for _ in until("the task has begun"):
            if (data / "begun").exists():
                break
        os.kill(child_of(worker), 15)
        (data / "go").touch()
        assert worker.wait(WITHIN) == 0
    finally:
        worker.kill()
        worker.wait()
    [task] = json.loads(run(data, "taskyard", "ls", "--json"))
    assert task["status"] == "completed"
