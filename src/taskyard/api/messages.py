"""Every message that the WebSocket takes, once: its shape, and who may send it. And why the server ends a connection.

The server answers what is in this table and nothing else. A message without its roles cannot be written down.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from taskyard.api import request_models, requests
from taskyard.features.tokens.rules import ANYBODY, SEE, Role

PROTOCOL = "taskyard"  # what a browser offers beside its token, and what is agreed on
TOKEN_PROTOCOL = "token."  # before the token, where that is offered as a protocol


class Closing(IntEnum):
    """Why the server ends a connection, as its closing code says. Whoever was cut off may resume."""

    FAILED = 1011  # of our own fault
    STOPPING = 1012  # the server stops; another one may be there
    NO_TOKEN = 4401  # none that is good was shown, or its time is over
    TOO_SLOW = 4408  # more has happened than is kept for a reader that does not read


class Message(NamedTuple):
    """One kind of message. `roles` may send it; None: anybody, also before a token was shown."""

    action: str
    shape: type[requests.RequestBody]
    roles: frozenset[Role] | None
    is_own: bool = False  # the role agent may send it too, about a task that it holds or has held

    def allows(self, role: Role) -> bool:
        return self.roles is None or role in self.roles or (self.is_own and role is Role.AGENT)


TOKEN = Message("token", request_models.ShowToken, None)
SUBSCRIBE = Message("subscribe", request_models.Subscribe, SEE, is_own=True)
UNSUBSCRIBE = Message("unsubscribe", request_models.Unsubscribe, ANYBODY)
PING = Message("ping", request_models.Ping, ANYBODY)

MESSAGES: dict[str, Message] = {value.action: value for value in list(globals().values()) if isinstance(value, Message)}
