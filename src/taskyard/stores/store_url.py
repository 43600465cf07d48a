"""The URL of a store: whether it is unambiguous, and how it may be printed.

A password with an unescaped `/`, `?` or `#` ends early, and parsers take its rest for a path, an option or nothing. No
error of this module repeats any part of a URL. This module opens no connection.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from taskyard.core.errors import InvalidInput

ESCAPED = "must have @, :, /, ?, # and % in a name or password written as %40, %3A, %2F, %3F, %23 and %25"
HIDDEN = "***"
_PRINTABLE = re.compile(r"[^\x00-\x20\x7f]+")
_PUBLIC_OPTIONS = frozenset(  # options whose values are not secret; for other options only the name is printed
    {
        *("schema", "pool_size", "pgbouncer", "yard", "sslmode", "ssl_check_hostname", "target_session_attrs", "host"),
        *("port", "dbname", "database", "user", "sentinel_username"),
    }
)
_LOCAL = ("sqlite", "memory")


def check_url(url: str) -> str:
    """Return the URL if every parser reads it the same way; refuse it otherwise."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InvalidInput("url", "must be a URL with a sound host") from None
    if parts.scheme in _LOCAL:
        return url
    if not _PRINTABLE.fullmatch(url):
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


def redact_url(url: str) -> str:
    """The URL as it may be printed: without passwords, and without values of options that may be secret."""
    try:
        parts = urlsplit(check_url(url))
    except InvalidInput:
        return f"{url.partition(':')[0][:20]}://{HIDDEN}"
    if parts.scheme in _LOCAL:
        return url
    return parts._replace(netloc=_host_part(parts), query=_options(parts.query)).geturl()


def _host_part(parts: SplitResult) -> str:
    login, at, place = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    return f"{user}{colon and ':' + HIDDEN}{at}{place}"


def _options(query: str) -> str:
    found = parse_qsl(query, keep_blank_values=True)
    return "&".join(f"{name}={value if name in _PUBLIC_OPTIONS else HIDDEN}" for name, value in found)
