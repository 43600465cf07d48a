"""What agents elsewhere may ask for, and how they know the tasks that they asked for."""

from collections.abc import AsyncIterator

import pytest

from taskyard.core.errors import IllegalTransition, InvalidInput, NotFound
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard
from tests.receivers import Receiver, receiving
from tests.yards import OpenYard, claim_that, elapse, given_a_running_task, given_an_agent


@pytest.fixture
async def yard(open_yard: OpenYard) -> Yard:
    yard = await open_yard(allowed_targets=("127.0.0.0/8",))
    await yard.a2a.publish("code")
    return yard


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


async def test_a_published_type_is_listed_replaced_and_taken_back(yard: Yard):
    await yard.a2a.publish("review", description="Reviews.", examples=["Review this"], is_default=True)
    await yard.a2a.publish("code", is_default=True)
    both = await yard.a2a.list()
    await yard.a2a.unpublish("review")

    assert [(each.type, each.is_default, each.description) for each in both] == [
        ("code", True, ""),
        ("review", False, "Reviews."),
    ]
    assert [each.type for each in await yard.a2a.list()] == ["code"]
    with pytest.raises(NotFound):
        await yard.a2a.unpublish("review")


async def test_only_a_task_of_a_published_type_is_opened_and_it_keeps_its_handle(yard: Yard):
    task, other = await yard.enqueue("code", subject="ctx"), await yard.enqueue("secret")
    first, again = await yard.a2a.share(task.id), await yard.a2a.share(task.id)

    assert first == again
    assert (first.context_id, first.state.value, len(first.handle)) == ("ctx", "TASK_STATE_SUBMITTED", 32)
    with pytest.raises(InvalidInput):
        await yard.a2a.share(other.id)
    with pytest.raises(NotFound):
        await yard.a2a.task((await yard.handles.create(other.id)).handle)


async def test_another_workspace_finds_nothing(open_yard: OpenYard, yard: Yard):
    there = await open_yard(workspace="there")
    await there.a2a.publish("code")
    mine = await yard.a2a.share((await yard.enqueue("code", subject="ctx")).id)

    for ask in (there.a2a.task(mine.handle), there.a2a.pushes(mine.handle), there.a2a.send(mine.handle, "m", "x")):
        with pytest.raises(NotFound):
            await ask
    assert (await there.a2a.tasks()).tasks == []
    assert (await there.a2a.tasks(context_id="ctx")).total == 0


async def test_a_dead_letter_that_is_tried_again_lives_on_under_a_new_handle(yard: Yard, clock: ManualClock):
    held = await given_a_running_task(yard, max_attempts=1)
    first = await yard.a2a.share(held.id)
    await yard.fail(held.id, held.lease, "crash", "it fell over")
    died = await yard.a2a.task(first.handle)
    clock.advance(seconds=5)
    await yard.dead_letters.resolve(held.id, "retry", by="human:ann")
    before, after = await yard.a2a.task(first.handle), await yard.a2a.task(f"{first.handle}.2")
    listed = (await yard.a2a.tasks()).tasks

    assert died.state == before.state == "TASK_STATE_FAILED"
    assert (before.state_at, before.next_handle) == (died.state_at, after.handle)
    assert (after.state.value, after.next_handle) == ("TASK_STATE_WORKING", None)
    assert [each.handle for each in listed] == [after.handle, first.handle]
    with pytest.raises(NotFound):
        await yard.a2a.task(f"{first.handle}.3")
    with pytest.raises(IllegalTransition):
        await yard.a2a.send(first.handle, "m1", "hello")


async def test_a_task_that_must_sign_in_waits_under_the_same_handle(yard: Yard):
    held = await given_a_running_task(yard)
    handle = (await yard.a2a.share(held.id)).handle
    await yard.fail(held.id, held.lease, "auth_failure", "the key was refused")
    waits = await yard.a2a.task(handle)
    await yard.dead_letters.resolve(held.id, "retry", by="human:ann")

    assert waits.state == "TASK_STATE_AUTH_REQUIRED"
    assert (await yard.a2a.task(handle)).state == "TASK_STATE_WORKING"


