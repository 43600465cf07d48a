"""The URL of a store: whether it says one thing to everybody who reads it, and how it may be printed.

A password with an unescaped `/`, `?` or `#` ends early, and its rest reads as a path, an option or nothing. No error
from here repeats any part of a URL. Nothing here connects anywhere.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from taskyard.core.errors import InvalidInput

ESCAPED = "must have @, :, /, ?, # and % in a name or password written as %40, %3A, %2F, %3F, %23 and %25"
HIDDEN = "***"
_SAYABLE = re.compile(r"[^\x00-\x20\x7f]+")
_SHOWN = frozenset(  # options whose values are no secrets; of others only the name is shown
    {
        *("schema", "pool_size", "pgbouncer", "yard", "sslmode", "ssl_check_hostname", "target_session_attrs", "host"),
        *("port", "dbname", "database", "user", "sentinel_username"),
    }
)
_LOCAL = ("sqlite", "memory")


def checked(url: str) -> str:
    """The URL, if every reader takes it for the same one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InvalidInput("url", "must be a URL with a sound host") from None
    if parts.scheme in _LOCAL:
        return url
    if not _SAYABLE.fullmatch(url):
        raise InvalidInput("url", "must have no blanks and no control characters in it")
    if "#" in url or "@" in parts.path or "@" in parts.query.partition("password=")[0]:
        raise InvalidInput("url", ESCAPED)
    for host in parts.netloc.rpartition("@")[2].split(","):
        _check_port(host.removeprefix("http://").removeprefix("https://"))
    return url


def _check_port(host: str) -> None:
    try:
        _ = urlsplit(f"//{host}").port
    except ValueError:
        raise InvalidInput("url", f"must have a sound host and port; and it {ESCAPED}") from None


def shown(url: str) -> str:
    """The URL as it may be printed: no password, and no value of an option that may be one."""
    try:
        parts = urlsplit(checked(url))
    except InvalidInput:
        return f"{url.partition(':')[0][:20]}://{HIDDEN}"
    if parts.scheme in _LOCAL:
        return url
    return parts._replace(netloc=_place(parts), query=_options(parts.query)).geturl()


def _place(parts: SplitResult) -> str:
    login, at, place = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    return f"{user}{colon and ':' + HIDDEN}{at}{place}"


def _options(query: str) -> str:
    found = parse_qsl(query, keep_blank_values=True)
    return "&".join(f"{name}={value if name in _SHOWN else HIDDEN}" for name, value in found)
