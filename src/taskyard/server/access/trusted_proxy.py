"""Proxies that say who is calling: their word is taken from listed addresses only, and from nobody else.

What such a proxy says becomes a text that stands for the person within this process, in the place of a token: every
door asks `caller_with` who somebody is, and gets the same answer. The text is signed with a key that no other process
has, and never leaves this one.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from ipaddress import ip_address
from secrets import token_bytes

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from taskyard.core.errors import Forbidden, InvalidInput
from taskyard.core.json_value import compact
from taskyard.core.units import HOUR, Micros
from taskyard.features.tokens.people import Identity, Membership, identity, membership_of
from taskyard.features.tokens.rules import NO_SECRET, PROXY, Token
from taskyard.features.tokens.sessions import LASTING
from taskyard.features.tokens.sign_in_settings import ProxySettings

PEER = "taskyard.peer"  # of a scope: the address that the connection comes from, whatever a header says
PREFIX = "typ_"


class TrustedProxy:
    def __init__(self, settings: ProxySettings, members: tuple[Membership, ...]) -> None:
        self._settings = settings
        self._members = members
        self._key = token_bytes(32)

    def check(self, connection: HTTPConnection) -> None:
        """Refuse the headers of a proxy on a connection that comes from no trusted proxy."""
        names = (self._settings.user_header, self._settings.groups_header)
        for name in names:
            if len(connection.headers.getlist(name)) > 1:
                raise Forbidden(f"it has the header {name} twice, and a proxy may have set only one of them")
        if any(name in connection.headers for name in names) and not self._is_listed(connection):
            raise Forbidden("it says who is calling as only a proxy may, and comes from none that is listed")

    def names_somebody(self, connection: HTTPConnection) -> bool:
        """Whether the proxy says who this is, and the caller shows nothing else."""
        headers = connection.headers
        return "authorization" not in headers and bool(headers.get(self._settings.user_header, "").strip())

    def shown(self, connection: HTTPConnection, now: Micros) -> str:
        """What stands for the person whom the proxy names; empty where it names nobody."""
        if not self.names_somebody(connection) or not self._is_listed(connection):
            return ""
        person = self._person(connection)
        # The hour and not the moment: a connection that follows events is known by one text.
        body = compact([person.name, list(person.groups), now // HOUR]).encode()
        return f"{PREFIX}{_text(body)}.{_text(self._signature(body))}"

    def token_of(self, shown: str, now: Micros) -> Token | None:
        """Whom a text stands for; None where it is none of this process."""
        if not shown.startswith(PREFIX):
            return None
        try:
            body, signature = (_bytes(part) for part in shown.removeprefix(PREFIX).split("."))
        except ValueError:
            return None
        if not hmac.compare_digest(signature, self._signature(body)):
            return None
        name, groups, hour = json.loads(body)
        if now > hour * HOUR + LASTING:
            return None
        return self._token(Identity(name, tuple(groups)), Micros(hour * HOUR))

    def _token(self, person: Identity, at: Micros) -> Token:
        member = membership_of(person, self._members)
        if member is None:
            raise Forbidden(f"{person.name} is in no group that has a role here")
        return Token(
            id=f"{PROXY}:{member.workspace}:{person.name}",
            name=person.name,
            role=member.role,
            workspace=member.workspace,
            sealed=NO_SECRET,
            agent=None,
            created_at=at,
            created_by=PROXY,
            expires_at=Micros(at + LASTING),
            groups=person.groups,
            subject=PROXY,
        )

    def _person(self, connection: HTTPConnection) -> Identity:
        name, groups = (
            connection.headers.get(each, "").encode("latin-1").decode("utf-8", "replace")
            for each in (self._settings.user_header, self._settings.groups_header)
        )
        try:
            return identity(name, [each.strip() for each in groups.split(",") if each.strip()])
        except InvalidInput as error:
            raise Forbidden(f"the proxy does not say who this is: {error}") from None

    def _is_listed(self, connection: HTTPConnection) -> bool:
        peer = connection.scope.get(PEER)
        if peer is None:
            return False
        address = ip_address(str(peer).partition("%")[0])
        # A socket for both kinds of addresses shows one of IPv4 inside one of IPv6.
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address.version == each.version and address in each for each in self._settings.networks)

    def _signature(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, sha256)


class PeerAddress:
    """Notes where a connection comes from, before a header of a proxy takes the place of that."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            client = scope.get("client")
            scope[PEER] = None if client is None else client[0]
        await self._app(scope, receive, send)


def _text(body: bytes) -> str:
    return urlsafe_b64encode(body).decode()


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text.encode())
