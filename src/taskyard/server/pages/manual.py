"""The page at /docs: the whole OpenAPI document, without a script, and without anything of another site."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from itertools import cycle
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from taskyard.api.calls import AT

_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere } small { opacity: 0.75 }
nav { columns: 10rem } nav a { display: block }
details { border-top: 1px solid #8884; padding: 0.5rem 0 } summary { cursor: pointer } summary p { margin: 0 0 0 1rem }
h3 { font-size: 1rem; margin: 0.8rem 0 0.2rem 1rem }
table { border-collapse: collapse; width: calc(100% - 1rem); margin-left: 1rem; font-size: 0.9em }
td { border-top: 1px solid #8883; padding: 0.2rem 0.6rem 0.2rem 0; vertical-align: top }
td:first-child { width: min(14rem, 35%) }
"""
_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src data:; frame-ancestors 'none'"
}


async def manual(request: Request) -> HTMLResponse:
    return HTMLResponse(page(request.app.openapi()), headers=HEADERS)


def page(document: Mapping[str, Any]) -> str:
    """Every call with its parameters, body and answers, and every shape that these have, linked to each other."""
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            groups.setdefault(call["tags"][0], []).append(_call(method.upper(), path, call))
    contents = "".join(f'<a href="#{escape(group)}">{escape(group)}</a>' for group in groups)
    body = "".join(
        f'<section id="{escape(group)}"><h2>{escape(group)}</h2>{"".join(calls)}</section>'
        for group, calls in groups.items()
    )
    shapes = "".join(_shape(name, schema) for name, schema in sorted(document["components"]["schemas"].items()))
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    return (
        f'<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">'
        f'<link rel=icon href="data:,"><title>{title}</title><style>{_STYLE}</style>'
        f"<h1>{title}</h1><p>{_words(document['info']['description'])} The whole document, for programs: "
        f'<a href="/openapi.json">/openapi.json</a>.</p><nav>{contents}<a href="#shapes">shapes</a></nav>{body}'
        f"<section id=shapes><h2>shapes</h2>{shapes}</section></html>"
    )


def _call(method: str, path: str, call: Mapping[str, Any]) -> str:
    roles = AT[method, path].roles
    who = "anybody" if roles is None else ", ".join(sorted(role.value for role in roles))
    name = f"<code>{method} {escape(path)}</code> <small>{escape(who)}</small>"
    parts = [f"<summary>{name}<p>{_words(call.get('description', ''))}</p></summary>"]
    if parameters := call.get("parameters"):
        rows = [
            _row(each["name"], each["schema"], each["required"], each["in"], each.get("description", ""))
            for each in parameters
        ]
        parts.append(f"<h3>Parameters</h3><table>{''.join(rows)}</table>")
    if content := call.get("requestBody", {}).get("content"):
        parts.append(f"<h3>Body</h3><table>{_contents('', content)}</table>")
    answers = [
        _contents(status, each["content"])
        if "content" in each
        else f"<tr><td>{status}<td>{_words(each['description'])}"
        for status, each in sorted(call["responses"].items())
        if status < "400"
    ]
    refused = ", ".join(
        f"{status} {each['description']}" for status, each in call["responses"].items() if status >= "400"
    )
    parts.append(f"<h3>Answer</h3><table>{''.join(answers)}</table>")
    if refused:
        parts.append(f"<h3>Refused</h3><table><tr><td>{escape(refused)}</table>")
    return f"<details>{''.join(parts)}</details>"


def _contents(status: str, content: Mapping[str, Any]) -> str:
    return "".join(
        f"<tr><td>{escape(f'{status} {media}'.strip())}<td>{_kind(each.get('schema', {}))}"
        for media, each in content.items()
    )


def _shape(name: str, schema: Mapping[str, Any]) -> str:
    needed = schema.get("required", ())
    rows = "".join(
        _row(field, of, field in needed, "", of.get("description", ""))
        for field, of in schema.get("properties", {}).items()
    )
    fields = f"<table>{rows}</table>" if rows else f"<p>{_kind(schema)}</p>"
    head = f"<summary><code>{escape(name)}</code><p>{_words(schema.get('description', ''))}</p></summary>"
    # Inside of what is folded: browsers unfold what an address leads into.
    return f'<details>{head}<div id="shape-{escape(name)}">{fields}</div></details>'


def _row(name: str, schema: Mapping[str, Any], is_needed: bool, where: str, about: str) -> str:
    facts = [where, "required" if is_needed else ""]
    if "default" in schema:
        facts.append(f"default {json.dumps(schema['default'], ensure_ascii=False)}")
    known = escape(", ".join(filter(None, facts)))
    return f"<tr><td><code>{escape(name)}</code><td>{_kind(schema)} <small>{known}</small><br>{_words(about)}"


def _kind(schema: Mapping[str, Any]) -> str:
    """What a value may be, in a word or as links to its shapes."""
    if reference := schema.get("$ref"):
        name = escape(reference.rpartition("/")[2])
        return f'<a href="#shape-{name}">{name}</a>'
    if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " or ".join(map(_kind, choices))
    if "const" in schema or "enum" in schema:
        return " or ".join(escape(json.dumps(each)) for each in schema.get("enum", [schema.get("const")]))
    match schema.get("type", "anything"):
        case "array":
            return f"list of {_kind(schema.get('items', {}))}"
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return f"object of {_kind(schema['additionalProperties'])}"
        case kind:
            return escape(str(kind))


def _words(text: str) -> str:
    """Plain text, with what stands between backticks as code."""
    return "".join(
        f"<code>{escape(part)}</code>" if is_code else escape(part)
        for is_code, part in zip(cycle((False, True)), text.split("`"), strict=False)
    )
