"""Who may do what: roles, what each of them is allowed, and the tokens that prove them.

A token is `ty_ID_SECRET`. Its id is public and names it in lists and in the audit; only a hash of its secret is stored.
A session is what a browser gets for a token, `tys_ID_SECRET`: it ends by itself, and with its token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from typing import Annotated, NamedTuple, NotRequired, TypedDict

from taskyard.core.changes import Record
from taskyard.core.json_value import Json
from taskyard.core.record_kinds import RecordKind
from taskyard.core.units import Micros
from taskyard.definition.view import Hidden, Time

EVERYWHERE = "*"  # tokens are known before the workspace that they are for, so they belong to none
PROXY = "proxy"  # the subject of whoever a trusted proxy names
NO_SECRET = "-"  # in place of the hash of a secret: no text proves such a token, only a session begun for it does
_TEXT = re.compile(r"ty(s?)_([0-9A-Z]{26})_([0-9A-Za-z_-]{43})", re.ASCII)


class Role(StrEnum):
    VIEWER = "viewer"  # sees everything of its workspace, changes nothing
    AGENT = "agent"  # claims, and touches only what it holds
    ORCHESTRATOR = "orchestrator"  # puts work in for others, and steers it; works like an agent too
    OPERATOR = "operator"  # a person who runs the yard
    ADMIN = "admin"  # an operator who also gives out tokens


class SignedInBy(StrEnum):
    """How a caller proved who they are."""

    NOTHING = "nothing"  # no token is needed here
    TOKEN = "token"
    OIDC = "oidc"
    PROXY = "proxy"


# What a call asks for, as the roles that have it.
SEE = frozenset({Role.VIEWER, Role.ORCHESTRATOR, Role.OPERATOR, Role.ADMIN})
WORK = frozenset({Role.AGENT, Role.ORCHESTRATOR, Role.OPERATOR, Role.ADMIN})
STEER = frozenset({Role.ORCHESTRATOR, Role.OPERATOR, Role.ADMIN})
OPERATE = frozenset({Role.OPERATOR, Role.ADMIN})
ADMINISTER = frozenset({Role.ADMIN})
ANYBODY = frozenset(Role)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What a token stands for."""

    id: str
    name: str
    role: Role
    workspace: str
    sealed: Annotated[str, Hidden("")]  # not even the hash of a secret leaves the server
    agent: str | None  # the type of agent that a token of that role works as
    created_at: Time
    created_by: str
    expires_at: Time | None
    revoked_at: Time | None = None  # it stays on record: a yard that ever had a token is closed to callers without one
    agent_id: str | None = None  # the one id of that type that it works as; None: any
    groups: tuple[str, ...] = ()  # of the person: questions may be for a group
    subject: str | None = None  # of a person who signed in: issuer and id there, or the proxy; None: it was given out

    @property
    def way(self) -> SignedInBy:
        """How whoever has it proved who they are."""
        if not self.sealed:
            return SignedInBy.NOTHING
        if self.subject is None:
            return SignedInBy.TOKEN
        return SignedInBy.PROXY if self.subject == PROXY else SignedInBy.OIDC

    @property
    def by(self) -> str:
        """Who is named as the author of what is done with it."""
        return f"agent:{self.agent_id or self.agent}" if self.role is Role.AGENT else f"human:{self.name}"

    def works_as(self, agent_id: str, agent_type: str | None) -> bool:
        """Whether work may be claimed and held in this agent's name. A type's name is that of all its agents."""
        if self.role is not Role.AGENT:
            return True
        if self.agent_id is not None:
            return agent_id == self.agent_id and agent_type in (None, self.agent)
        return self.agent == (agent_id if agent_type is None else agent_type)

    def body(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "role": self.role.value,
            "workspace": self.workspace,
            "sealed": self.sealed,
            "agent": self.agent,
            "agent_id": self.agent_id,
            "created_at": self.created_at,
            "created_by": self.created_by,
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
            "groups": list[Json](self.groups),
            "subject": self.subject,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a browser shows in place of the token that it was begun with."""

    id: str
    token_id: str
    sealed: str
    expires_at: Micros

    def body(self) -> dict[str, Json]:
        return {"token_id": self.token_id, "sealed": self.sealed, "expires_at": self.expires_at}


class PresentedToken(NamedTuple):
    """The text of a token or a session, taken apart."""

    is_session: bool
    id: str
    secret: str


def presented(text: str) -> PresentedToken | None:
    """What a caller shows; None where it is not even the shape of a token."""
    match = _TEXT.fullmatch(text)
    return None if match is None else PresentedToken(bool(match[1]), match[2], match[3])


def spelled(token_id: str, secret: str) -> str:
    return f"ty_{token_id}_{secret}"


def spelled_session(session_id: str, secret: str) -> str:
    return f"tys_{session_id}_{secret}"


def sealed(secret: str) -> str:
    """Secrets are random and long, so a plain hash cannot be searched."""
    return sha256(secret.encode()).hexdigest()


def proves(shown: Token | Session, secret: str, now: Micros) -> bool:
    """Whether the secret is the token's or the session's, and its time is not over."""
    return compare_digest(shown.sealed, sealed(secret)) and not is_over(shown, now)


def is_over(shown: Token | Session, now: Micros) -> bool:
    is_revoked = isinstance(shown, Token) and shown.revoked_at is not None
    return is_revoked or (shown.expires_at is not None and shown.expires_at <= now)


class TokenBody(TypedDict):
    name: str
    role: str
    workspace: str
    sealed: str
    agent: str | None
    agent_id: NotRequired[str | None]
    created_at: Micros
    created_by: str
    expires_at: Micros | None
    revoked_at: NotRequired[Micros | None]
    groups: NotRequired[list[str]]
    subject: NotRequired[str | None]


class SessionBody(TypedDict):
    token_id: str
    sealed: str
    expires_at: Micros


TOKEN = RecordKind("token", TokenBody)
SESSION = RecordKind("session", SessionBody)


def token_of(record: Record) -> Token:
    body = TOKEN.of(record)
    return Token(
        id=record.id,
        name=body["name"],
        role=Role(body["role"]),
        workspace=body["workspace"],
        sealed=body["sealed"],
        agent=body["agent"],
        agent_id=body.get("agent_id"),
        created_at=body["created_at"],
        created_by=body["created_by"],
        expires_at=body["expires_at"],
        revoked_at=body.get("revoked_at"),
        groups=tuple(body.get("groups", ())),
        subject=body.get("subject"),
    )


def session_of(record: Record) -> Session:
    return Session(id=record.id, **SESSION.of(record))
