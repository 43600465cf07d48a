"""Events say which type, subject and agent they are of, and readers filter by that."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import pytest

from taskyard.core.changes import Labels, StoredEvent
from taskyard.core.task import TaskId
from taskyard.features.events.rules import Wanted
from taskyard.yard import Yard
from tests.yards import claim_that, given_a_dead_letter, given_a_running_task, given_an_agent


async def labels_of(yard: Yard, task_id: str) -> list[tuple[str, Labels]]:
    return [(each.event.event, each.labels) for each in await yard.events(task_id=task_id)]


def labelled(agent: str | None) -> Labels:
    return Labels("code", "issue:7", agent)


async def given_a_story(yard: Yard) -> str:
    """Two agents after each other: the first gives the task back."""
    first = await given_a_running_task(yard, by="ada", subject="issue:7")
    await yard.attempts.message(first.id, first.lease, {"text": "I begin", "agent": "somebody else"})
    await yard.release(first.id, first.lease)
    await given_an_agent(yard, "bob")
    second = await claim_that(yard, first.id, by="bob", start=True)
    await yard.attempts.checkpoint(second.id, second.lease, "plan", 1)
    await yard.progress(second.id, second.lease, {"fraction": 0.5})
    await yard.complete(second.id, second.lease, {"done": True})
    return first.id


async def test_an_event_names_who_held_the_task_whatever_a_message_says(yard: Yard):
    assert await labels_of(yard, await given_a_story(yard)) == [
        ("task.created", labelled(None)),
        ("task.claimed", labelled("ada")),
        ("task.running", labelled("ada")),
        ("task.message", labelled("ada")),
        ("task.released", labelled("ada")),
        ("task.running", labelled("bob")),
        ("task.step", labelled("bob")),
        ("task.progress", labelled("bob")),
        ("task.completed", labelled("bob")),
    ]


async def test_a_task_that_nobody_holds_is_of_the_agent_that_it_is_addressed_to(yard: Yard):
    await given_an_agent(yard, "ada")
    task = await yard.enqueue("code", agent="ada")
    await yard.cancel(task.id)

    assert await labels_of(yard, task.id) == [
        ("task.created", Labels("code", None, "ada")),
        ("task.cancelled", Labels("code", None, "ada")),
    ]


async def test_the_labels_are_those_of_the_task_as_a_person_changed_it(yard: Yard):
    held = await given_a_dead_letter(yard, subject="issue:7")
    assert {labels for _, labels in await labels_of(yard, held.id)} == {labelled(None), labelled("worker")}

    changed = {"subject": "issue:8", "agent": "bob", "payload": {"subject": "none", "agent": "nobody"}}
    await yard.dead_letters.resolve(held.id, "modify_and_retry", by="human:ada", spec=changed)

    told = await labels_of(yard, held.id)
    assert {labels.subject for _, labels in told} == {"issue:8"}
    assert told[-2:] == [
        ("task.dead_lettered", Labels("code", "issue:8", "worker")),
        ("task.revived", Labels("code", "issue:8", "bob")),
    ]


FILTERS: list[tuple[Wanted, list[str]]] = [
    ({"agent": "ada", "event": "task.*"}, ["task.claimed", "task.running", "task.message", "task.released"]),
    ({"agent": "bob", "event": "task.c*"}, ["task.completed"]),
    ({"subject": "issue:7", "event": "task.running"}, ["task.running", "task.running"]),
    ({"task_type": "code", "event": "task.completed"}, ["task.completed"]),
    ({"task_type": "code", "agent": "nobody"}, []),
]


@pytest.mark.parametrize(("wanted", "found"), FILTERS, ids=str)
async def test_events_are_filtered_by_their_labels(yard: Yard, wanted: Wanted, found: list[str]):
    await given_a_story(yard)
    await yard.enqueue("test", subject="issue:70")

    assert [each.event.event for each in await yard.events(**wanted)] == found


async def test_a_page_of_rare_events_is_filled_from_the_whole_log(yard: Yard):
    for number in range(6):
        await yard.enqueue("code", subject=f"issue:{number % 2}")

    rare = await yard.events(subject="issue:1", limit=2)

    assert [each.labels.subject for each in rare] == ["issue:1", "issue:1"]
    assert len(await yard.events(subject="issue:1", limit=2, after=rare[-1].seq)) == 1


async def test_who_follows_hears_only_of_the_subject_it_asked_for(yard: Yard):
    heard: list[StoredEvent] = []

    async def follow() -> None:
        async with aclosing(yard.tail(subject="issue:7")) as events:
            async for stored in events:
                heard.append(stored)
                if stored.event.event == "task.cancelled":
                    return

    following = asyncio.create_task(follow())
    other = await yard.enqueue("code", subject="issue:70")
    await yard.cancel(other.id)
    wanted = await yard.enqueue("code", subject="issue:7")
    await yard.cancel(wanted.id)
    async with asyncio.timeout(30):
        await following

    assert [(each.event.event, each.event.task_id) for each in heard] == [
        ("task.created", wanted.id),
        ("task.cancelled", wanted.id),
    ]


async def test_who_follows_the_log_has_the_labels_of_a_task_read_once_until_a_person_changes_it(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
):
    asked = list[str]()
    read = yard.store.labels

    async def noted(task_ids: Sequence[TaskId]) -> dict[TaskId, Labels]:
        asked.extend(task_ids)
        return await read(task_ids)

    monkeypatch.setattr(yard.store, "labels", noted)
    after = 0

    async def go_on() -> list[Labels]:
        nonlocal after
        page = await yard.events(after=after)
        after = page[-1].seq
        return [stored.labels for stored in page if stored.event.task_id is not None]

    await yard.agents.register("worker")
    task = await yard.enqueue("code", subject="issue:7", max_attempts=1)
    assert await go_on() == [labelled(None)]
    held = await claim_that(yard, task.id, by="worker", start=True)
    assert set(await go_on()) == {labelled("worker")}
    assert asked == [task.id]

    await yard.fail(held.id, held.lease, "crash", "it fell over")
    await go_on()
    await yard.dead_letters.resolve(held.id, "modify_and_retry", by="human:ada", spec={"subject": "issue:8"})
    assert {labels.subject for labels in await go_on()} == {"issue:8"}
    await claim_that(yard, task.id, by="worker", start=True)
    assert {labels.subject for labels in await go_on()} == {"issue:8"}
