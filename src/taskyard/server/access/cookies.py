"""The cookie that a browser shows in place of a token."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import Response

from taskyard.core.units import SECOND, Micros
from taskyard.features.tokens.views import Begun


def shown_session(connection: HTTPConnection) -> str:
    """The text of the session, where the request has no other proof of who it is; empty: it has none."""
    return "" if "authorization" in connection.headers else connection.cookies.get(session_cookie(connection), "")


def give_session(
    connection: HTTPConnection, answer: Response, begun: Begun, now: Micros, *, is_secure: bool = False
) -> None:
    answer.set_cookie(
        session_cookie(connection),
        begun.text,
        max_age=(begun.session.expires_at - now) // SECOND,
        path="/",
        secure=is_secure or _is_secure(connection),
        httponly=True,
        samesite="strict",
    )


def take_session(connection: HTTPConnection, answer: Response) -> None:
    answer.delete_cookie(
        session_cookie(connection), path="/", secure=_is_secure(connection), httponly=True, samesite="strict"
    )


def session_cookie(connection: HTTPConnection, name: str = "taskyard-session") -> str:
    """Cookies know no ports: of two yards on one machine, each has its own."""
    _, colon, port = connection.headers.get("host", "").rpartition(":")
    return f"{name}-{port}" if colon and port.isdigit() else name


def _is_secure(connection: HTTPConnection) -> bool:
    """Also behind a proxy that does not say so: the browser's own word for where the page is from is as good."""
    return connection.url.scheme in ("https", "wss") or connection.headers.get("origin", "").startswith("https://")
