"""Signatures of webhooks, and what makes a delivery good: signed, on time, and not seen before.

The scheme `standard` is that of standardwebhooks.com: an HMAC over id, time and body. The scheme `github` signs the
body alone; there, the body itself is what is taken once. Only what is signed is ever handed on.

A hook's secret is derived from the yard's own, so it is stored nowhere: not in records, dumps, events or logs.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from taskyard.core.json_value import compact
from taskyard.core.units import MINUTE, SECOND, Micros

PREFIX = "whsec_"
TOLERANCE = Micros(5 * MINUTE)
HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature", "x-hub-signature-256")  # all that is looked at
_TIMESTAMP = re.compile(r"\d{1,12}", re.ASCII)
_ID = re.compile(r"[!-\-/-~]{1,255}", re.ASCII)  # no dot: what is signed is joined by dots, and must have one reading


class Scheme(StrEnum):
    STANDARD = "standard"
    GITHUB = "github"


class SignedDelivery(NamedTuple):
    """What came, once its signature was found good."""

    key: str  # what it is known by when it comes again
    id: str | None  # as its sender calls it, where that is signed
    signed_at: Micros | None


class Unsound(Exception):
    """The delivery is refused. Why is for those who run the yard: who sent it may be anybody."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def hook_secret(yard: bytes, workspace: str, hook: str, nonce: str) -> str:
    """The secret of a hook, as it is shown once and given to its sender."""
    return PREFIX + b64encode(hmac.digest(yard, compact(["hook", workspace, hook, nonce]).encode(), sha256)).decode()


def signed(secret: str, id_: str, timestamp: int, body: bytes) -> str:
    """The signature header of the scheme `standard`."""
    key = b64decode(secret.removeprefix(PREFIX))
    head = f"{id_}.{timestamp}.".encode(errors="replace")
    return "v1," + b64encode(hmac.digest(key, head + body, sha256)).decode()


def signed_for_github(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.digest(secret.encode(), body, sha256).hex()


def delivered(
    scheme: Scheme, headers: Mapping[str, str], body: bytes, secrets: Sequence[str], now: Micros
) -> SignedDelivery:
    """The delivery, if one of the hook's secrets has signed it."""
    match scheme:
        case Scheme.STANDARD:
            return _standard(headers, body, secrets, now)
        case Scheme.GITHUB:
            return _github(headers, body, secrets)


def _standard(headers: Mapping[str, str], body: bytes, secrets: Sequence[str], now: Micros) -> SignedDelivery:
    id_, stamp, shown = (headers.get(name, "") for name in HEADERS[:3])
    is_stamped = _TIMESTAMP.fullmatch(stamp) is not None
    # Before anything is looked at: a delivery that lacks something takes as long as one that is signed wrongly.
    good = [signed(secret, id_, int(stamp) if is_stamped else 0, body) for secret in secrets]
    if not id_ or not stamp or not shown:
        raise Unsound("it has not all of webhook-id, webhook-timestamp and webhook-signature")
    if not _ID.fullmatch(id_) or not is_stamped:
        raise Unsound("its id or its timestamp is garbled")
    # Before its time is looked at: nobody who does not know the secret learns whether the clocks agree.
    if not _is_among(shown.split(), good):
        raise Unsound("its signature is not good")
    signed_at = Micros(int(stamp) * SECOND)
    if abs(now - signed_at) > TOLERANCE:
        early = "ahead of" if signed_at > now else "behind"
        raise Unsound(f"its time is {abs(now - signed_at) // SECOND} s {early} the yard's")
    return SignedDelivery(_digest(id_), id_, signed_at)


def _github(headers: Mapping[str, str], body: bytes, secrets: Sequence[str]) -> SignedDelivery:
    shown = headers.get("x-hub-signature-256", "")
    good = [signed_for_github(secret, body) for secret in secrets]
    if not shown:
        raise Unsound("it has no x-hub-signature-256")
    if not _is_among([shown], good):
        raise Unsound("its signature is not good")
    # Its delivery id is not signed, so whoever sends it again may call it what they like.
    return SignedDelivery(sha256(body).hexdigest(), None, None)


def _is_among(shown: Sequence[str], good: Sequence[str]) -> bool:
    pairs = [(each.encode(errors="replace"), other.encode()) for each in shown[:10] for other in good]
    return any(hmac.compare_digest(each, other) for each, other in pairs)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
