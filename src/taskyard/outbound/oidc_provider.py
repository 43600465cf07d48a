"""An OpenID provider: where its endpoints are, which keys it signs with, and whom it says somebody to be.

Everything goes through the connector that looks a name up once and connects only to what it checked. The host of the
issuer is the operator's choice and may be on a private network; where its documents lead to other hosts, these must
be public or allowed. Nothing that a provider says is believed before its signature, issuer, audience, times and nonce
are. What went wrong is for those who run the server: `SignInRefused.why` has no secret in it.
"""

from __future__ import annotations

import asyncio
import hmac
from base64 import b64encode
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, NamedTuple, cast
from urllib.parse import quote, urlencode, urlsplit

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import Json, check_values, decode, is_list, is_object
from taskyard.core.units import SECOND, Micros
from taskyard.features.tokens.people import Identity, identity
from taskyard.features.tokens.sign_in_settings import NEAR, OidcSettings
from taskyard.outbound.addresses import AllowedTargets
from taskyard.outbound.channels import Request
from taskyard.outbound.safe_connect import Lookup, Undelivered, looked_up
from taskyard.outbound.webhooks import fetch

WITHIN = 10.0  # seconds that a provider has for one answer
MOST_BYTES = 512 << 10  # of one answer
MOST_VALUES = 20_000
MOST_TOKEN = 64 << 10  # characters of an id token
LASTING = 3600.0  # seconds for which a document of the provider is believed
PAUSE = 10.0  # seconds at least between two looks for new keys: forged tokens name keys that are not there
SKEW = 60  # seconds that the clocks may disagree
AT_ONCE = 20  # sign-ins that are under way beside each other
# Signed with a private key, all of them: with a shared secret, whoever has the public key could sign.
ALGORITHMS = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), RSAKey),
    **dict.fromkeys(("ES256", "ES384", "ES512"), ECKey),
    **dict.fromkeys(("EdDSA", "Ed25519"), OKPKey),
}
LEAST_RSA_BITS = 2048
Key = RSAKey | ECKey | OKPKey


