"""Who hands out the tokens of this yard, where the operator has named one: for clients of MCP to find (RFC 9728)."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from taskyard.api.calls import MCP, MCP_METADATA
from taskyard.core.errors import Unauthorized
from taskyard.core.json_value import compact
from taskyard.server.access.auth import LOOPBACK, Serving, admitted
from taskyard.server.problems import of_error


class MetadataRoute(Route):
    """Says which server hands out tokens for MCP, where the operator has named one (RFC 9728)."""

    def __init__(self) -> None:
        super().__init__(MCP_METADATA.path, _metadata, methods=[MCP_METADATA.method], include_in_schema=False)


async def _metadata(request: Request) -> Response:
    serving: Serving = request.app.state.serving
    request.state.call = MCP_METADATA
    await admitted(request, MCP_METADATA)
    if serving.issuer is None or serving.mcp is None:
        raise HTTPException(404)
    document = {
        "resource": origin_of(request) + MCP.path,
        "authorization_servers": [serving.issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Taskyard",
    }
    return Response(compact(document), media_type="application/json")


def unauthorized(request: Request, error: Unauthorized) -> Response:
    answer = of_error(error)
    answer.headers["WWW-Authenticate"] = f'Bearer resource_metadata="{origin_of(request)}{MCP_METADATA.path}"'
    return answer


def origin_of(request: Request) -> str:
    """The server as its caller names it, which is one of its allowed names. Beyond loopback a proxy has the TLS."""
    host = request.headers["host"]
    return f"{'http' if request.url.hostname in LOOPBACK else 'https'}://{host}"
