"""The dashboard's files, as they were built into the package. They hold nothing of a yard, so anybody may have them.

All of them are known before the first is asked for: a path is looked up and never opened.
"""

from __future__ import annotations

import gzip
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from taskyard.api.calls import AT, PAGE
from taskyard.server.access.auth import admitted

BUILT = Path(__file__).parents[1] / "static"
INDEX = "index.html"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_COMPRESSED = frozenset({".css", ".html", ".js", ".svg", ".txt"})
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "worker-src": "'self'",
    "manifest-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
_ALWAYS = "public, max-age=31536000, immutable"  # its name has a digest of what is in it
_ASK = "no-cache"
UNBUILT = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Taskyard</title><h1>Taskyard</h1>"
    "<p>The server is up, but the dashboard has not been built in this source checkout. Build it with "
    "<code>make dashboard</code>, and start the server again.</p><p>Every call is described at "
    '<a href="/docs">/docs</a>.</p></html>'
)

# To who asks for `/` and accepts no HTML, as curl does.
FOR_PROGRAMS = """Taskyard, a durable task queue for AI agents.

/              the dashboard, in a browser
/docs          every call, to read and to try
/openapi.json  the same for programs
/api/stats     tasks by state and type
"""


class File(NamedTuple):
    body: bytes
    packed: bytes | None
    media_type: str
    lasting: str
    tag: str

    def answer(self, request: Request) -> Response:
        headers = {**HEADERS, "Cache-Control": self.lasting, "ETag": self.tag, "Vary": "Accept-Encoding"}
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(None, 304, headers)
        if self.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self.packed, 200, {**headers, "Content-Encoding": "gzip"}, self.media_type)
        return Response(self.body, 200, headers, self.media_type)


class Pages:
    """The files under one folder, by the paths they are asked for under."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _files(self) -> dict[str, File]:
        found = [path for path in self._folder.rglob("*") if path.suffix in _TYPES]
        return {path.relative_to(self._folder).as_posix(): _read(path, self._folder) for path in found}

    async def answer(self, request: Request) -> Response:
        """A file; to who wants a page, the one page that shows them all; where none was built, how to."""
        request.state.call = PAGE
        await admitted(request, PAGE)
        file = self._files.get(request.scope["path"].removeprefix("/"))
        if file is None and "text/html" in request.headers.get("accept", ""):
            file = self._files.get(INDEX)
            if file is None:
                return HTMLResponse(UNBUILT, 503, HEADERS)
        if file is None and request.scope["path"] == "/":
            return PlainTextResponse(FOR_PROGRAMS, headers=HEADERS)
        if file is None:
            raise HTTPException(404)
        return file.answer(request)


class PageRoute(Route):
    """Every path that does not begin as a call does."""

    def __init__(self, pages: Pages) -> None:
        super().__init__(PAGE.path, pages.answer, methods=[PAGE.method], include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or scope["path"].split("/")[1:2][0] in _TAKEN:
            return Match.NONE, {}
        is_asked = scope["method"] in ("GET", "HEAD")
        return (Match.FULL if is_asked else Match.PARTIAL), {"endpoint": self.endpoint, "path_params": {}}


_TAKEN = frozenset(path.split("/")[1] for _, path in AT if path != PAGE.path)


def _read(path: Path, folder: Path) -> File:
    body = path.read_bytes()
    is_hashed = path.parent != folder
    return File(
        body,
        gzip.compress(body, 6, mtime=0) if path.suffix in _COMPRESSED else None,
        _TYPES[path.suffix],
        _ALWAYS if is_hashed else _ASK,
        f'"{sha256(body).hexdigest()[:32]}"',
    )
