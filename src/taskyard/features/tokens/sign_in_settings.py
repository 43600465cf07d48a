"""How people may sign in at a server besides by token, as its operator writes it down."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_network
from urllib.parse import urlsplit

from taskyard.core.errors import InvalidInput
from taskyard.features.tokens.people import Membership, memberships
from taskyard.outbound.addresses import Network, checked_host

NEAR = frozenset({"127.0.0.1", "localhost", "::1"})  # hosts that http is good enough for
MOST_PROXIES = 100
_HEADER = re.compile(r"[a-z0-9][a-z0-9-]{0,99}", re.ASCII)
# Headers that say something else already.
_TAKEN = frozenset({"authorization", "cookie", "host", "origin", "content-type", "content-length", "sec-fetch-site"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    """An OpenID provider, and which of its claims say what."""

    issuer: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)  # None: a public client, which PKCE is enough for
    name_claim: str = "preferred_username"
    groups_claim: str = "groups"
    scope: str = "openid profile email"
    label: str = "single sign-on"  # on the button


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """Proxies that say who is calling, and in which headers."""

    networks: tuple[Network, ...]
    user_header: str = "x-forwarded-user"
    groups_header: str = "x-forwarded-groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInSettings:
    members: tuple[Membership, ...] = ()
    oidc: OidcSettings | None = None
    proxy: ProxySettings | None = None

    @property
    def is_any(self) -> bool:
        return self.oidc is not None or self.proxy is not None


def sign_in_settings(
    *,
    workspace: str,
    members: tuple[str, ...] = (),
    oidc_issuer: str | None = None,
    oidc_client_id: str | None = None,
    oidc_client_secret: str | None = None,
    oidc_name_claim: str | None = None,
    oidc_groups_claim: str | None = None,
    oidc_scope: str | None = None,
    oidc_label: str | None = None,
    proxy_addresses: str | None = None,
    proxy_user_header: str | None = None,
    proxy_groups_header: str | None = None,
) -> SignInSettings:
    """What an operator wrote down, checked. Without a single membership nobody could sign in, so that is refused."""
    found = SignInSettings(
        members=memberships(members, workspace=workspace),
        oidc=_oidc(
            oidc_issuer,
            oidc_client_id,
            client_secret=oidc_client_secret,
            name_claim=oidc_name_claim,
            groups_claim=oidc_groups_claim,
            scope=oidc_scope,
            label=oidc_label,
        ),
        proxy=_proxy(proxy_addresses, user_header=proxy_user_header, groups_header=proxy_groups_header),
    )
    if found.is_any and not found.members:
        raise InvalidInput("members", "must have an entry GROUP=ROLE: without one, nobody who signs in gets in")
    return found


def _oidc(issuer: str | None, client_id: str | None, **more: str | None) -> OidcSettings | None:
    if not issuer:
        return None
    if not client_id:
        raise InvalidInput("oidc_client_id", "must be given with oidc_issuer: the provider knows this server by it")
    given = {name: value for name, value in more.items() if value}
    if "openid" not in given.get("scope", "openid").split():
        raise InvalidInput("oidc_scope", "must have openid in it")
    return OidcSettings(issuer=checked_issuer(issuer, "oidc_issuer"), client_id=client_id, **given)


def checked_issuer(given: str, path: str) -> str:
    """An issuer as RFC 8414 has it: what identifies it is compared letter by letter, so nothing of it is changed."""
    try:
        parts = urlsplit(given)
        _ = parts.port
    except ValueError:
        raise InvalidInput(path, "must be a URL with a sound host and port") from None
    is_near = parts.scheme == "http" and (parts.hostname or "") in NEAR
    if not (parts.scheme == "https" or is_near) or parts.query or parts.fragment or parts.username is not None:
        raise InvalidInput(path, "must be an https URL without user, query and fragment")
    checked_host(parts.hostname or "", path)
    return given


def _proxy(addresses: str | None, **headers: str | None) -> ProxySettings | None:
    listed = [entry.strip() for entry in (addresses or "").split(",") if entry.strip()]
    if not listed:
        return None
    try:
        networks = tuple(ip_network(entry) for entry in listed)
    except ValueError as error:
        raise InvalidInput("proxy_addresses", f"must be addresses and networks with commas between: {error}") from None
    if len(networks) > MOST_PROXIES or any(network.prefixlen == 0 for network in networks):
        raise InvalidInput("proxy_addresses", f"must be at most {MOST_PROXIES}, none of which is everybody")
    given = {name: value.lower() for name, value in headers.items() if value}
    for name, value in given.items():
        if not _HEADER.fullmatch(value) or value in _TAKEN:
            raise InvalidInput(f"proxy_{name}", "must be the name of a header of its own, such as X-Forwarded-User")
    return ProxySettings(networks=networks, **given)
