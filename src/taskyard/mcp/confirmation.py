"""Asking the user before something is done that cannot be undone."""

from __future__ import annotations

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from taskyard.core.errors import Forbidden, InvalidInput
from taskyard.mcp.toolbox import Tool, refused

MODERN = "2026-07-28"  # from this protocol on a server sends no requests: it answers with what it needs
KEY = "confirm"
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {KEY: {"type": "boolean", "title": "Do it?"}},
    "required": [KEY],
}

Context = ServerRequestContext[Any, Any]


def is_modern(context: Context) -> bool:
    return context.protocol_version >= MODERN


async def confirmed(
    context: Context, params: CallToolRequestParams, tool: Tool
) -> CallToolResult | InputRequiredResult | None:
    """None: go on. Otherwise what is answered in place of doing it: a question for the user, or a refusal.

    A client that can ask its user is made to, whatever the model says that the user has agreed to.
    """
    given = params.arguments or {}
    if tool.confirmation is None:
        return None
    if not _can_ask(context):
        rule = "must be true once the user has agreed: this client cannot ask by itself"
        return None if given.get("confirmed") is True else refused(InvalidInput("confirmed", rule))
    message = tool.confirmation(given)
    if is_modern(context):
        answer = (params.input_responses or {}).get(KEY)
        if answer is None:
            form = ElicitRequestFormParams(message=message, requested_schema=FORM)
            return InputRequiredResult(input_requests={KEY: ElicitRequest(params=form)})
    else:
        answer = await context.session.elicit_form(message, FORM, related_request_id=context.request_id)
    return None if _agrees(answer) else refused(Forbidden("the user was asked, and did not agree"))


def _can_ask(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return False
    return is_modern(context) or context.session.can_send_request


def _agrees(answer: object) -> bool:
    return isinstance(answer, ElicitResult) and answer.action == "accept" and (answer.content or {}).get(KEY) is True
