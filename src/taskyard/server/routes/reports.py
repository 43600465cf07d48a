"""Reports: what was done, what it cost and how long it took, by group."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from taskyard.api import calls
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.reports import rules
from taskyard.features.reports.views import GroupedReport
from taskyard.server.routes.tasks import Selection
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("reports")
Time = Annotated[str | None, Query(description="ISO 8601 with a zone; without it, the last seven days.", max_length=64)]


@routes.add(calls.REPORT, model(GroupedReport))
async def report(
    caller: Calling,
    *,
    by: Annotated[list[str], Query(description=f"Up to three of {', '.join(rules.GROUPINGS)}.", max_length=3)] = [  # noqa: B006 - read, never written
        "type"
    ],
    measures: Annotated[
        list[str], Query(description=f"Of {', '.join(rules.MEASURES)}.", max_length=len(rules.MEASURES))
    ] = [*rules.USUAL_MEASURES],  # noqa: B006
    source: Annotated[str, Query(description="attempts, or days: the stored figures.", max_length=20)] = rules.ATTEMPTS,
    since: Time = None,
    until: Time = None,
    which: Selection,
) -> Response:
    """Sums, counts and percentiles by group: of attempts at the newest 5,000 tasks that match, or of stored days."""
    found = await caller.yard.reports.make(by=by, measures=measures, source=source, since=since, until=until, **which)
    return answer(write(found))
