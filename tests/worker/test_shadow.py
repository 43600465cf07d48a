"""Moving to an inbox from another queue: both are written, one answers, every difference is reported."""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest

import taskyard
from taskyard.app import Yard
from taskyard.integrations.shadow import Difference, Phase, ShadowedInbox
from taskyard.worker.inbox import Inbox


class OldItem(NamedTuple):
    kind: str
    content: Any


class OldBatch(NamedTuple):
    items: list[OldItem]


class OldQueue:
    """A queue in memory as an ADE has one: what is dequeued is gone, and nothing is awaited."""

    def __init__(self, *, limit: int = 300, barriers: bool = True) -> None:
        self.items: list[OldItem] = []
        self._limit = limit
        self._barriers = barriers

    def enqueue(self, content: Any, *, kind: str = "message") -> OldItem | None:
        if len(self.items) >= self._limit:
            return None
        self.items.append(OldItem(kind, content))
        return self.items[-1]

    def try_dequeue(self, blocked_reason: str | None = None) -> OldBatch | None:
        if blocked_reason is not None or not self.items:
            return None
        count = 1
        if not self._barriers or self.items[0].kind == "message":
            alike = [not self._barriers or item.kind == "message" for item in self.items]
            count = alike.index(False) if False in alike else len(alike)
        taken, self.items = self.items[:count], self.items[count:]
        return OldBatch(taken)

    def clear(self, _reason: str) -> None:
        self.items = []

    def peek(self) -> list[OldItem]:
        return list(self.items)


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with taskyard.connect("memory://", sweeps=False) as yard:
        yield yard


@pytest.fixture
def inbox(yard: Yard) -> Inbox:
    return Inbox(yard, "planner")


async def work_through(queue: ShadowedInbox) -> list[list[Any]]:
    """A day in the life of a queue; what came out of it, batch by batch."""
    for content in ("one", "two"):
        await queue.enqueue(content)
    await queue.enqueue("yes", kind="approval_result")
    assert await queue.try_dequeue("streaming") is None
    seen: list[list[Any]] = []
    while (batch := await queue.try_dequeue()) is not None:
        seen.append([item.content for item in batch.items])
        await queue.consume(batch)
    return seen


@pytest.mark.parametrize("phase", Phase)
async def test_in_every_phase_the_same_comes_out_and_both_sides_are_in_step(inbox: Inbox, phase: Phase):
    old = OldQueue()
    queue = ShadowedInbox(old, inbox, phase=phase)

    assert await work_through(queue) == [["one", "two"], ["yes"]]

    assert queue.differences == []
    assert (old.peek(), await inbox.peek()) == ([], ())


async def test_the_old_queue_answers_until_it_is_switched(inbox: Inbox):
    queue = ShadowedInbox(OldQueue(), inbox)
    answers: list[bool] = []
    for phase in Phase:
        queue.switch_to(phase)
        await queue.enqueue("hello")
        batch = await queue.try_dequeue()
        await queue.consume(batch)
        answers.append(isinstance(batch, OldBatch))

    assert answers == [True, True, False, False]


async def test_what_is_written_to_one_side_only_is_reported_in_every_phase(inbox: Inbox):
    queue = ShadowedInbox(OldQueue(limit=1), inbox)

    await queue.enqueue("one")
    assert await queue.enqueue("two") is None

    assert queue.differences == [Difference("enqueue", old=False, new=True)]


async def test_batches_that_differ_are_reported_once_they_are_compared(inbox: Inbox):
    reported: list[Difference] = []
    queue = ShadowedInbox(OldQueue(barriers=False), inbox, on_difference=reported.append)

    await work_through(queue)
    assert reported == []
    await inbox.clear()
    queue.switch_to(Phase.SHADOW)
    await work_through(queue)

    assert reported[0] == Difference(
        "try_dequeue",
        old=[("message", "one"), ("message", "two"), ("approval_result", "yes")],
        new=[("message", "one"), ("message", "two")],
    )
    assert reported == queue.differences


