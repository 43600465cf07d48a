"""What a waiting task takes of the server's memory."""

from typing import Any

import pytest

from taskyard import connect
from tests.redis_servers import RedisServer

MOST = 1000  # bytes, of a plain task with 200 bytes to say
NUMBER = 4000


@pytest.mark.usefixtures("store")
async def test_a_waiting_task_takes_little_memory(server: RedisServer):
    client: Any = server.client()
    tasks = [{"type": "code", "payload": {"text": "x" * 188}}] * 500
    async with connect(server.url, workspace="here") as yard:
        await yard.enqueue_many(tasks)
        before = client.info("memory")["used_memory"]
        for _ in range(NUMBER // len(tasks)):
            await yard.enqueue_many(tasks)
        used = client.info("memory")["used_memory"] - before

    assert used / NUMBER <= MOST
