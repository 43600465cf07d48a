"""The MCP server for one client, over standard input and output: a process that the client starts and ends."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from taskyard.features.tokens.rules import Role
from taskyard.mcp.desk import Desk, Seat, Toolset
from taskyard.mcp.endpoint import Context, McpEndpoint
from taskyard.mcp.lease_keeper import LeaseKeeper
from taskyard.mcp.resources.event_reader import EventReader
from taskyard.yard import Yard


async def serve_stdio(yard: Yard, role: Role, *, toolset: Toolset, agent: str | None) -> None:
    """Serve an open yard until the client closes its end. Leases are kept for as long as it is there."""
    leases, changes = LeaseKeeper(), EventReader(yard)
    seat = Seat(agent_id=agent)
    desk = Desk(yard=yard, role=role, toolset=toolset, seat=seat, leases=leases, changes=changes)

    async def desk_of(_: Context) -> Desk:
        return desk

    endpoint = McpEndpoint(desk_of)
    server = endpoint.server()
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await endpoint.updates.close()
        await changes.close()
        await leases.close()
