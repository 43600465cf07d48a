"""How long a command is tried again."""

import pytest

from taskyard.core.errors import StoreUnavailable
from taskyard.stores.redis.connection import server


async def test_the_time_for_retries_begins_with_the_first_failure(monkeypatch: pytest.MonkeyPatch):
    now = 0.0
    monkeypatch.setattr(server, "monotonic", lambda: now)
    retries = server.Retries("GET", duration=5)

    now = 30.0  # as after a line that was silent for that long
    await retries.wait(ConnectionError("reset"))
    now = 34.0
    await retries.wait(ConnectionError("refused"))
    now = 35.5

    with pytest.raises(StoreUnavailable, match="GET: refused"):
        await retries.wait(ConnectionError("refused"))
