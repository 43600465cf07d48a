"""Tools for money."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from taskyard.api import calls
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.budgets.views import SpendReport
from taskyard.mcp.desk import Desk
from taskyard.mcp.toolbox import OPERATOR, Answer, Toolbox

box = Toolbox()


@box.add(calls.SPEND_REPORT, model(SpendReport), OPERATOR)
async def spend_report(desk: Desk, days: Annotated[int, Field(ge=1, le=90)] = 7) -> Answer:
    """Show where the money of the last days went: by day, agent, type and model."""
    return write(await desk.yard.budgets.report(days))
