"""A yard that others serve, and the agents that work on it from here. Loaded when a URL names a server."""

from __future__ import annotations

from typing import cast

from taskyard import yard as service
from taskyard.client import yard as client
from taskyard.worker.agent import Agent
from taskyard.worker.drain import drain
from taskyard.worker.runner import GRACE, run_all


class RemoteYard(client.RemoteYard):
    """The same, served by others. Who uses a yard cannot tell the two apart: a test holds them together."""

    async def work(self, *agents: Agent, grace_sec: float = GRACE, runtime: str | None = None) -> None:
        """Run these agents until the process is asked to stop.

        Sessions are resumed by the same runtime. Without a name, it is that of this machine and folder (`.taskyard/`).
        """
        await run_all(_like_local(self), agents, grace_sec=grace_sec, runtime=runtime)

    async def drain(self, *agents: Agent) -> int:
        """Run these agents here until nothing is left for them, and say how many attempts that took."""
        return await drain(_like_local(self), agents)


def _like_local(yard: RemoteYard) -> service.Yard:
    """To who uses it, a yard is a yard."""
    return cast(service.Yard, yard)
