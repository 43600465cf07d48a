"""An OpenID provider on this machine, as real as the tests need one: it signs, takes each code once, and checks PKCE.

Each knob makes it lie in one way.
"""

from __future__ import annotations

import asyncio
import json
import threading
from base64 import b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from secrets import token_urlsafe
from time import time
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT, SECRET = "taskyard", "s3cr3t of the client"
Signer = Callable[["Provider", dict[str, Any]], str]


def signed(provider: Provider, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": provider.key.kid}, claims, provider.key)


@dataclass(slots=True)
class Provider:
    port: int = 0
    key: RSAKey = field(default_factory=lambda: new_key("first"))
    person: dict[str, Any] = field(
        default_factory=lambda: {"sub": "7", "preferred_username": "anna", "groups": ["ops", "staff"]}
    )
    claims: dict[str, Any] = field(default_factory=dict[str, Any])  # in place of what is true
    left_out: tuple[str, ...] = ()  # claims that are not in the id token
    document: dict[str, Any] = field(default_factory=dict[str, Any])
    userinfo: dict[str, Any] = field(default_factory=dict[str, Any])
    sign: Signer = signed
    padding: int = 0  # blanks behind each answer
    gate: asyncio.Event = field(default_factory=asyncio.Event)  # no token is given while it is shut
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    asked: list[str] = field(default_factory=list[str])  # paths

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            request, *lines = head.strip().split("\r\n")
            method, target, _ = request.split(" ")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body = (await reader.readexactly(int(headers.get("content-length", 0)))).decode()
            path, query = urlsplit(target).path, dict(parse_qsl(urlsplit(target).query))
            self.asked.append(path)
            status, location, answer = await self._answer(method, path, query, headers, dict(parse_qsl(body)))
            text = json.dumps(answer) + " " * self.padding
            place = f"Location: {location}\r\n" if location else ""
            writer.write(
                f"HTTP/1.1 {status} Said\r\n{place}Content-Type: application/json\r\n"
                f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode()
            )
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # whoever asked has gone
        finally:
            writer.close()

    async def _answer(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], form: dict[str, str]
    ) -> tuple[int, str | None, Any]:
        match method, path:
            case "GET", "/.well-known/openid-configuration":
                return 200, None, self._document()
            case "GET", "/keys":
                return 200, None, KeySet([self.key]).as_dict(private=False)
            case "GET", "/authorize":
                return 303, self._authorized(query), {}
            case "POST", "/token":
                await self.gate.wait()
                return self._token(headers, form)
            case "GET", "/userinfo":
                is_known = headers.get("authorization") == "Bearer for-userinfo"
                return (200, None, self.userinfo) if is_known else (401, None, {"error": "invalid_token"})
            case "GET", "/end":
                return 303, query["post_logout_redirect_uri"], {}
            case _:
                return 404, None, {"error": "not_found"}

    def _document(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "end_session_endpoint": f"{self.issuer}/end",
            **self.document,
        }

    def _authorized(self, query: dict[str, str]) -> str:
        assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
        code = token_urlsafe(16)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state'], 'iss': self.issuer})}"

    def _token(self, headers: dict[str, str], form: dict[str, str]) -> tuple[int, str | None, Any]:
        client = b64decode(headers.get("authorization", "").removeprefix("Basic ")).decode()
        if client != f"{CLIENT}:{SECRET.replace(' ', '%20')}":
            return 401, None, {"error": "invalid_client"}
        asked = self.codes.pop(form["code"], None)
        challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if asked is None or (asked["code_challenge"], asked["redirect_uri"]) != (challenge, form["redirect_uri"]):
            return 400, None, {"error": "invalid_grant"}
        now = int(time())
        true = {"iss": self.issuer, "aud": CLIENT, "exp": now + 300, "iat": now, "nonce": asked["nonce"], **self.person}
        stated = {name: value for name, value in {**true, **self.claims}.items() if name not in self.left_out}
        return 200, None, {"access_token": "for-userinfo", "token_type": "Bearer", "id_token": self.sign(self, stated)}


@cache
def new_key(name: str, owner: str = "provider") -> RSAKey:
    """A key of this name; another owner has another one. Making one takes a tenth of a second."""
    assert owner
    return RSAKey.generate_key(2048, {"kid": name, "use": "sig"})


@asynccontextmanager
async def providing() -> AsyncGenerator[Provider]:
    provider = Provider()
    provider.gate.set()
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
    provider.port = server.sockets[0].getsockname()[1]
    async with server:
        yield provider


@contextmanager
def providing_beside() -> Generator[Provider]:
    """The same in a thread of its own, for tests without an event loop."""
    is_up, found = threading.Event(), list[tuple[Provider, asyncio.AbstractEventLoop, asyncio.Event]]()

    async def run() -> None:
        async with providing() as provider:
            stop = asyncio.Event()
            found.append((provider, asyncio.get_running_loop(), stop))
            is_up.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert is_up.wait(30)
    provider, loop, stop = found[0]
    try:
        yield provider
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
