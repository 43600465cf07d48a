"""What every feature beyond a server has: the connection, no store, and verbs made from the table of calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import CoroutineType, MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

from taskyard.api.calls import Call
from taskyard.api.codec import read
from taskyard.client.transport.call_encoding import Encoding, Prepare
from taskyard.core.errors import InvalidInput
from taskyard.host import NEEDS_THE_STORE

if TYPE_CHECKING:
    from taskyard.client.transport.connection import Connection

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="Remote")
Verb = Callable[P, "CoroutineType[Any, Any, R]"]  # `self` included: the types of the local verb
AS_THEY_ARE: Mapping[str, str] = MappingProxyType({})


class Remote:
    """A feature whose verbs a server carries out. Those that it inherits from the local one find no store."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    if not TYPE_CHECKING:  # a misspelled name is still found by the type checker

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") and not name.startswith("__"):
                raise InvalidInput("url", NEEDS_THE_STORE)  # what local features are made of
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


def feature(kind: type[F], arguments: tuple[object, ...]) -> F:
    """The feature that a verb was called on."""
    if not isinstance(found := arguments[0], kind):
        raise TypeError(f"a verb over HTTP is called on a {kind.__name__}, not on {found!r}")
    return found


def over_http(
    verb: Verb[P, R],
    call: Call,
    *,
    names: Mapping[str, str] = AS_THEY_ARE,
    prepare: Prepare | None = None,
    reads: Callable[[Any], R] | None = None,
) -> Verb[P, R]:
    """The local verb, carried out by a server: its arguments make the call, and its type reads the answer.

    `names` and `prepare` are those of `Encoding`. `reads` makes the answer of its document where its type does not.
    """
    encoding = Encoding(verb, call, names, prepare)

    @wraps(verb)
    async def ask(*arguments: P.args, **named: P.kwargs) -> R:
        asked = encoding.request(*arguments[1:], **named)
        document = await feature(Remote, arguments).connection.ask(
            call, asked.body, query=asked.query, headers=asked.headers, wait_sec=asked.wait_sec, **asked.names
        )
        if reads is not None:
            return reads(document)
        return read(encoding.answer, document if call.answer is None else document[call.answer])

    return ask
