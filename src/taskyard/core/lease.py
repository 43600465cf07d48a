"""Leases: the right to finish one attempt.

A token is derived from the yard's secret, the agent and the claim's request id, so that repeating a claim whose answer
was lost gives the same tokens again. It ends in the number of its attempt, so no two attempts of a task share one.
Stores keep only the seal of a token.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b, sha256
from typing import NewType

from taskyard.core.json_value import compact
from taskyard.core.task import Hot
from taskyard.core.units import SECOND, Micros

Lease = NewType("Lease", str)


def asked(workspace: str, agent: str, request_id: str) -> str:
    """A request as nobody else makes it: whoever learns its id gets no other agent's tokens by using it too."""
    return compact([workspace, agent, request_id])


def mint(secret: bytes, request: str, count: int) -> list[str]:
    """The stems of one claim's tokens, in the order its tasks are handed out."""
    stem = blake2b(_bytes(request), key=secret, digest_size=16)
    return [f"lease_{_numbered(stem.copy(), index)}" for index in range(count)]


def token(stem: str, attempt: int) -> Lease:
    """What the agent is given."""
    return Lease(f"{stem}.{attempt}")


# Asked for when the task is claimed, and again when its attempt ends.
@lru_cache(maxsize=2048)
def seal_stem(stem: str) -> str:
    return sha256(_bytes(stem)).hexdigest()[:32]


def seal(lease: Lease | str) -> str:
    """What is stored of a token: enough to check it, not enough to use it."""
    stem, _, attempt = lease.rpartition(".")
    return numbered(seal_stem(stem), attempt)


def numbered(sealed_stem: str, attempt: int | str) -> str:
    """The seal that a claim stores, once it knows which attempt this is."""
    return f"{sealed_stem}.{attempt}"


def sealed_stem(sealed: str) -> str:
    """The sealed stem in what is stored."""
    return sealed.rpartition(".")[0]


def _bytes(text: str) -> bytes:
    # Whatever a caller makes up is no lease of anything; that it is no text either must not break the answer.
    return text.encode("utf-8", "surrogatepass")


def _numbered(stem: blake2b, index: int) -> str:
    stem.update(index.to_bytes(4, "big"))
    return stem.hexdigest()


def extended_end(hot: Hot, now: Micros) -> Micros:
    """When a lease ends after a heartbeat. Later than before, so that the row of before differs from it.

    Unless the clock was set back: then the end before was that of a wrong clock.
    """
    end, before = Micros(now + hot.lease_sec * SECOND), hot.lease_expires_at or 0
    return Micros(before + 1) if end <= before < end + SECOND else end
