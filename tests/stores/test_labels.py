"""What a store reads of definitions for the readers of events."""

import pytest

from taskyard.core.changes import Labels
from taskyard.core.task import TaskId
from taskyard.stores.contract import Store
from tests.stores.given import a_lane, given_a_defined_task


@pytest.mark.parametrize(
    ("agent", "subject"), [(None, None), ("ada", None), (None, "issue:7"), ("ada", 'a "subject": with marks')], ids=str
)
async def test_the_labels_are_what_the_definition_says(store: Store, agent: str | None, subject: str | None):
    lane = a_lane(agent=agent)
    payload = '{"subject":"other","agent":"other","text":",\\"subject\\":\\"x\\""}'
    hot = await given_a_defined_task(store, lane, subject=subject, payload=payload)
    plain = await given_a_defined_task(store, a_lane())

    found = await store.labels([hot.id, TaskId("task_none"), plain.id])

    assert found == {hot.id: Labels(lane.type, subject, agent), plain.id: Labels(lane.type)}


async def test_nothing_is_read_of_no_tasks(store: Store):
    assert await store.labels([]) == {}
