"""The page at /docs: every call of the OpenAPI document, without a script, and without anything of another site."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from taskyard.api.calls import AT

_STYLE = """
:root { color-scheme: light dark } body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto }
code { font: 0.9em ui-monospace, monospace } dt { margin-top: 0.8rem } dd { margin: 0 0 0 1rem } small { opacity: 0.7 }
"""
_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
HEADERS = {"Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; frame-ancestors 'none'"}


async def manual(request: Request) -> HTMLResponse:
    return HTMLResponse(page(request.app.openapi()), headers=HEADERS)


def page(document: Mapping[str, Any]) -> str:
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            groups.setdefault(call["tags"][0], []).append(_call(method.upper(), path, call))
    body = "".join(f"<h2>{escape(group)}</h2><dl>{''.join(calls)}</dl>" for group, calls in groups.items())
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{_STYLE}</style>"
        f"<h1>{title}</h1><p>{escape(document['info']['description'])} The whole document, for programs: "
        f'<a href="/openapi.json">/openapi.json</a>.</p>{body}</html>'
    )


def _call(method: str, path: str, call: Mapping[str, Any]) -> str:
    roles = AT[method, path].roles
    who = "anybody" if roles is None else ", ".join(sorted(role.value for role in roles))
    words = escape(call.get("description", ""))
    return f"<dt><code>{method} {escape(path)}</code> <small>{escape(who)}</small></dt><dd>{words}</dd>"
