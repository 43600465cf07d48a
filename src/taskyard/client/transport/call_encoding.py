"""The arguments of a verb as the request that its call makes: names in the path, a query, headers, members of a body.

Everything is worked out from the local verb and its entry in the table of calls, when the verb is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple, Unpack, get_args, get_origin, get_type_hints

from taskyard.api.calls import Call
from taskyard.client.transport.body import as_object, parts, several
from taskyard.client.transport.connection import Query
from taskyard.client.transport.headers import shown
from taskyard.definition.arguments import wait
from taskyard.definition.document import without_none
from taskyard.ledger.ids import mint

Arguments = dict[str, Any]
Prepare = Callable[[Arguments], Arguments]
GIVEN_BY_THE_TOKEN = frozenset({"by", "created_by", "sent_by", "token"})  # who asks: never sent
_CONVERTED: dict[object, Callable[[object], object]] = {Iterable: several, Sequence: several, Mapping: as_object}


def minted(argument: str, kind: str) -> Prepare:
    """An id that the caller leaves open is made here, so that the same call again does no harm."""

    def prepare(given: Arguments) -> Arguments:
        return given if given[argument] is not None else {**given, argument: f"{kind}_{mint()}"}

    return prepare


class EncodedCall(NamedTuple):
    """What one call says."""

    names: dict[str, str]  # in its path
    query: Query
    headers: dict[str, str]
    members: str | None = None  # of the JSON object that is its body
    wait_sec: float = 0  # that the server is asked to wait

    @property
    def body(self) -> bytes | None:
        return None if self.members is None else f"{{{self.members}}}".encode()


class Encoding:
    """How the arguments of a verb are sent.

    `names` has what an argument is called over HTTP, where that is another name, or where it is called like one that
    the token gives and is none. `prepare` is given the arguments by their names, and gives those to be sent. An
    argument that is None and may be left out is not sent.
    """

    def __init__(
        self, verb: Callable[..., Any], call: Call, names: Mapping[str, str], prepare: Prepare | None = None
    ) -> None:
        self._verb = verb
        self._prepare = prepare
        self._has_body = call.method in ("POST", "PUT")
        chosen = {called: name for name, called in names.items()}
        self._in_path = {chosen.get(name, name): name for name in call.path_names}
        self._renamed = {name: called for name, called in names.items() if name not in self._in_path}
        self._unsent = GIVEN_BY_THE_TOKEN - names.keys()

    def request(self, *arguments: object, **named: object) -> EncodedCall:
        given = self.bind(*arguments, **named)
        return self.encode(given if self._prepare is None else self._prepare(given))

    def encode(self, given: Arguments) -> EncodedCall:
        names: dict[str, str] = {}
        sent: Arguments = {}
        in_path, optional, renamed, converted = self._in_path, self._optional, self._renamed, self._converted
        for argument, value in given.items():
            if argument in in_path:
                names[in_path[argument]] = value
            elif value is not None or argument not in optional:
                sent[renamed.get(argument, argument)] = converted[argument](value) if argument in converted else value
        if self._has_body:
            return EncodedCall(names, {}, {}, parts(**sent) if sent or self._may_say_more else None)
        # A verb that takes a lease shows it in headers, with its task.
        headers = shown(sent.pop("lease", None), sent.pop("task_id", None)) if "lease" in given else {}
        return EncodedCall(names, sent, headers, wait_sec=wait("wait_sec", sent.get("wait_sec", 0)))

    @cached_property
    def bind(self) -> Callable[..., Arguments]:
        """What takes the arguments of the verb, without its `self`, and gives those to be sent by their names.

        It has the verb's own signature, so that the interpreter refuses what does not fit in the same words.
        """
        own = list(signature(self._verb).parameters.values())[1:]
        bare = [each.replace(default=Parameter.empty, annotation=Parameter.empty) for each in own]
        fields: list[Parameter] = []
        if bare and bare[-1].kind is Parameter.VAR_KEYWORD:
            fields = [Parameter(name, Parameter.KEYWORD_ONLY) for name in self._fields(bare.pop().name)]
        taken = [each.name for each in (*bare, *fields)]
        sent = ", ".join(f"{name!r}: {name}" for name in taken if name not in self._unsent)
        binder = eval(f"lambda {str(Signature([*bare, *fields]))[1:-1]}: {{{sent}}}")
        binder.__qualname__, binder.__defaults__ = self._verb.__qualname__, self._verb.__defaults__
        binder.__kwdefaults__ = {**(self._verb.__kwdefaults__ or {}), **dict.fromkeys(each.name for each in fields)}
        return binder

    def _fields(self, name: str) -> list[str]:
        """The names that `**name: Unpack[Fields]` stands for."""
        if get_origin(hint := self._hints[name]) is not Unpack:
            raise TypeError(f"{self._verb.__qualname__} must name what it takes, with Unpack")
        return list(get_type_hints(get_args(hint)[0]))

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        return get_type_hints(self._verb)

    @cached_property
    def answer(self) -> Any:
        """The type of what the verb answers with."""
        return self._hints["return"]

    @cached_property
    def _converted(self) -> Mapping[str, Callable[[object], object]]:
        kinds = {name: get_origin(without_none(hint) or hint) for name, hint in self._hints.items()}
        return {name: _CONVERTED[kind] for name, kind in kinds.items() if kind in _CONVERTED}

    @cached_property
    def _may_say_more(self) -> bool:
        """Whether the body has members, also where a caller leaves all of them out."""
        return not signature(self.bind).parameters.keys() <= self._in_path.keys() | self._unsent

    @cached_property
    def _optional(self) -> frozenset[str]:
        parameters = signature(self.bind).parameters
        return frozenset(name for name, each in parameters.items() if each.default is None)
