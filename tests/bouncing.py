"""PgBouncer in transaction mode, in front of a PostgreSQL server: nothing of a session outlives a transaction.

It is the one of this machine; else Debian's, unpacked into a folder, which needs no root.
"""

import hashlib
import logging
import os
import shutil
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from tests import servers

logger = logging.getLogger(__name__)
PACKAGES = ("pgbouncer", "libc-ares2", "libevent-2.1-7")
# Fewer connections than most tests ask for, so that sessions are handed from one to the other all the time.
SETTINGS = """
[databases]
postgres = host={behind} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 1000
"""


@cache
def program() -> Path | None:
    """PgBouncer itself; None where it is neither installed nor to be had."""
    if installed := shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin"):
        return Path(installed)
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="taskyard-pgbouncer-"))
    folder.chmod(0o755)
    servers.at_the_end.callback(shutil.rmtree, folder)
    asked = subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        logger.warning("Debian does not give PgBouncer out: %s", asked.stderr)
        return None
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, folder], check=True)
    return folder / "usr" / "sbin" / "pgbouncer"


@cache
def _bouncer(version: int) -> int:
    """The port of a PgBouncer in front of the server of this version."""
    found = program()
    assert found is not None, "PgBouncer is asked for, and is neither installed nor to be had from Debian"
    (behind,) = parse_qs(urlsplit(servers.postgres(version)).query)["host"]
    folder, port = servers.folder_of_a_server(), servers.free_port()
    servers.at_the_end.callback(shutil.rmtree, folder)
    settings = folder / "pgbouncer.ini"
    settings.write_text(SETTINGS.format(behind=behind, port=port), encoding="utf-8")
    own_libraries = next((found.parents[1] / "lib").glob("*-linux-gnu"), Path())
    with (folder / "log").open("w", encoding="utf-8") as log:
        bouncer = subprocess.Popen(
            [found, settings],
            user=servers.user_of_servers(),
            env=os.environ | {"LD_LIBRARY_PATH": str(own_libraries)},
            stderr=log,
        )
    servers.at_the_end.callback(bouncer.wait)
    servers.at_the_end.callback(bouncer.terminate)
    _wait_for(port)
    return port


def _wait_for(port: int) -> None:
    for _ in range(500):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)  # nobody tells when a server begins to listen
    raise AssertionError("PgBouncer did not start")


def bounced_yard(version: int, folder: Path) -> str:
    """The URL of a schema that belongs to this folder, through PgBouncer, with the direct way for LISTEN."""
    direct = servers.postgres(version)
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    options = f"pgbouncer=true&schema=yard_{name}&listen_url={quote(direct, safe='')}"
    return f"postgresql://postgres@127.0.0.1:{_bouncer(version)}/postgres?{options}"
