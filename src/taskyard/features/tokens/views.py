"""What is answered about tokens, and to whoever shows one."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.definition.view import FLAT, About, Named, Time, view
from taskyard.features.tokens.rules import Role, Session, Token


class Issued(NamedTuple):
    """A token that was just made. Its text is shown this once."""

    SCHEMA = "IssuedToken"

    token: Annotated[Token, FLAT]
    text: Annotated[str, Named("token")]


class Begun(NamedTuple):
    """A session that was just begun. Its text is for the browser alone."""

    session: Session
    text: str


@view
class May:
    steer: Annotated[bool, About("Put work in, cancel, retry, approve.")]
    operate: Annotated[bool, About("Drain agents, pause queues, move breakers, set budgets.")]
    administer: Annotated[bool, About("Give out tokens.")]


@view
class Who:
    """Whoever is calling."""

    role: Role
    name: str
    by: Annotated[str, About("What they are named as the author of changes.")]
    workspace: str
    preset: str
    version: Annotated[str, About("The server's.")]
    needs_login: Annotated[bool, About("False: whoever reaches this server may do everything.")]
    expires_at: Annotated[Time | None, About("When the session ends; null: it is no session.")]
    may: May
