"""A brief comes in by webhook, and a landing page goes out: every part of a yard, each in a process of its own.

Run it: python examples/landing_page/story.py [--artifacts s3://BUCKET?endpoint=…]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO, Any
from urllib.request import Request, urlopen

import taskyard
from taskyard.ledger.signing import signed

HERE = Path(__file__).parent
PROGRAM = Path(sys.executable).with_name("taskyard")
BRIEF = {"client": "Acme Bicycles", "goal": "Build a landing page for Acme Bicycles"}
GOAL = {"type": "goal", "prompt": "{{ body.goal }}", "payload": {"client": "{{ body.client }}"}, "agent": "planner"}
ARRIVED: Queue[tuple[dict[str, str], bytes]] = Queue()


class Receiver(BaseHTTPRequestHandler):
    """Where the studio's customers would be told."""

    def do_POST(self) -> None:
        ARRIVED.put(({name.lower(): value for name, value in self.headers.items()}, self._body()))
        self.send_response(204)
        self.end_headers()

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["content-length"]))

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the story says what arrived."""


@contextmanager
def receiving() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/done"
    server.shutdown()
    server.server_close()


@contextmanager
def running(log: IO[str], *words: str, **environment: str) -> Generator[subprocess.Popen[str]]:
    """A process of the yard, asked to stop at the end."""
    process = subprocess.Popen(
        [PROGRAM, *words], cwd=HERE, env=os.environ | environment, stdout=subprocess.PIPE, stderr=log, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def deliver(address: str, path: str, secret: str) -> None:
    """What the customer's own system does: sign the brief, and post it."""
    body, stamp = json.dumps(BRIEF).encode(), int(time.time())
    headers = {"webhook-id": "brief-1", "webhook-timestamp": str(stamp), "content-type": "application/json"}
    headers["webhook-signature"] = signed(secret, "brief-1", stamp, body)
    with urlopen(Request(f"{address}/api/hooks/{path}", body, headers)) as answer:
        print("webhook in:", json.load(answer))


def tell(yard: Any, secret: str) -> None:
    """What happened, as it is stored."""
    headers, body = ARRIVED.get(timeout=60)
    good = headers["webhook-signature"] == signed(
        secret, headers["webhook-id"], int(headers["webhook-timestamp"]), body
    )
    (goal,) = yard.find(type="goal")
    dag = yard.dags.get(yard.get(goal.id).result["dag"])
    for task in yard.dags.tasks(dag):
        attempts = [attempt.reason or attempt.outcome.value for attempt in yard.tasks.history(task.id)]
        print(f"  {task.type}: {', '.join(attempts)}")
    (page,) = yard.artifacts.list()
    print(f"artifact: {page.name}, {page.size} bytes:", b"".join(yard.artifacts.read(page.id)).decode())
    news = yard.inbox.take("planner", goal.id).batch.items[0].content
    print("planner was told:", news["news"], news["status"])
    print("notification out:", json.loads(body)["type"], "- signature is good" if good else "- NOT SIGNED")
    print(yard.verify())


def main(artifacts: str | None, log: IO[str]) -> None:
    with TemporaryDirectory() as folder, receiving() as target:
        settings = {"TASKYARD_URL": f"sqlite:///{folder}/yard.db", "TASKYARD_ALLOWED_TARGETS": "127.0.0.0/8"}
        settings |= {} if artifacts is None else {"TASKYARD_ARTIFACTS": artifacts}
        with running(log, "serve", "--port", "0", **settings) as server:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            agents = [f"agents:{name}" for name in ("planner", "crew", "tester", "critic")]
            with running(log, "work", *agents, TASKYARD_URL=address), taskyard.connect_sync(address) as yard:
                hook = yard.triggers.add("briefs", "webhook", task=GOAL)
                notifier = yard.notifications.set("customers", target, events=["dag_completed"], tags=["site"])
                assert hook.view.trigger.path is not None
                assert hook.secret is not None
                assert notifier.secret is not None
                deliver(address, hook.view.trigger.path, hook.secret)
                tell(yard, notifier.secret)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--artifacts", help="an object store, by URL; without it, a folder")
    parser.add_argument("--log", default=os.devnull, help="a file for what the yard's processes say")
    given = parser.parse_args()
    with Path(given.log).open("w") as log:
        main(given.artifacts, log)