class SignInRefused(Exception):
    """Nobody is signed in. Why is for those who run the server."""

    def __init__(self, why: str, *, is_provider: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.is_provider = is_provider  # the provider failed, and not the person


class Endpoints(NamedTuple):
    """What the provider's own document says of it."""

    authorization: str
    token: str
    keys: str
    userinfo: str | None
    end_session: str | None
    takes_basic: bool  # the client's secret in a header, and not in the body


class ProvenPerson(NamedTuple):
    """Whom the provider has named."""

    subject: str
    person: Identity


class OidcProvider:
    def __init__(
        self,
        settings: OidcSettings,
        permitted: AllowedTargets,
        *,
        lookup: Lookup = looked_up,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._settings = settings
        host = urlsplit(settings.issuer).hostname or ""
        self._permitted = AllowedTargets(permitted.hosts | {host}, permitted.networks)
        self._lookup = lookup
        self._clock = clock
        self._found: tuple[float, Endpoints] | None = None
        self._keys: tuple[float, list[Key]] | None = None
        self._looking = asyncio.Lock()
        self._signing_in = asyncio.Semaphore(AT_ONCE)

    @property
    def settings(self) -> OidcSettings:
        return self._settings

    async def authorization_url(self, *, redirect_uri: str, state: str, nonce: str, challenge: str) -> str:
        """Where a browser is sent to sign in."""
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": self._settings.scope,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return _with_query((await self._endpoints()).authorization, asked)

    async def end_url(self, back: str) -> str | None:
        """Where a browser is sent to end the provider's own session, if the provider has such a place."""
        end = (await self._endpoints()).end_session
        asked = {"client_id": self._settings.client_id, "post_logout_redirect_uri": back}
        return None if end is None else _with_query(end, asked)

    async def proved(self, code: str, *, verifier: str, nonce: str, redirect_uri: str, now: Micros) -> ProvenPerson:
        """Whom the provider names for this code; `SignInRefused` where it names nobody, or not soundly."""
        async with self._signing_in:
            endpoints = await self._endpoints()
            given = await self._tokens(endpoints, code, verifier, redirect_uri)
            claims = await self._checked(given.get("id_token"), nonce, now)
            names = (self._settings.name_claim, self._settings.groups_claim)
            if endpoints.userinfo is not None and any(claim(claims, name) is None for name in names):
                claims = {**await self._userinfo(endpoints.userinfo, given, str(claims["sub"])), **claims}
        name, groups = (claim(claims, each) for each in names)
        try:
            return ProvenPerson(str(claims["sub"]), identity(name, [] if groups is None else groups))
        except InvalidInput as error:
            raise SignInRefused(f"its claims {' and '.join(names)} do not say who somebody is: {error}") from None

    async def _tokens(self, endpoints: Endpoints, code: str, verifier: str, redirect_uri: str) -> dict[str, Json]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        client, secret = self._settings.client_id, self._settings.client_secret
        if secret is not None and endpoints.takes_basic:
            pair = f"{quote(client, safe='')}:{quote(secret, safe='')}".encode()
            headers["Authorization"] = f"Basic {b64encode(pair).decode()}"
        else:
            form |= {"client_id": client} | ({} if secret is None else {"client_secret": secret})
        return await self._asked(Request("POST", endpoints.token, headers, urlencode(form).encode()))

    async def _userinfo(self, url: str, given: Mapping[str, Json], subject: str) -> dict[str, Json]:
        shown = given.get("access_token")
        if not isinstance(shown, str) or not shown.isascii() or not shown.isprintable():
            return {}
        found = await self._asked(Request("GET", url, {"Authorization": f"Bearer {shown}"}, b""))
        if found.get("sub") != subject:
            raise SignInRefused("its userinfo is about somebody else")
        return found

    async def _checked(self, token: object, nonce: str, now: Micros) -> dict[str, Json]:
        """The claims of an id token that is this provider's, for this server, for this sign-in, and on time."""
        if not isinstance(token, str) or not token.isascii() or len(token) > MOST_TOKEN:
            raise SignInRefused("it gave no id token")
        try:
            header = jws.extract_compact(token.encode()).headers()
        except (JoseError, ValueError):
            raise SignInRefused("its id token is no signed token") from None
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS:
            raise SignInRefused(f"its id token is signed with {str(algorithm)[:20]}, which proves nothing")
        key = await self._key(algorithm, key_id)
        try:
            claims: dict[str, Json] = jwt.decode(token, key, algorithms=[algorithm]).claims
        except (JoseError, ValueError):
            raise SignInRefused("its id token is not signed by it") from None
        self._check_claims(claims, nonce, now // SECOND)
        return claims

    def _check_claims(self, claims: Mapping[str, Any], nonce: str, now: int) -> None:
        audience: object = claims.get("aud")
        audiences = audience if is_list(audience) else [audience]
        client, subject = self._settings.client_id, claims.get("sub")
        if claims.get("iss") != self._settings.issuer:
            raise SignInRefused("its id token is of another issuer")
        if client not in audiences or claims.get("azp", client) != client:
            raise SignInRefused("its id token is for another client")
        if len(audiences) > 1 and "azp" not in claims:
            raise SignInRefused("its id token is for several clients, and does not say which of them asked for it")
        if not isinstance(subject, str) or not subject.strip() or len(subject) > 255:
            raise SignInRefused("its id token does not say who somebody is")
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise SignInRefused("its id token belongs to another sign-in")
        ends, made, begins = (_moment(claims.get(name)) for name in ("exp", "iat", "nbf"))
        if ends is None or made is None:
            raise SignInRefused("its id token does not say from when to when it is good")
        if ends <= now - SKEW:
            raise SignInRefused("its id token has expired")
        if max(made, begins or 0) > now + SKEW:
            raise SignInRefused("its id token is of a time that is still to come: compare the clocks")

    async def _endpoints(self) -> Endpoints:
        async with self._looking:
            if self._found is None or self._clock() - self._found[0] > LASTING:
                self._found = self._clock(), await self._discovered()
            return self._found[1]

    async def _discovered(self) -> Endpoints:
        issuer = self._settings.issuer
        place = f"{issuer.removesuffix('/')}/.well-known/openid-configuration"
        stated = await self._asked(Request("GET", place, {}, b""))
        if stated.get("issuer") != issuer:
            raise SignInRefused(
                "its document is of another issuer: oidc_issuer must be spelled as there", is_provider=True
            )
        methods = stated.get("token_endpoint_auth_methods_supported")
        return Endpoints(
            authorization=self._place(stated, "authorization_endpoint"),
            token=self._place(stated, "token_endpoint"),
            keys=self._place(stated, "jwks_uri"),
            userinfo=self._place(stated, "userinfo_endpoint") if "userinfo_endpoint" in stated else None,
            end_session=self._place(stated, "end_session_endpoint") if "end_session_endpoint" in stated else None,
            takes_basic=not isinstance(methods, list) or "client_secret_basic" in methods,
        )

    def _place(self, stated: Mapping[str, Json], name: str) -> str:
        """A URL of the provider's document: https, or http on this machine where the issuer is here too."""
        url = stated.get(name)
        if not isinstance(url, str) or not self._is_place(url):
            raise SignInRefused(f"its document has no sound {name}", is_provider=True)
        return url

    def _is_place(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            return False
        is_near = parts.scheme == "http" and urlsplit(self._settings.issuer).scheme == "http" and parts.hostname in NEAR
        is_plain = url.isascii() and url.isprintable() and parts.username is None and not parts.fragment
        return is_plain and bool(parts.hostname) and (parts.scheme == "https" or is_near)

    async def _key(self, algorithm: str, key_id: object) -> Key:
        """The key that a token names. One that is not known may be new: then the keys are looked up again."""
        async with self._looking:
            known = self._keys
            found = None if known is None else _chosen(known[1], algorithm, key_id)
            age = None if known is None else self._clock() - known[0]
            if age is None or age > LASTING or (found is None and age > PAUSE):
                endpoints = self._found
                url = (endpoints[1] if endpoints is not None else await self._discovered()).keys
                self._keys = self._clock(), await self._fetched_keys(url)
                found = _chosen(self._keys[1], algorithm, key_id)
        if found is None:
            raise SignInRefused("its id token is signed with a key that it does not have")
        return found

    async def _fetched_keys(self, url: str) -> list[Key]:
        stated = await self._asked(Request("GET", url, {}, b""))
        listed = stated.get("keys")
        keys: list[Key] = []
        for each in listed if isinstance(listed, list) else []:
            try:
                (key,) = KeySet.import_key_set(cast(Any, {"keys": [each]})).keys
            except (JoseError, ValueError, TypeError, KeyError, AttributeError):
                continue  # a kind of key that is not known here: others may do
            if isinstance(key, RSAKey | ECKey | OKPKey) and is_object(each) and each.get("use", "sig") == "sig":
                keys.append(key)
        return keys

    async def _asked(self, request: Request) -> dict[str, Json]:
        """A JSON object of the provider, within bounds."""
        place = urlsplit(request.url).hostname
        headers = {"Accept": "application/json", **request.headers}
        try:
            status, body = await fetch(
                request._replace(headers=headers),
                most_bytes=MOST_BYTES,
                within=WITHIN,
                permitted=self._permitted,
                lookup=self._lookup,
            )
        except Undelivered as failed:
            raise SignInRefused(f"{place}: {failed.why}", is_provider=True) from None
        try:
            check_values(body, "answer", MOST_VALUES)
            found = decode(body, field="answer")
        except InvalidInput as error:
            raise SignInRefused(
                f"{place} answered with status {status} and no sound JSON: {error}", is_provider=True
            ) from None
        if status != 200 or not isinstance(found, dict):
            stated = str(found.get("error", ""))[:100] if isinstance(found, dict) else ""
            raise SignInRefused(f"{place} answered with status {status} {stated}".rstrip(), is_provider=status >= 500)
        return found


def claim(claims: Mapping[str, Json], name: str) -> Json:
    """A claim by its name, or by the names that lead to it with dots between: `realm_access.roles`."""
    if name in claims:
        return claims[name]
    found: Json = dict(claims)
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _chosen(keys: list[Key], algorithm: str, key_id: object) -> Key | None:
    """The one key that is meant; without a name, the only one of its kind."""
    kind = ALGORITHMS[algorithm].key_type
    fitting = [
        key for key in keys if key.key_type == kind and _is_strong(key) and (key_id is None or key.kid == key_id)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _is_strong(key: Key) -> bool:
    return not isinstance(key, RSAKey) or key.raw_value.key_size >= LEAST_RSA_BITS


def _moment(value: object) -> float | None:
    """Seconds since 1970; None where it is no number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _with_query(url: str, asked: Mapping[str, str]) -> str:
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(asked)}"
