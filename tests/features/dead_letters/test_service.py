"""Dead letters are listed with their story, and decided by people."""

import pytest

from taskyard.core.errors import IllegalTransition, InvalidInput
from taskyard.core.task import Status
from taskyard.yard import Yard
from tests.yards import given_a_dead_letter, given_a_running_task


async def test_a_dead_letter_is_listed_until_somebody_decides(yard: Yard):
    dead = await given_a_dead_letter(yard)
    (letter,) = await yard.dead_letters.list(reviewed=False)
    assert letter.task.id == dead.id

    await yard.dead_letters.resolve(dead.id, "escalate", by="human:ana", note="look at this")

    assert await yard.dead_letters.list(reviewed=False) == []
    assert [each.task.id for each in await yard.dead_letters.list(reviewed=True)] == [dead.id]


@pytest.mark.parametrize(
    ("resolution", "status"),
    [("retry", Status.READY), ("cancel", Status.CANCELLED), ("escalate", Status.DEAD_LETTERED)],
)
async def test_a_decision_moves_the_task(yard: Yard, resolution: str, status: Status):
    dead = await given_a_dead_letter(yard)

    receipt = await yard.dead_letters.resolve(dead.id, resolution, by="human:ana")

    assert receipt.status is status


async def test_a_changed_task_is_tried_with_what_was_changed(yard: Yard):
    dead = await given_a_dead_letter(yard)

    await yard.dead_letters.resolve(dead.id, "modify_and_retry", by="human:ana", spec={"prompt": "Do less"})

    assert (await yard.get(dead.id)).prompt == "Do less"


@pytest.mark.parametrize(
    ("resolution", "spec", "field"),
    [("forget", None, "resolution"), ("retry", {"prompt": "x"}, "spec"), ("modify_and_retry", None, "spec")],
)
async def test_a_decision_that_makes_no_sense_is_refused(
    yard: Yard, resolution: str, spec: dict[str, object] | None, field: str
):
    dead = await given_a_dead_letter(yard)

    with pytest.raises(InvalidInput) as refused:
        await yard.dead_letters.resolve(dead.id, resolution, by="human:ana", spec=spec)

    assert refused.value.facts["field"] == field


@pytest.mark.parametrize("resolution", ["retry", "cancel", "escalate"])
async def test_only_a_dead_letter_can_be_decided(yard: Yard, resolution: str):
    running = await given_a_running_task(yard)

    with pytest.raises(IllegalTransition):
        await yard.dead_letters.resolve(running.id, resolution, by="human:ana")

    assert (await yard.get(running.id)).status is Status.RUNNING


async def test_every_decision_on_one_death_is_on_record(yard: Yard):
    dead = await given_a_dead_letter(yard)
    await yard.dead_letters.resolve(dead.id, "escalate", by="human:ana")
    await yard.dead_letters.resolve(dead.id, "retry", by="human:bo")

    made = await yard.dead_letters.reviews()

    assert [(each.resolution, each.reviewed_by) for each in made] == [("escalate", "human:ana"), ("retry", "human:bo")]
