"""Requests of the current protocol by hand, for what no good client would send."""

import json
from typing import Any

import httpx

VERSION = "2026-07-28"
EXTENSION = "io.modelcontextprotocol/tasks"
ACCEPT = "application/json, text/event-stream"


class Raw:
    """A client that says of itself what it is told to."""

    def __init__(
        self, url: str, token: str | None = None, extensions: dict[str, Any] | None = None, *, elicits: bool = True
    ) -> None:
        self._url = url
        self._headers = {"accept": ACCEPT, "mcp-protocol-version": VERSION}
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"
        declared: dict[str, Any] = {EXTENSION: {}} if extensions is None else extensions
        self._meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {
                "extensions": declared,
                **({"elicitation": {"form": {}}} if elicits else {}),
            },
        }

    def request(
        self, client: httpx.AsyncClient, method: str, headers: dict[str, str] | None = None, **params: Any
    ) -> httpx.Request:
        name = params.get("name") or params.get("uri")
        routing = {"mcp-method": method, **({"mcp-name": str(name)} if name else {})}
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": self._meta}}
        return client.build_request(
            "POST", self._url, json=body, headers={**self._headers, **routing, **(headers or {})}
        )

    async def send(self, method: str, headers: dict[str, str] | None = None, **params: Any) -> httpx.Response:
        async with httpx.AsyncClient(timeout=60) as client:
            return await client.send(self.request(client, method, headers, **params))

    async def ask(self, method: str, headers: dict[str, str] | None = None, **params: Any) -> Any:
        """The answer, also where it came as the last event of a stream."""
        answer = await self.send(method, headers, **params)
        if not answer.headers["content-type"].startswith("text/event-stream"):
            return answer.json()
        return json.loads([line for line in answer.text.splitlines() if line.startswith("data: ")][-1][6:])

    async def call(self, tool: str, **arguments: Any) -> Any:
        return await self.ask("tools/call", name=tool, arguments=arguments)
