"""People who sign in: what a provider or a proxy says of them, and the role and workspace that gives them here.

Every way to sign in ends here: a name and groups come in, a place in a workspace comes out, or nothing. A person
without a membership is not let in. Nothing here reads a clock or a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from taskyard.core.errors import InvalidInput
from taskyard.core.json_value import compact, is_sequence
from taskyard.definition import fields
from taskyard.features.tokens.rules import Role

EVERYBODY = "*"  # in place of a group: whoever signs in
MOST_GROUPS = 1_000  # of one person
MOST_MEMBERSHIPS = 1_000
RESERVED = frozenset({"local", "anonymous", "yard", "timeout"})  # names that the yard itself writes down
FOR_PEOPLE = tuple(role for role in Role if role is not Role.AGENT)


class Identity(NamedTuple):
    """Who somebody is, as the provider or the proxy says."""

    name: str
    groups: tuple[str, ...]


class Membership(NamedTuple):
    """What the people of a group are here."""

    group: str
    role: Role
    workspace: str


def memberships(entries: Iterable[str], *, workspace: str) -> tuple[Membership, ...]:
    """Each entry is GROUP=ROLE or GROUP=ROLE@WORKSPACE; without a workspace, the server's own is meant."""
    given = [entry.strip() for entry in entries if entry.strip()]
    if len(given) > MOST_MEMBERSHIPS:
        raise InvalidInput("members", f"must have at most {MOST_MEMBERSHIPS} entries")
    return tuple(_membership(entry, workspace) for entry in given)


def _membership(entry: str, workspace: str) -> Membership:
    # A group may have any sign in its name, also an equals sign: many directories name them CN=ops,DC=example.
    group, equals, place = entry.rpartition("=")
    role, at, named = place.partition("@")
    if not equals or not group or role not in FOR_PEOPLE or (at and not named):
        roles = ", ".join(FOR_PEOPLE)
        raise InvalidInput("members", f"must be GROUP=ROLE or GROUP=ROLE@WORKSPACE with a role of {roles}")
    return Membership(fields.name(group, "members"), Role(role), fields.name(named, "members") if at else workspace)


def identity(name: object, groups: object) -> Identity:
    """What a provider or a proxy says of somebody, where that is a name and a list of groups."""
    named = fields.name(name, "name", most=100)
    if named.lower() in RESERVED:
        raise InvalidInput("name", f"must not be one of {', '.join(sorted(RESERVED))}: the yard itself signs with them")
    listed = [groups] if isinstance(groups, str) else groups
    if not is_sequence(listed):
        raise InvalidInput("groups", "must be a list of names")
    return Identity(named, fields.names(list(listed), "groups", most=MOST_GROUPS, longest=255))


def membership_of(person: Identity, known: Sequence[Membership]) -> Membership | None:
    """The first membership of one of the person's groups: operators list the strongest first."""
    return next((each for each in known if each.group == EVERYBODY or each.group in person.groups), None)


def token_digest(issuer: str, subject: str, workspace: str) -> bytes:
    """What the id of a person's token is made of: the same person has the same one each time they sign in."""
    return sha256(compact([issuer, subject, workspace]).encode()).digest()[:10]
