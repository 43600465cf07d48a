"""What is answered about tokens, and to whoever shows one."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from taskyard.definition.view import FLAT, About, Named, Time, view
from taskyard.features.tokens.rules import Role, Session, SignedInBy, Token


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
    groups: Annotated[tuple[str, ...], About("Those of the person, which questions may be for.")]
    signed_in_by: Annotated[SignedInBy, About("How they proved who they are.")]
    stores_files: Annotated[bool, About("Whether the yard has a place for artifacts.")]


@view
class SignInWays:
    """How people may sign in here."""

    oidc: Annotated[str | None, About("The path that leads to the provider; null: there is none.")]
    name: Annotated[str | None, About("What the provider is called on the button.")]


@view
class SignedOut:
    """The session is over, here and in the browser."""

    ok: bool
    url: Annotated[str | None, About("Where the provider ends its own session; null: nowhere.")]
