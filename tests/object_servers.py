"""A real S3 server for the tests: rclone's, from a wheel, with a folder as its bucket."""

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import httpx

from tests.servers import at_the_end, free_port

KEYS = {"AWS_ACCESS_KEY_ID": "taskyard-tests", "AWS_SECRET_ACCESS_KEY": "taskyard-tests-secret"}
RCLONE = Path(sys.executable).with_name("rclone")
UP_WITHIN = 20.0  # seconds
BUCKET = "bucket"  # there from the beginning, since rclone looks for new ones only now and then


class Bucket(NamedTuple):
    url: str
    folder: Path


@cache
def s3() -> tuple[int, Path]:
    """The port of a server, and the folder that its buckets are in."""
    folder = Path(tempfile.mkdtemp(prefix="taskyard-s3-"))
    (folder / BUCKET).mkdir()
    at_the_end.callback(shutil.rmtree, folder, ignore_errors=True)
    port = free_port()
    pair = ",".join(KEYS.values())
    environment = {**os.environ, "RCLONE_CONFIG": str(folder / "none.conf")}
    command = [RCLONE, "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", pair, "--vfs-cache-mode", "off"]
    server = subprocess.Popen(
        [*command, str(folder)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    at_the_end.callback(server.wait)
    at_the_end.callback(server.terminate)
    until = monotonic() + UP_WITHIN
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/", timeout=1)
        except httpx.TransportError:
            assert server.poll() is None, "rclone ended"
            assert monotonic() < until, "rclone does not answer"
        else:
            return port, folder


def bucket(folder: str) -> Bucket:
    """A folder of its own in the bucket of a running server, for who has its keys."""
    port, root = s3()
    settings = f"endpoint=http://127.0.0.1:{port}&region=us-east-1&allow_http=true"
    return Bucket(f"s3://{BUCKET}/{folder}?{settings}", root / BUCKET / folder)
