"""The address of a yard, parsed from its URL.

redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?yard=NAME]      one server; a cluster, where it is one
rediss://…                                                         the same over TLS
redis+cluster://HOST:PORT,HOST:PORT                                a cluster by several of its nodes
redis+sentinel://HOST:PORT,HOST:PORT/MASTER[/DATABASE]             whichever server Sentinel says is the master

The last two may begin with `rediss+`. Options: yard, ssl_ca_certs, ssl_certfile, ssl_keyfile, ssl_check_hostname; with
Sentinel also sentinel_username and sentinel_password.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from taskyard.core.errors import InvalidInput

DEFAULT_YARD = "taskyard"
_PORT, _SENTINEL_PORT = 6379, 26379
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}", re.ASCII)
_OPTIONS = frozenset(
    {
        *("yard", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname"),
        *("sentinel_username", "sentinel_password"),
    }
)


class Endpoint(NamedTuple):
    name: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}:{self.port}"


class Login(NamedTuple):
    username: str | None
    password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisAddress:
    hosts: tuple[Endpoint, ...]
    master: str | None  # set if the hosts are Sentinels: their name of the master
    database: int
    login: Login | None
    sentinel_login: Login | None
    tls: ssl.SSLContext | None
    yard: str

    @property
    def name(self) -> str:
        """The address for messages, without the password."""
        return ",".join(map(str, self.hosts)) + (f"/{self.master}" if self.master else "")

    @property
    def prefix(self) -> str:
        """The prefix of every key of the yard. The braces make a cluster keep all of them on one server."""
        return f"{{{self.yard}}}:"


def parse_address(url: str) -> RedisAddress:
    parts = urlsplit(url)
    scheme, _, kind = parts.scheme.partition("+")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if unknown := sorted(options.keys() - _OPTIONS):
        raise InvalidInput("url", f"has the option {unknown[0]}, and there are only {', '.join(sorted(_OPTIONS))}")
    yard = options.get("yard", DEFAULT_YARD)
    if not _NAME.fullmatch(yard):
        raise InvalidInput("url", "must name its yard in letters, digits, dots, hyphens and underscores")
    user, _, hosts = parts.netloc.rpartition("@")
    path = [unquote(each) for each in parts.path.strip("/").split("/") if each]
    sentinel = kind == "sentinel"
    if sentinel and not path:
        raise InvalidInput("url", "must name the master after the Sentinels: redis+sentinel://HOST:PORT/MASTER")
    return RedisAddress(
        hosts=tuple(_host(each, _SENTINEL_PORT if sentinel else _PORT) for each in hosts.split(",")),
        master=path.pop(0) if sentinel else None,
        database=_database(path),
        login=_login(user),
        sentinel_login=_sentinel_login(options),
        tls=_tls(options) if scheme == "rediss" else None,
        yard=yard,
    )


def _host(text: str, port: int) -> Endpoint:
    parts = urlsplit(f"//{text}")
    try:
        return Endpoint(parts.hostname or "localhost", parts.port or port)
    except ValueError:  # its message repeats the text, which may be part of a password
        raise InvalidInput("url", "must have hosts and ports") from None


def _database(path: list[str]) -> int:
    if len(path) > 1 or (path and not path[0].isdecimal()):
        raise InvalidInput("url", "must end in the number of a database, or in nothing")
    return int(path[0]) if path else 0


def _login(user: str) -> Login | None:
    name, _, password = user.partition(":")
    return Login(unquote(name) or None, unquote(password)) if password else None


def _sentinel_login(options: dict[str, str]) -> Login | None:
    password = options.get("sentinel_password")
    return None if password is None else Login(options.get("sentinel_username"), password)


def _tls(options: dict[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=options.get("ssl_ca_certs"))
    context.check_hostname = options.get("ssl_check_hostname", "true").lower() not in ("false", "0", "no")
    if "ssl_certfile" in options:
        context.load_cert_chain(options["ssl_certfile"], options.get("ssl_keyfile"))
    return context
