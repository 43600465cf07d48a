"""Words for tests that tell stories of daemons: they speak HTTP with a real server, in the words of preset multica."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from taskyard.server.server import served
from taskyard.yard import Yard

ISSUE = "42"
AGENT = "coder"
RUNTIME = "laptop"


class Daemon:
    """A daemon with one runtime and one agent, and the person who gives it work."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def post(self, path: str, **body: Any) -> Any:
        return _answered(await self.http.post(path, json=body))

    async def get(self, path: str, **params: Any) -> Any:
        return _answered(await self.http.get(path, params={"view": "multica", **params}))

    async def refused(self, path: str, **body: Any) -> str:
        """The code of the problem that a call is answered with."""
        answer = await self.http.post(path, json=body)
        assert answer.status_code >= 400, answer.text
        return answer.json()["code"]

    async def register(
        self, agent: str = AGENT, *, type_: str | None = None, runtime: str = RUNTIME, max_concurrent_tasks: int = 1
    ) -> None:
        await self.post("/api/runtimes", id=runtime, hostname="host", pid=7)
        facts = {"runtime_id": runtime, "max_concurrent_tasks": max_concurrent_tasks}
        await self.post("/api/agents", id=agent, type=type_ or agent, **facts)

    async def create(self, **fields: Any) -> Any:
        asked = {"type": "code", "issue_id": ISSUE, "agent_id": AGENT, "prompt": "Fix it", **fields}
        return (await self.post("/api/tasks?view=multica", **asked))["task"]

    async def claim(self, runtime: str = RUNTIME, **asked: Any) -> list[Any]:
        return (await self.post("/api/tasks/claim?view=multica", runtime_id=runtime, **asked))["tasks"]

    async def rerun_issue(self, issue: str = ISSUE, **asked: Any) -> Any:
        return await self.post(f"/api/issues/{issue}/rerun?view=multica", **asked)

    async def claim_one(self) -> Any:
        (task,) = await self.claim()
        return task

    async def start_one(self) -> Any:
        """The next task, running."""
        task = await self.claim_one()
        await self.say("start", task)
        return task

    async def say(self, verb: str, task: Any, **more: Any) -> Any:
        """One of the calls that carry a lease."""
        return await self.post(f"/api/tasks/{task['id']}/{verb}", lease=task["lease"], **more)

    async def task(self, id_: str) -> Any:
        return await self.get(f"/api/tasks/{id_}")

    async def tasks(self, **which: Any) -> list[Any]:
        return (await self.get("/api/tasks", **which))["tasks"]

    async def status(self, id_: str) -> str:
        return (await self.task(id_))["status"]

    async def events(self, id_: str) -> list[str]:
        """What those who watch were told of an attempt."""
        return [event["type"] for event in (await self.get(f"/api/tasks/{id_}/events"))["events"]]


@asynccontextmanager
async def daemon_of(yard: Yard) -> AsyncGenerator[Daemon]:
    async with (
        served(yard) as server,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=30) as http,
    ):
        yield Daemon(http)


def _answered(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json()
