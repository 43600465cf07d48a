"""Tools that show how the whole yard stands."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.overview.views import Overview
from taskyard.mcp.desk import Desk
from taskyard.mcp.toolbox import OPERATOR, PRODUCER, Answer, Toolbox

box = Toolbox()


@box.add(calls.OVERVIEW, model(Overview), PRODUCER, OPERATOR)
async def yard_overview(desk: Desk) -> Answer:
    """Show how the yard stands: tasks by status, what waits longest, what asks for a person, today's money."""
    return write(await desk.yard.overview.figures())
