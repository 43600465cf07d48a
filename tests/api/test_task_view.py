"""Whatever is stored of a task is shown, sent and read back: in this process and beyond a server alike."""

from __future__ import annotations

from typing import Any

import pytest

from taskyard.api.codec import read, write
from taskyard.core.task import Definition
from taskyard.definition.document import fields_of
from taskyard.features.tasks.views import Details, Held, Task
from taskyard.yard import Yard
from tests.api.samples import sample
from tests.remote import beyond_a_server
from tests.yards import definition_of, given_an_agent

# Where a field of the definition stands in the document, where that is not under its own name.
SHOWN_AS = {
    "prompt": "spec.prompt",
    "payload": "spec.payload",
    "context_refs": "spec.context_refs",
    "spec_version": "spec.version",
    "max_cost": "spec.constraints.max_cost_usd",
    "max_duration_sec": "spec.constraints.max_duration_sec",
    "required_capabilities": "spec.constraints.required_capabilities",
    "model_preferences": "spec.constraints.model_preferences",
    "fallback_models": "spec.constraints.fallback_models",
    "boost": "priority_boost_per_minute",
    "claim_ttl_sec": "timeouts.claim_ttl_sec",
    "heartbeat_sec": "timeouts.heartbeat_sec",
    "lease_sec": "timeouts.lease_sec",
    "output_type": "output.type",
    "validation": "output.validation",
    "validation_schema": "output.validation_schema",
    "session_id": "session.session_id",
    "work_dir": "session.work_dir",
    "fresh": "session.fresh",
    "trigger_type": "trigger.type",
    "trigger_ref": "trigger.ref",
    "trigger_summary": "trigger.summary",
}
PARTS = ("retry", "timeouts", "output", "session", "trigger")  # what is asked of these is some of what is shown
NOT_SHOWN = {"barred": "it names agents that may not have the task, and is nobody's business but the yard's"}

# Each field with another value than its default; what is shown of it in the same place.
ASKED: dict[str, Any] = {
    "id": "task_01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "type": "code",
    "created_by": "human:ada",
    "queue": "night",
    "idempotency_key": "key-1",
    "title": "A title",
    "agent": "coder",
    "subject": "issue:42",
    "prompt": "Fix it",
    "payload": {"n": [1, None]},
    "context_refs": ["https://example.com/a"],
    "max_cost_usd": "0.75",
    "max_duration_sec": 77,
    "required_capabilities": ["git"],
    "model_preferences": ["large"],
    "fallback_models": ["small"],
    "priority": 7,
    "priority_boost_per_minute": "0.5",
    "deadline": "2099-01-01T00:00:00.000000Z",
    "run_after": "2020-01-01T00:00:00.000000Z",
    "expires_at": "2098-01-01T00:00:00.000000Z",
    "concurrency_key": "one-at-a-time",
    "coalescable": False,
    "max_attempts": 5,
    "retry": {"strategy": "fixed", "initial_delay_sec": 3},
    "timeouts": {"claim_ttl_sec": 41, "heartbeat_sec": 42, "lease_sec": 143},
    "output": {"type": "markdown", "validation": "regex", "validation_schema": "^a"},
    "session": {"session_id": "s-1", "work_dir": "/work", "fresh": False},
    "trigger": {"type": "comment", "ref": "c-1", "summary": "please"},
    "tags": ["red", "blue"],
    "remember": False,
    "variant": "b",
    "callback": "https://example.org/ended",
    "service": "batch",
    "trace": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}


def place(document: dict[str, Any], path: str) -> Any:
    for name in path.split("."):
        document = document[name]
    return document


@pytest.mark.parametrize("name", Definition._fields)
def test_every_field_of_a_definition_has_its_place_in_the_document_of_a_task(name: str):
    called = {field.called for field in fields_of(Details)}

    assert (name in NOT_SHOWN) != (SHOWN_AS.get(name, name).partition(".")[0] in called)


async def test_what_was_asked_for_is_shown_as_it_was_asked(yard: Yard):
    await yard.enqueue(**ASKED)
    shown = (await yard.get(ASKED["id"])).to_dict()

    asked: dict[str, Any] = {**ASKED, "priority_boost_per_minute": 0.5}
    for name, value in asked.items():
        path = {"max_cost_usd": "spec.constraints.max_cost_usd"}.get(name, SHOWN_AS.get(name, name))
        found = place(shown, path)
        assert (found if name not in PARTS else {each: found[each] for each in value}) == value, name


async def test_every_field_that_can_be_asked_for_is_asked_for_here(yard: Yard):
    await yard.enqueue(**ASKED)
    definition = await definition_of(yard, ASKED["id"])

    as_ever = {name for name, default in Definition._field_defaults.items() if getattr(definition, name) == default}
    assert as_ever == {"preset", "parent_id", "rerun_of", "depends_on", "coalescable", "fresh", "barred"} | {
        "spec_version"
    }


async def test_a_task_is_the_same_in_this_process_and_beyond_a_server(yard: Yard):
    await given_an_agent(yard, "coder-1", type="coder", capabilities=["git"])
    await yard.enqueue(**ASKED)
    async with beyond_a_server(yard) as remote:
        (held,) = await remote.claim("coder-1")
        here, there = await yard.get(held.id), await remote.get(held.id)
        (found,), (far,) = await yard.find(), await remote.find()

    assert_same(here, there)
    assert_same(found, far)
    assert (held.id, held.attempt, held.worker) == (here.id, 1, "coder-1")


def assert_same(here: Task, there: Task) -> None:
    """Every field, and every property that is worked out from them."""
    assert here.to_dict() == there.to_dict()
    names = [field.name for field in fields_of(type(here)) if not field.name.startswith("_")]
    for name in (*names, "agent", "prompt", "payload", "models", "policy"):
        assert getattr(here, name) == getattr(there, name), name


@pytest.mark.parametrize("kind", [Task, Held, Details])
def test_every_field_of_a_task_is_read_back(kind: type[Task]):
    fields = [field for field in fields_of(kind) if field.name != "created" and not field.name.startswith("_")]
    task = kind.of_fields(**{field.name: sample(field.kind) for field in fields})
    again = read(kind, write(task))

    for field in fields:
        assert getattr(again, field.name) == getattr(task, field.name), field.name


async def test_a_task_that_is_put_in_works_out_nothing_that_nobody_asks_for(yard: Yard):
    task = await yard.enqueue("code")
    filled = object.__getattribute__

    assert (task.id, task.type, task.status) == (task.id, "code", task.status)
    with pytest.raises(AttributeError):
        filled(task, "spec")
    assert task.spec.prompt == ""
    assert filled(task, "spec") is task.spec


def test_a_name_that_no_task_has_is_refused():
    task = Task.of_fields()

    with pytest.raises(AttributeError, match="no attribute 'hot'"):
        getattr(task, "hot")  # noqa: B009 - the type checker knows that there is none
