"""Who looks at which yard, and what that person may do in it."""

from __future__ import annotations

from typing import NamedTuple

from taskyard.api.calls import Call
from taskyard.features.tokens.rules import Role
from taskyard.yard import Yard


class TerminalSession(NamedTuple):
    yard: Yard
    role: Role
    by: str  # kept with what is done here; a server keeps the name of the token instead

    def may(self, call: Call) -> bool:
        """By the table of calls, as the server decides: a key that would be refused is not offered."""
        return call.allows(self.role)
