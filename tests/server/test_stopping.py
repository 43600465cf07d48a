"""A server that is told to stop: at once where nothing is under way, else with the last request, or after its grace."""

import asyncio
from typing import cast

import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from taskyard.server import server as running
from taskyard.server.server import Server, served
from taskyard.yard import Yard
from tests.server.calling import client_of


class Slow:
    """A call that is under way until it may end."""

    def __init__(self, server: Server) -> None:
        self.has_begun, self.may_end = asyncio.Event(), asyncio.Event()
        self.was_cancelled = False
        app = cast(FastAPI, server.config.app)
        app.add_route("/slow", self._answer)
        app.router.routes.insert(0, app.router.routes.pop())  # the last one answers whatever no other does

    async def _answer(self, _: Request) -> PlainTextResponse:
        self.has_begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return PlainTextResponse("done")


async def test_a_stop_is_seen_before_the_next_tick(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "TICK", 3600.0)

    async with served(yard) as server, client_of(server.port) as client:
        assert (await client.get("/api/tasks")).is_success


async def test_a_request_under_way_is_answered_before_the_server_ends(yard: Yard):
    async with served(yard) as server, client_of(server.port) as client:
        slow = Slow(server)
        asked = asyncio.create_task(client.get("/slow"))
        await slow.has_begun.wait()
        server.stop()
        slow.may_end.set()

        assert (await asked).text == "done"


async def test_a_request_that_outlasts_the_grace_is_cancelled(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "GRACE", 0.01)
    async with served(yard) as server, client_of(server.port) as client:
        slow = Slow(server)
        asked = asyncio.create_task(client.get("/slow"))
        await slow.has_begun.wait()
        server.stop()

        assert (await asked).is_server_error
        assert slow.was_cancelled
