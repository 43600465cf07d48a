"""The audit log: who did what."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from taskyard.api import calls
from taskyard.api import request_models as models
from taskyard.api.codec import write
from taskyard.api.openapi import model
from taskyard.features.audit.service import MOST_LISTED
from taskyard.features.audit.views import AuditPage, AuditPolicy
from taskyard.server.routing import Calling, Routes, answer

routes = Routes("audit")


def _text(description: str) -> object:
    return Query(min_length=1, max_length=255, description=description)


@routes.add(calls.AUDIT, model(AuditPage))
async def audit(
    caller: Calling,
    *,
    who: Annotated[str | None, _text("The author: human:ada.")] = None,
    action: Annotated[str | None, _text("The act: task.cancelled, or task.* for all that begin so.")] = None,
    object: Annotated[str | None, _text("What it was done to: agent:coder, or the id of a task or DAG.")] = None,
    since: Annotated[str | None, _text("A time as ISO 8601, from which on.")] = None,
    until: Annotated[str | None, _text("A time as ISO 8601, before which.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 50,
    cursor: Annotated[str | None, _text("That of the page before.")] = None,
) -> Response:
    """Who did what, newest first. One call looks at 5,000 entries; the cursor goes on behind them."""
    page = await caller.yard.audit.list(
        who=who, action=action, object=object, since=since, until=until, limit=limit, cursor=cursor
    )
    return answer(write(page))


@routes.add(calls.AUDIT_POLICY, model(AuditPolicy))
async def audit_policy(caller: Calling) -> Response:
    """How long entries are kept."""
    return answer(write(await caller.yard.audit.policy()))


@routes.add(calls.SET_AUDIT_POLICY, model(AuditPolicy))
async def set_audit_policy(caller: Calling, asked: models.SetAuditPolicy) -> Response:
    """Say how long entries are kept."""
    return answer(write(await caller.yard.audit.set_policy(asked.days, by=caller.by)))