async def test_a_message_answers_one_question_however_often_it_comes(yard: Yard):
    held = await given_a_running_task(yard)
    handle = (await yard.a2a.share(held.id)).handle
    await yard.attempts.wait_for(held.id, held.lease, "first", "approve")
    asked = await yard.a2a.task(handle)
    await yard.a2a.send(handle, "m1", {"n": 1})
    again = await claim_that(yard, held.id, start=True)
    await yard.attempts.wait_for(again.id, again.lease, "first", "approve")
    await yard.attempts.wait_for(again.id, again.lease, "second", "approve")

    repeated = await yard.a2a.send(handle, "m1", {"n": 1})
    answered = await yard.a2a.send(handle, "m2", {"n": 2})
    assert asked.state == repeated.state == "TASK_STATE_INPUT_REQUIRED"
    assert answered.state == "TASK_STATE_WORKING"
    with pytest.raises(InvalidInput):
        await yard.a2a.send(handle, "m" * 129, "x")


async def test_a_message_to_a_task_at_work_goes_into_its_inbox_once(yard: Yard):
    held = await given_a_running_task(yard, by="coder")
    handle = (await yard.a2a.share(held.id)).handle
    for _ in range(2):
        await yard.a2a.send(handle, "m1", "also the tests, please")
    batch = (await yard.inbox.take("coder", held.id)).batch

    assert batch is not None
    assert [item.content for item in batch.items] == ["also the tests, please"]


async def test_a_message_to_a_task_that_nobody_has_is_refused(yard: Yard):
    handle = (await yard.a2a.share((await yard.enqueue("code")).id)).handle
    with pytest.raises(IllegalTransition):
        await yard.a2a.send(handle, "m1", "hello")


async def test_each_state_is_pushed_with_what_proves_it(yard: Yard, clock: ManualClock, receiver: Receiver):
    held = await given_a_running_task(yard, subject="ctx")
    handle = (await yard.a2a.share(held.id)).handle
    shown = await yard.a2a.set_push(handle, "p", receiver.url, token="t", scheme="Bearer", credentials="s3cret")
    await elapse(yard, clock, 10)
    await yard.host.run_outbox()
    await yard.complete(held.id, held.lease)
    await elapse(yard, clock, 10)
    await yard.host.run_outbox()
    await elapse(yard, clock, 10)
    await yard.host.run_outbox()

    updates = [each.json["statusUpdate"] for each in receiver.received]
    assert [each["status"]["state"] for each in updates] == ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]
    assert {(each["taskId"], each["contextId"]) for each in updates} == {(handle, "ctx")}
    headers = {name.lower(): value for name, value in receiver.received[0].headers.items()}
    assert (headers["authorization"], headers["x-a2a-notification-token"]) == ("Bearer s3cret", "t")
    assert (shown.has_token, "s3cret" in repr(await yard.a2a.pushes(handle))) == (True, False)
    assert await yard.notifications.deliveries() == []


async def test_what_is_on_its_way_to_a_push_that_was_removed_is_not_sent(
    yard: Yard, clock: ManualClock, receiver: Receiver
):
    handle = (await yard.a2a.share((await yard.enqueue("code")).id)).handle
    await yard.a2a.set_push(handle, "p", receiver.url)
    await elapse(yard, clock, 10)
    await yard.a2a.remove_push(handle, "p")
    await yard.host.run_outbox()

    assert receiver.received == []
    assert await yard.a2a.pushes(handle) == await yard.notifications.deliveries() == []


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/", "http://169.254.169.254/latest", "file:///etc/passwd", "slack://a/b/c", "http://u:p@x/"]
)
async def test_a_push_to_a_place_that_is_not_public_is_refused(yard: Yard, url: str):
    handle = (await yard.a2a.share((await yard.enqueue("code")).id)).handle
    with pytest.raises(InvalidInput):
        await yard.a2a.set_push(handle, "p", url)
    assert await yard.a2a.pushes(handle) == []


async def test_what_was_asked_for_is_forgotten_with_its_task(yard: Yard, clock: ManualClock):
    await given_an_agent(yard)
    kept = await yard.a2a.share((await yard.enqueue("code", priority=90)).id)
    held = await given_a_running_task(yard)
    gone = await yard.a2a.share(held.id)
    await yard.complete(held.id, held.lease)
    await elapse(yard, clock, 60)
    clock.advance(seconds=8 * 86_400)
    await elapse(yard, clock, 60)  # the task goes
    clock.advance(seconds=3_600)
    await elapse(yard, clock, 60)  # and within the hour, what is known of who asked for it

    with pytest.raises(NotFound):
        await yard.a2a.task(gone.handle)
    assert [each.handle for each in (await yard.a2a.tasks()).tasks] == [kept.handle]
    assert len(await yard.store.page("a2a_task", "*", limit=10)) == 1
