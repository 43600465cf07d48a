"""Calls of which every field may be left out need no body, and none of the others is answered without one."""

import httpx
import pytest

from taskyard.server.server import served
from taskyard.yard import Yard
from tests.graphs import given_a_graph, task
from tests.yards import given_an_agent


async def test_a_task_is_cancelled_and_rerun_without_a_body(yard: Yard):
    await given_an_agent(yard)
    made = await yard.enqueue("code", subject="issue:7")
    dag = await given_a_graph(yard, task("a"))
    async with served(yard) as server, httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as client:
        for path in (
            f"/api/tasks/{made.id}/cancel",
            f"/api/tasks/{made.id}/rerun",
            "/api/issues/7/rerun",
            f"/api/dags/{dag.id}/cancel",
            "/api/breakers/code/open",
            "/api/breakers/code/close",
        ):
            answer = await client.post(path)
            assert answer.status_code in (200, 201), (path, answer.text)
        named = await client.post(f"/api/tasks/{made.id}/cancel", json={"reasons": "misspelt"})
        assert named.status_code == 422


@pytest.mark.parametrize("path", ["/api/tasks", "/api/tasks/claim", "/api/dags"])
async def test_a_call_that_must_say_something_is_refused_without_a_body(yard: Yard, path: str):
    async with served(yard) as server, httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as client:
        assert (await client.post(path)).status_code == 422
