"""Artifacts of an output that is judged: whoever holds its validator sees them, and nobody else before the verdict."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from taskyard.core.errors import InvalidInput, LeaseLost, NotFound
from taskyard.core.json_value import Json
from taskyard.features.tasks.views import Held
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.files import content_of, put_by
from tests.yards import OpenYard, claim_that, elapse, given_a_running_task, given_an_agent

GOOD: Json = {"passed": True}
BAD: Json = {"passed": False, "reason": "it does not say why"}
JUDGED: dict[str, Any] = {"output": {"validation": "llm-judge"}}


class Judged(NamedTuple):
    """An output with a file, and the validator that a judge holds."""

    task: Held
    artifact: str
    validator: Held


@pytest.fixture
async def yard(open_yard: OpenYard, tmp_path: Path) -> Yard:
    return await open_yard(artifacts=(tmp_path / "objects").as_uri())


async def given_a_judged_file(yard: Yard, by: str = "judge", **fields: Any) -> Judged:
    await given_an_agent(yard, by, capabilities=["llm-judge"])
    task = await given_a_running_task(yard, **JUDGED, **fields)
    made = await put_by(yard, task)
    await yard.complete(task.id, task.lease, "see the report")
    (validator,) = await yard.claim(by, types=["llm-judge"], start=True)
    return Judged(task, made, validator)


async def reads(yard: Yard, artifact_id: str, held: Held) -> bytes:
    """What is read in the name of an attempt."""
    about = await yard.artifacts.get(artifact_id, task_id=held.id, lease=held.lease)
    content = await content_of(yard, artifact_id, task_id=held.id, lease=held.lease)
    assert about.size == len(content)
    return content


async def refs_given_to(yard: Yard, held: Held) -> list[str]:
    return [each.ref for each in await yard.tasks.inputs(held.id, held.lease)]


async def test_a_validator_lists_and_reads_the_files_that_it_judges(yard: Yard):
    judged = await given_a_judged_file(yard)

    (given,) = await yard.tasks.inputs(judged.validator.id, judged.validator.lease)
    about: Any = given.data
    assert (given.ref, about["name"], about["task_id"]) == (f"artifact:{judged.artifact}", "report.md", judged.task.id)
    assert await reads(yard, judged.artifact, judged.validator) == b"# Done"


async def test_it_sees_all_that_the_output_names_and_nothing_of_an_attempt_that_failed(yard: Yard, clock: ManualClock):
    brief = await yard.artifacts.put("brief.pdf", b"%PDF")
    await given_an_agent(yard, "judge", capabilities=["llm-judge"])
    first = await given_a_running_task(yard, **JUDGED, context_refs=[brief.reference])
    failed = await put_by(yard, first, "draft.md")
    await yard.fail(first.id, first.lease, "crash")
    await elapse(yard, clock, 60)
    second = await claim_that(yard, first.id, start=True)
    kept = await put_by(yard, second, "plan.md")
    await yard.attempts.wait_for(second.id, second.lease, "approval", "approve")
    await yard.signal(second.id, "approve", True)
    third = await claim_that(yard, first.id, start=True)
    await yard.complete(third.id, third.lease, artifacts=["https://elsewhere.example/build", brief.reference])
    (validator,) = await yard.claim("judge", start=True)

    assert await refs_given_to(yard, validator) == [brief.reference, f"artifact:{kept}"]
    assert await reads(yard, kept, validator) == b"# Done"
    with pytest.raises(NotFound):
        await reads(yard, failed, validator)


async def test_without_the_validators_lease_nobody_sees_them_before_the_verdict(yard: Yard):
    judged = await given_a_judged_file(yard)
    validator = judged.validator

    assert await yard.tasks.inputs(validator.id) == []
    assert await yard.artifacts.list(task_id=judged.task.id) == []
    for reading in (yard.artifacts.get(judged.artifact), content_of(yard, judged.artifact)):
        with pytest.raises(NotFound):
            await reading
    for lease in (judged.task.lease, "lease_guessed.1", "", "é\n"):
        with pytest.raises(LeaseLost):
            await content_of(yard, judged.artifact, task_id=validator.id, lease=lease)
        with pytest.raises(LeaseLost):
            await yard.tasks.inputs(validator.id, lease)

    await yard.complete(validator.id, validator.lease, GOOD)
    assert await content_of(yard, judged.artifact) == b"# Done"


async def test_a_lease_of_anything_else_shows_nothing_of_them(yard: Yard):
    judged, other = await given_a_judged_file(yard), await given_a_judged_file(yard, "other")
    worker = await given_a_running_task(yard)
    theirs = await put_by(yard, worker)

    for holder in (other.validator, worker):
        assert f"artifact:{judged.artifact}" not in await refs_given_to(yard, holder)
        with pytest.raises(NotFound):
            await reads(yard, judged.artifact, holder)
    with pytest.raises(NotFound):
        await reads(yard, theirs, judged.validator)
    with pytest.raises(LeaseLost):
        await reads(yard, judged.artifact, judged.task)


async def refused(yard: Yard, _: ManualClock, judged: Judged) -> None:
    await yard.complete(judged.validator.id, judged.validator.lease, BAD)


async def failed(yard: Yard, _: ManualClock, judged: Judged) -> None:
    await yard.fail(judged.validator.id, judged.validator.lease, "crash")


async def lost(yard: Yard, clock: ManualClock, _: Judged) -> None:
    await elapse(yard, clock, 150)


async def cancelled(yard: Yard, _: ManualClock, judged: Judged) -> None:
    await yard.cancel(judged.task.id)


@pytest.mark.parametrize("ended", [refused, failed, lost, cancelled])
async def test_a_validator_that_has_ended_or_lost_its_lease_sees_them_no_more(
    yard: Yard, clock: ManualClock, ended: Callable[[Yard, ManualClock, Judged], Awaitable[None]]
):
    judged = await given_a_judged_file(yard)
    await ended(yard, clock, judged)

    with pytest.raises(LeaseLost):
        await refs_given_to(yard, judged.validator)
    with pytest.raises(LeaseLost):
        await reads(yard, judged.artifact, judged.validator)


async def test_the_next_validator_sees_them_again(yard: Yard, clock: ManualClock):
    judged = await given_a_judged_file(yard)
    await lost(yard, clock, judged)
    (again,) = await yard.claim("judge", start=True)

    assert await reads(yard, judged.artifact, again) == b"# Done"


async def test_a_validator_of_another_workspace_sees_nothing(open_yard: OpenYard, tmp_path: Path):
    here, there = [
        await open_yard(artifacts=(tmp_path / "objects").as_uri(), workspace=workspace) for workspace in ("a", "b")
    ]
    judged, other = await given_a_judged_file(here), await given_a_judged_file(there)

    with pytest.raises(NotFound):
        await reads(there, judged.artifact, other.validator)
    with pytest.raises(NotFound):
        await reads(there, judged.artifact, judged.validator)


async def test_a_lease_goes_with_its_task(yard: Yard):
    judged = await given_a_judged_file(yard)

    for half in ({"task_id": judged.validator.id}, {"lease": judged.validator.lease}):
        with pytest.raises(InvalidInput, match="lease"):
            await content_of(yard, judged.artifact, **half)