async def test_a_side_that_does_not_answer_may_fall_over_and_nobody_notices(inbox: Inbox):
    def no_use(difference: Difference) -> None:
        raise RuntimeError("nor does what hears of it matter")

    class Broken:
        async def enqueue(self, _content: Any) -> None:
            raise ConnectionError("away")

        def try_dequeue(self, _blocked_reason: str | None) -> None:
            raise ConnectionError("away")

    queue = ShadowedInbox(Broken(), inbox, phase=Phase.CUTOVER, on_difference=no_use)

    await queue.enqueue("hello")
    batch = await queue.try_dequeue()

    assert batch.turn == "hello"
    assert [difference.old for difference in queue.differences] == ["ConnectionError('away')"] * 2


async def test_an_error_of_the_side_that_answers_is_the_callers(inbox: Inbox):
    queue = ShadowedInbox(OldQueue(), inbox, phase=Phase.CUTOVER)

    with pytest.raises(taskyard.InvalidInput):
        await queue.enqueue("hello", kind="shout")


async def test_what_waits_is_compared_when_it_is_looked_at(inbox: Inbox):
    old = OldQueue()
    queue = ShadowedInbox(old, inbox)
    await queue.enqueue("one")
    old.enqueue("past the inbox")

    assert len(await queue.peek()) == 2
    await queue.clear("cancelled")

    (difference,) = queue.differences
    assert difference.call == "peek"
    assert (await queue.peek(), await inbox.peek()) == ([], ())


class Ticks:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_the_phase_of_a_cutover_counts_and_its_figures_are_reported(yard: Yard, inbox: Inbox):
    await yard.cutovers.start("planner", days=0, least=1)
    clock = Ticks()
    queues = [ShadowedInbox(OldQueue(barriers=False), inbox, cutover="planner", clock=clock) for _ in range(2)]
    await work_through(queues[0])
    await queues[0].report()

    moved = await yard.cutovers.move("planner", Phase.SHADOW, force=True)
    assert [(each.phase, each.calls, each.differences) for each in moved.figures] == [(Phase.DUAL_WRITE, 6, 0)]
    await inbox.clear()
    assert queues[0].phase is Phase.DUAL_WRITE  # for a second at most
    clock.now = 1.0
    await work_through(queues[0])
    await queues[0].report()

    found = await yard.cutovers.get("planner")
    assert (queues[0].phase, found.agrees) == (Phase.SHADOW, False)
    assert found.figures[1].compared == found.figures[1].calls
    assert found.differences[0].call == "try_dequeue"
    with pytest.raises(taskyard.TaskyardError, match="disagreed"):
        await yard.cutovers.move("planner", Phase.CUTOVER)


async def test_figures_that_could_not_be_reported_are_reported_later(yard: Yard, inbox: Inbox):
    clock = Ticks()
    queue = ShadowedInbox(OldQueue(), inbox, cutover="planner", clock=clock)
    await queue.enqueue("hello")  # there is no such cutover yet: the caller does not notice
    await yard.cutovers.start("planner")
    await queue.report()

    (figures,) = (await yard.cutovers.get("planner")).figures
    assert (figures.calls, figures.compared, queue.phase) == (1, 1, Phase.DUAL_WRITE)


async def test_a_batch_is_consumed_where_it_is_from_whatever_the_phase_is_by_then(inbox: Inbox):
    queue = ShadowedInbox(OldQueue(), inbox, phase=Phase.CUTOVER)
    await queue.enqueue("hello")
    batch = await queue.try_dequeue()
    queue.switch_to(Phase.SHADOW)
    await queue.consume(batch)

    assert await inbox.peek() == ()


async def test_a_finished_cutover_leaves_the_old_queue_alone(inbox: Inbox):
    old = OldQueue()
    queue = ShadowedInbox(old, inbox, phase=Phase.FINISHED)
    await queue.enqueue("hello")

    assert (old.peek(), len(await queue.peek())) == ([], 1)
