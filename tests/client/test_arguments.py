"""What is given to a verb beyond a server reaches the same verb of the yard behind it, argument by argument."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack, get_args, get_origin, get_type_hints

import pytest

from taskyard.client.transport.call_encoding import GIVEN_BY_THE_TOKEN
from taskyard.core.errors import InvalidInput
from taskyard.definition.document import without_none
from taskyard.yard import Yard
from tests.client.test_same_yard import verbs
from tests.local_only import NEED_THE_STORE

TASK = "task_00000000000000000000000001"
# What a server's models take only in certain words.
GIVEN: dict[str, Any] = {
    "action": "priority",
    "artifact_id": "art_1",
    "blocked_reason": "streaming",
    "budget_per": "day",
    "budget_usd": "1.5",
    "busy": "skip",
    "by": "queue",
    "ceiling_usd": "1.5",
    "cost_usd": "1.5",
    "chunks": [{"text": "a"}],
    "content": "hello",
    "daily_budget_usd": "1.5",
    "dag": {"tasks": []},
    "default_reserve_usd": "1.5",
    "ends_at": "2031-01-01T00:00:00Z",
    "gap": "skip",
    "incarnation": "0123456789abcdef",
    "issue_id": "42",
    "kind": "overlay_action",
    "misfire": "skip",
    "only": {"a": 1},
    "lanes": "subject",
    "latest": [{"call": "peek", "old": "[]", "new": "a"}],
    "overlap": "both",
    "overrides": {"code": {"failure_threshold": 3}},
    "page": "dags",
    "phase": "shadow",
    "ready_made": "json",
    "resolution": "cancel",
    "results": [{"custom_id": "a", "outcome": "expired"}],
    "role": "agent",
    "measures": ["cost", "failed"],
    "since": "2030-01-01T00:00:00Z",
    "source": "hook",
    "starts_at": "2030-01-01T00:00:00Z",
    "step": {"took_sec": 1.5},
    "subject": "issue:42",
    "task": {"type": "code"},
    "task_id": TASK,
    "until": "2031-01-01T00:00:00Z",
    "variants": [{"name": "a"}],
    "window": "6h",
}
# Verbs that no verb of the same name carries out behind the server, and why.
OTHERWISE = {
    "attempts.complete_many": "its items are values, not arguments",
    "attempts.fail_many": "its items are values, not arguments",
    "attempts.check_leases": "its items are values, not arguments",
    "claim": "it is `attempts.claim_marked` without what that says for a wait",
    "attempts.claim_for_runtime": "the token says for whom",
    "dags.list": "it is `dags.page` without its cursor",
    "heartbeat": "it goes out with others",
    "presets.current": "it is part of who the caller is",
    "tasks.history": "it is part of the task",
    "approvals.signal": "it is `signal`",
    "verify": "there is nothing to give",
}

ASKED_FOR = {"overview.series": {"by"}, "dags.page": {"created_by"}}  # called as what a token gives, and sent
LEFT_OUT = {"tasks.bulk": ("ids",)}  # ids stand alone


def made(yard: Yard) -> dict[str, Callable[..., Any]]:
    """The verbs that are made from the table of calls."""
    return {
        name: call
        for name, call in verbs(yard).items()
        if hasattr(getattr(call, "__func__", call), "__wrapped__") and name not in NEED_THE_STORE
    }


def some(name: str, hint: Any) -> Any:
    """A value that is nobody's default."""
    if name in GIVEN:
        return GIVEN[name]
    kind = without_none(hint) or hint
    kinds = {kind, *get_args(kind)}
    origins = {get_origin(each) for each in kinds}
    if origins & {Sequence, Iterable}:
        return ["a", "b"]
    if Mapping in origins:
        return {"a": True}
    return next(value for each, value in ((str, f"a-{name}"), (bool, True), (float, 7.0), (int, 7)) if each in kinds)


def given_to(verb: Callable[..., Any]) -> dict[str, Any]:
    hints = get_type_hints(verb)
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(verb).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD and get_origin(hints[name]) is Unpack:
            given |= {field: some(field, hint) for field, hint in get_type_hints(get_args(hints[name])[0]).items()}
        else:
            given[name] = some(name, hints[name])
    return given


async def reached(local: Yard, name: str, ask: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """What the verb behind the server is given, where the one beyond it is given this."""
    noun, _, verb = name.rpartition(".")
    target = getattr(local, noun) if noun else local
    signature, heard = inspect.signature(getattr(target, verb)), dict[str, Any]()

    async def hear(*arguments: Any, **named: Any) -> None:
        for argument, value in signature.bind(*arguments, **named).arguments.items():
            is_rest = signature.parameters[argument].kind is inspect.Parameter.VAR_KEYWORD
            heard.update(value if is_rest else {argument: value})
        raise InvalidInput("heard", "enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, verb, hear)
        with pytest.raises(InvalidInput, match="enough"):
            await ask(**given)
    return {argument: heard.get(argument) for argument in given if argument not in unsent(name)}


def unsent(name: str) -> frozenset[str]:
    return GIVEN_BY_THE_TOKEN - ASKED_FOR.get(name, set())


async def test_every_argument_of_every_verb_reaches_the_yard_behind_the_server(local: Yard, remote: Yard):
    walked = {name: call for name, call in made(remote).items() if name not in OTHERWISE}
    for name, ask in walked.items():
        given = {each: value for each, value in given_to(ask).items() if each not in LEFT_OUT.get(name, ())}
        found = await reached(local, name, ask, given)
        said = {each: value for each, value in given.items() if each not in unsent(name)}

        assert {"verb": name, **found} == {"verb": name, **said}

    assert len(walked) > 100
    assert OTHERWISE.keys() <= made(remote).keys()


async def test_a_wrong_keyword_is_the_same_error_here_and_there(local: Yard, remote: Yard):
    near = verbs(local)
    for name, ask in made(remote).items():
        with pytest.raises(TypeError) as there:
            await ask(no_such_argument=1)
        with pytest.raises(TypeError) as here:
            await near[name](no_such_argument=1)
        if not any(each.kind is each.VAR_KEYWORD for each in inspect.signature(ask).parameters.values()):
            assert str(there.value) == str(here.value)


async def test_an_unknown_figure_of_what_was_spent_is_the_same_error_here_and_there(local: Yard, remote: Yard):
    for yard in (local, remote):
        with pytest.raises(TypeError, match="unexpected keyword argument 'costs_usd'"):
            await verbs(yard)["complete"](TASK, "lease", costs_usd="1")
