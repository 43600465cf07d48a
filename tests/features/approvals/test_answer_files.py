"""Files in answers: a field that asks for one takes what is stored, and what the task may read."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from taskyard.core.errors import InvalidAnswer
from taskyard.features.approvals.rules import Person
from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.memory.store import MemoryStore
from taskyard.yard import Yard, local_yard
from tests.yards import given_a_running_task

ADA = Person("human:ada", ("operator",))
FILE: dict[str, Any] = {"type": "string", "format": "binary"}
PLAN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "plan": FILE,
        "more": {"type": "array", "items": {"anyOf": [FILE, {"type": "null"}]}},
        "remark": {"type": "string", "minLength": 3},
        "hint": {"anyOf": [{"type": "string", "minLength": 3}, {"type": "null"}]},
    },
}
NOWHERE = "artifact:art_" + "0" * 26


@pytest.fixture
async def yard(clock: ManualClock, tmp_path: Path) -> AsyncGenerator[Yard]:
    options = Options(sweeps=False, artifacts=(tmp_path / "artifacts").as_uri())
    async with local_yard(MemoryStore(clock=clock), options) as yard:
        yield yard


async def asked(yard: Yard, answer_schema: dict[str, Any]) -> str:
    held = await given_a_running_task(yard)
    await yard.attempts.ask(held.id, held.lease, "deploy", "Which file?", answer_schema=answer_schema)
    return held.id


async def test_a_file_of_an_answer_is_one_that_is_stored(yard: Yard):
    task = await asked(yard, PLAN)
    file = await yard.artifacts.put("plan.txt", "go")

    with pytest.raises(InvalidAnswer) as refused:
        await yard.approvals.answer(task, "deploy", {"plan": NOWHERE, "more": [file.reference, NOWHERE]}, by=ADA)

    rule = "must be the reference of a file that is stored, and that the task may read"
    assert refused.value.facts["problems"] == [{"field": "plan", "rule": rule}, {"field": "more/1", "rule": rule}]
    assert await yard.approvals.list()

    await yard.approvals.answer(task, "deploy", {"plan": file.reference, "more": [None]}, by=ADA)

    assert await yard.approvals.list() == []


async def test_a_file_of_an_answer_is_none_of_a_task_that_has_not_ended(yard: Yard):
    other = await given_a_running_task(yard)
    draft = await yard.artifacts.put("draft.txt", "go", task_id=other.id, lease=other.lease)
    held = await given_a_running_task(yard)
    own = await yard.artifacts.put("own.txt", "go", task_id=held.id, lease=held.lease)
    await yard.attempts.ask(held.id, held.lease, "deploy", "Which file?", answer_schema=FILE)

    with pytest.raises(InvalidAnswer, match="must be the reference of a file that is stored"):
        await yard.approvals.answer(held.id, "deploy", draft.reference, by=ADA)
    await yard.approvals.answer(held.id, "deploy", own.reference, by=ADA)

    assert await yard.approvals.list() == []


async def test_a_text_of_an_answer_may_name_a_file_that_is_not_there(yard: Yard):
    task = await asked(yard, PLAN)

    await yard.approvals.answer(task, "deploy", {"remark": NOWHERE, "hint": NOWHERE}, by=ADA)

    assert await yard.approvals.list() == []
