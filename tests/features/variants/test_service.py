"""Tasks of a type that has variants: which one each is, and what its attempt sees."""

from collections import Counter
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.yards import claim_that, given_an_agent, states_of

PLAIN = {"name": "plain", "share": 1, "model_preferences": ["small"]}
THOROUGH = {
    "name": "thorough",
    "share": 1,
    "model_preferences": ["large"],
    "prompt": "Think twice. {prompt}",
    "payload": {"steps": 3},
}


async def test_the_attempt_sees_what_the_variant_has(yard: Yard):
    await yard.variants.set("code", [PLAIN, THOROUGH], by="human:ann")
    await given_an_agent(yard)
    asked = await yard.enqueue("code", variant="thorough", prompt="Sort it.", payload={"file": "a.py", "steps": 1})

    held = await claim_that(yard, asked.id)
    assert (held.variant, held.prompt) == ("thorough", "Think twice. Sort it.")
    assert held.payload == {"file": "a.py", "steps": 3}
    assert held.spec.constraints.model_preferences == ("large",)
    other = await yard.enqueue("code", variant="plain", prompt="Sort it.")
    assert (other.prompt, other.spec.constraints.model_preferences) == ("Sort it.", ("small",))
    assert (await yard.get(other.id)).variant == "plain"


async def test_tasks_are_shared_out_and_the_same_task_stays_what_it_is(yard: Yard):
    await yard.variants.set("code", [PLAIN, THOROUGH])
    tasks = await yard.enqueue_many([{"type": "code", "payload": {"n": number}} for number in range(200)])
    counted = Counter(task.variant for task in tasks)
    assert set(counted) == {"plain", "thorough"}
    assert 60 < counted["plain"] < 140

    first = await yard.enqueue("code", idempotency_key="one")
    again = await yard.enqueue("code", idempotency_key="one")
    assert (again.created, again.variant) == (False, first.variant)
    assert (await yard.enqueue("test")).variant is None
    submitted = await yard.submit({"tasks": [{"type": "code", "name": "x"}]})
    assert submitted.tasks["x"].variant in {"plain", "thorough"}


async def test_a_change_holds_for_new_tasks_alone(yard: Yard):
    first = await yard.variants.set("code", [PLAIN])
    before = await yard.enqueue("code")
    second = await yard.variants.set("code", [THOROUGH])
    after = await yard.enqueue("code")
    ended = await yard.variants.set("code", [])

    assert ((await yard.get(before.id)).variant, after.variant) == ("plain", "thorough")
    assert (first.version, second.version, ended.version, await yard.variants.list()) == (1, 2, 0, [])
    assert (await yard.enqueue("code")).variant is None
    assert (await yard.enqueue("code", variant="label")).variant == "label"  # of a type without variants


async def test_a_run_again_is_the_same_variant(yard: Yard, clock: ManualClock):
    await yard.variants.set("code", [THOROUGH])
    task = await yard.enqueue("code", prompt="Sort it.")
    await yard.cancel(task.id, reason="old")
    await yard.variants.set("code", [PLAIN])

    again = await yard.rerun(task.id)
    assert (again.variant, again.prompt) == ("thorough", "Think twice. Sort it.")


async def test_a_task_that_no_variant_fits_is_refused_whole(yard: Yard):
    await yard.variants.set("code", [THOROUGH])
    refused: list[tuple[dict[str, Any], str]] = [({"variant": "other"}, "variant"), ({"payload": [1]}, "payload")]
    for fields, named in refused:
        with pytest.raises(InvalidInput, match=named):
            await yard.enqueue("code", **fields)
    with pytest.raises(InvalidInput, match="prompt"):
        await yard.enqueue("code", prompt="x" * ((1 << 20) - 5))
    assert await states_of(yard) == {}
    listed = await yard.variants.list()
    assert [(each.type, each.set_by, [one.name for one in each.variants]) for each in listed] == [
        ("code", "human:local", ["thorough"])
    ]
