"""The providers that a gateway forwards to: which calls it knows, how they refuse, where they are and with which key.

Nothing here reaches out. An upstream is configured by the variables that the providers' own libraries read, in the
environment of the worker; the program of a command agent gets variables of the same names with other values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from taskyard.core.errors import InvalidInput

FIELD = "--gateway"


class Route(NamedTuple):
    """A call that a gateway forwards."""

    operation: str | None  # by the semantic conventions for generative AI; None: the call uses no model
    asks_for_usage: bool = False  # whether a stream says what it used only where the request asks for that


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """The shape of a provider's API. Paths are what stands behind the base URL."""

    name: str  # as in the semantic conventions, and in the price list
    base_variable: str
    key_variable: str
    base: str  # where the provider itself is
    prefix: str  # of the gateway's own paths, such that a base URL ends as the provider's libraries expect it
    posts: Mapping[str, Route]
    models: str  # the path of the list of models
    errors: Mapping[int, str]  # the type of an error, by status

    def route(self, method: str, path: str) -> Route | None:
        """What a call is; None where it is none that a gateway forwards."""
        if method == "POST":
            return self.posts.get(path)
        name = path.removeprefix(self.models)
        is_model = path == self.models or (name.startswith("/") and name.count("/") == 1 and name not in ("/.", "/.."))
        return _LISTING if method == "GET" and path.startswith(self.models) and is_model else None

    def error(self, status: int, message: str) -> dict[str, Any]:
        """An error as the provider would write it."""
        kind = self.errors.get(status, "api_error" if status >= 500 else "invalid_request_error")
        if self is ANTHROPIC:
            return {"type": "error", "error": {"type": kind, "message": message}}
        return {"error": {"message": message, "type": kind, "param": None, "code": kind}}

    def error_event(self, status: int, message: str) -> bytes:
        """The same error inside of a stream that has begun."""
        name = "event: error\n" if self is ANTHROPIC else ""
        return f"{name}data: {json.dumps(self.error(status, message))}\n\n".encode()


_LISTING = Route(None)
ANTHROPIC = Provider(
    name="anthropic",
    base_variable="ANTHROPIC_BASE_URL",
    key_variable="ANTHROPIC_API_KEY",
    base="https://api.anthropic.com",
    prefix="/anthropic",
    posts={"/v1/messages": Route("chat"), "/v1/messages/count_tokens": Route(None)},
    models="/v1/models",
    errors={
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        504: "timeout_error",
        529: "overloaded_error",
    },
)
OPENAI = Provider(
    name="openai",
    base_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
    base="https://api.openai.com/v1",
    prefix="/openai/v1",
    posts={
        "/chat/completions": Route("chat", asks_for_usage=True),
        "/responses": Route("chat"),
        "/embeddings": Route("embeddings"),
    },
    models="/models",
    errors={
        401: "invalid_api_key",
        402: "insufficient_quota",
        403: "permission_denied",
        404: "not_found",
        429: "rate_limit_exceeded",
        500: "server_error",
        502: "server_error",
        503: "server_error",
        504: "server_error",
    },
)
PROVIDERS = (ANTHROPIC, OPENAI)
TOKEN_VARIABLE = "ANTHROPIC_AUTH_TOKEN"
# What a program must not be given beside a gateway: it would call past the gateway, or with the real key.
WITHHELD = frozenset(
    {TOKEN_VARIABLE, *(name for each in PROVIDERS for name in (each.base_variable, each.key_variable))}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Where calls of one shape go."""

    provider: Provider
    url: str  # without a slash at its end
    headers: Mapping[str, str] = field(repr=False)  # with the real key


def configured(environment: Mapping[str, str]) -> tuple[Upstream, ...]:
    """The upstreams that this environment names, by a key, an address or both."""
    found = [_upstream(provider, environment) for provider in PROVIDERS]
    known = tuple(each for each in found if each is not None)
    if not known:
        names = " or ".join(each.key_variable for each in PROVIDERS)
        raise InvalidInput(FIELD, f"needs {names} in the worker's environment: no program gets to see it")
    return known


def _upstream(provider: Provider, environment: Mapping[str, str]) -> Upstream | None:
    url, key = environment.get(provider.base_variable, ""), environment.get(provider.key_variable, "")
    token = environment.get(TOKEN_VARIABLE, "") if provider is ANTHROPIC else ""
    if not (url or key or token):
        return None
    for name, value in ((provider.key_variable, key), (TOKEN_VARIABLE, token)):
        if not value.isascii() or not value.isprintable():
            raise InvalidInput(name, "must be in ASCII and in one line: it is sent in a header")
    headers: dict[str, str] = {}
    if provider is ANTHROPIC and key:
        headers = {"x-api-key": key}
    elif key or token:
        headers = {"authorization": f"Bearer {key or token}"}
    return Upstream(provider=provider, url=_checked(provider, url or provider.base), headers=headers)


def _checked(provider: Provider, url: str) -> str:
    """No error repeats the address, which may hold a password."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise InvalidInput(provider.base_variable, "must be a URL with a sound host and port") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(provider.base_variable, f"must be a URL such as {provider.base}")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidInput(provider.base_variable, "must have neither a password nor a query nor a fragment")
    return url.rstrip("/")
