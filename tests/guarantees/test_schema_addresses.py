"""No schema makes the yard fetch or open anything: each address is refused before a validator sees it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.definition.json_schema import DRAFTS
from taskyard.yard import Yard
from tests.guarantees.hostile_rules import with_addresses
from tests.listening import listening
from tests.yards import given_a_dead_letter, given_a_running_task

Door = Callable[[Mapping[str, Any]], Awaitable[object]]


async def doors(yard: Yard) -> dict[str, Door]:
    """Every way in which a rule for an output comes into the yard."""
    held, letter = await given_a_running_task(yard, by="ada"), await given_a_dead_letter(yard, by="bob")
    dag = await yard.submit({"tasks": [{"type": "code"}]})
    return {
        "enqueue": lambda output: yard.enqueue("code", output=output),
        "enqueue_many": lambda output: yard.enqueue_many([{"type": "code"}, {"type": "code", "output": output}]),
        "submit": lambda output: yard.submit({"tasks": [{"type": "code", "output": output}]}),
        "add": lambda output: yard.dags.add(dag.id, [{"type": "code", "output": output}]),
        "spawn": lambda output: yard.tasks.spawn(held.id, held.lease, [{"type": "code", "output": output}], name="n"),
        "modify": lambda output: yard.dead_letters.resolve(
            letter.id, "modify_and_retry", by="me", spec={"output": output}
        ),
        "schedule": lambda output: yard.schedules.add("s", "@daily", task={"type": "code", "output": output}),
        "trigger": lambda output: yard.triggers.add("t", "dag", task={"type": "code", "output": output}),
    }


async def test_whichever_way_a_schema_comes_in_no_address_in_it_is_fetched(yard: Yard):
    accepted: list[str] = []
    async with listening() as listener:
        for way, door in (await doors(yard)).items():
            for name, rule in with_addresses(listener.url).items():
                try:
                    await door({"validation": "json-schema", "validation_schema": rule})
                except InvalidInput as refused:
                    if str(refused.facts["field"]).endswith("validation_schema"):
                        continue
                accepted.append(f"{way}: {name}")

    assert listener.connections == 0
    assert not accepted


async def test_an_address_that_is_filled_into_a_template_is_not_fetched_either(yard: Yard):
    rule = {"validation": "json-schema", "validation_schema": {"$schema": "{{ draft }}"}}
    await yard.triggers.add("t", "dag", task={"type": "code", "output": rule})
    async with listening() as listener:
        fired = await yard.triggers.fire("t", {"draft": listener.url})

    assert (fired.outcome, fired.task_id) == ("failed", None)
    assert "known draft" in fired.why
    assert listener.connections == 0


@pytest.mark.parametrize("draft", sorted(DRAFTS))
async def test_a_known_draft_is_taken_by_its_name(yard: Yard, draft: str):
    rule = {"$schema": draft, "properties": {"$schema": {"type": "string"}, "$ref": {"type": "string"}}}

    task = await yard.enqueue("code", output={"validation": "json-schema", "validation_schema": rule})

    assert task.created
