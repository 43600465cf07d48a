"""Completion: what may stand in an argument, from what is in the yard."""

from __future__ import annotations

from collections.abc import Iterable

from mcp.types import Completion

from taskyard.core.errors import TaskyardError
from taskyard.mcp.desk import Desk

MOST = 100  # values of one answer, as the protocol has it
LOOKED_AT = 200  # of the newest tasks


async def completion(desk: Desk, argument: str, begins: str, uri: str = "") -> Completion:
    """Values that begin as asked. What the caller may not list is no value: the answer is empty then."""
    try:
        values: Iterable[str] = await _values(desk, argument, uri)
    except TaskyardError:
        values = ()
    found = sorted({value for value in values if value.startswith(begins)})
    return Completion(values=found[:MOST], total=len(found), has_more=len(found) > MOST)


async def _values(desk: Desk, argument: str, uri: str) -> Iterable[str]:
    match argument:
        case "agent":
            agents = await desk.yard.agents.list()
            return [*(each.id for each in agents), *(each.type for each in agents)]
        case "queue":
            return [each.queue for each in await desk.yard.queues.list()]
        case "type":
            return {name for types in (await desk.yard.tasks.stats()).values() for name in types}
        case "tag":
            return {tag for row in await desk.yard.tasks.rows(limit=LOOKED_AT) for tag in row.tags}
        case "id":
            return await _ids(desk, uri)
        case _:
            return []


async def _ids(desk: Desk, uri: str) -> Iterable[str]:
    if uri.startswith("yard://tasks/"):
        return [row.id for row in await desk.yard.tasks.rows(limit=LOOKED_AT)]
    if uri.startswith("yard://dags/"):
        return [each.id for each in await desk.yard.dags.list(limit=LOOKED_AT)]
    if uri.startswith("yard://artifacts/"):
        return [each.id for each in await desk.yard.artifacts.list(limit=LOOKED_AT)]
    return []
