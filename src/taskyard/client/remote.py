"""What every feature beyond a server has: the connection, and no store."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from taskyard.core.errors import InvalidInput
from taskyard.host import NEEDS_THE_STORE

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection


class Remote:
    """A feature whose verbs a server carries out. Those that it inherits from the local one find no store."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    if not TYPE_CHECKING:  # a misspelled name is still found by the type checker

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") and not name.startswith("__"):
                raise InvalidInput("url", NEEDS_THE_STORE)  # what local features are made of
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
