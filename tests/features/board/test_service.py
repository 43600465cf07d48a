"""The board of a workspace, as it is asked for."""

from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.features.board import service
from taskyard.features.board.views import Board
from taskyard.ledger.clock import ManualClock
from taskyard.yard import Yard


def titles(board: Board) -> dict[str, list[str]]:
    return {column.name: [card.task.title for card in column.cards] for column in board.columns if column.cards}


def counts(board: Board) -> dict[str, int]:
    return {column.name: column.count for column in board.columns if column.count}


async def given_held(yard: Yard, **fields: Any) -> Any:
    await yard.enqueue("code", priority=0, **fields)
    [held] = await yard.claim("ada", start=True)
    return held


async def test_every_task_stands_in_the_column_of_its_state(yard: Yard):
    await yard.agents.register("ada", "coder", max_concurrent_tasks=9)
    done, dead = await given_held(yard, title="done"), await given_held(yard, title="dead", max_attempts=1)
    await yard.complete(done.id, done.lease, {}, cost_usd="0.25")
    await yard.fail(dead.id, dead.lease, "crash")
    running = await given_held(yard, title="running")
    await yard.progress(running.id, running.lease, {"fraction": 0.5})
    first = await yard.enqueue("code", title="ready")
    await yard.enqueue("code", title="waiting", depends_on=[first.id])
    gone = await yard.enqueue("code", title="cancelled")
    await yard.cancel(gone.id)

    board = await yard.board.show()

    assert titles(board) == {
        "waiting": ["waiting"],
        "ready": ["ready"],
        "running": ["running"],
        "done": ["done"],
        "dead": ["dead"],
    }
    cards = {card.task.title: card.task for column in board.columns for card in column.cards}
    assert (cards["done"].cost, cards["running"].progress) == (250_000, {"fraction": 0.5})
    assert (board.lanes, board.lanes_by) == ((), None)


async def test_what_is_ready_stands_in_the_order_of_its_claims_and_moves_with_its_priority(yard: Yard):
    for title, priority in [("b", 50), ("a", 10), ("c", 50)]:
        await yard.enqueue("code", title=title, priority=priority)
    review = await yard.enqueue("review", title="d", priority=90)
    assert titles(await yard.board.show())["ready"] == ["a", "b", "c", "d"]

    await yard.tasks.set_priority(review.id, 49)

    board = await yard.board.show()
    assert titles(board)["ready"] == ["a", "d", "b", "c"]
    ready = next(column for column in board.columns if column.name == "ready")
    assert [card.standing for card in ready.cards] == [10.0, 49.0, 50.0, 50.0]


async def test_lanes_are_the_types_of_agents_subjects_or_types_of_tasks(yard: Yard):
    await yard.agents.register("ada", "coder", max_concurrent_tasks=9)
    await given_held(yard, title="held", subject="issue:1")
    await yard.enqueue("review", title="addressed", agent="coder", subject="issue:2")
    await yard.enqueue("code", title="anybody's")

    by_agent = await yard.board.show(lanes="agent")
    by_subject = await yard.board.show(lanes="subject")
    by_type = await yard.board.show(lanes="type")

    assert [(lane.name, lane.counts["ready"], lane.counts["running"]) for lane in by_agent.lanes] == [
        ("coder", 1, 1),
        (None, 1, 0),
    ]
    assert [lane.name for lane in by_subject.lanes] == ["issue:1", "issue:2", None]
    assert [lane.name for lane in by_type.lanes] == ["code", "review"]
    assert {card.lane for column in by_agent.columns for card in column.cards} == {"coder", None}


async def test_a_column_says_how_many_tasks_there_are_beyond_its_cards(yard: Yard):
    for _ in range(5):
        await yard.enqueue("code", agent="ada")
    await yard.enqueue("review", subject="issue:1")

    everything = await yard.board.show(limit=2)
    by_lane = await yard.board.show(limit=2, lanes="type")

    assert counts(everything) == {"ready": 6}
    assert [len(column.cards) for column in everything.columns if column.cards] == [2]
    assert [len(column.cards) for column in by_lane.columns if column.cards] == [3]


@pytest.mark.parametrize(
    ("which", "number"),
    [
        ({"type": "code"}, 2),
        ({"queue": "slow"}, 1),
        ({"agent": "ada"}, 1),
        ({"tag": "x"}, 1),
        ({"subject": "issue:1"}, 1),
    ],
)
async def test_a_board_is_narrowed_down_like_a_list(yard: Yard, which: dict[str, Any], number: int):
    await yard.enqueue("code", queue="slow")
    await yard.enqueue("code", agent="ada", tags=["x"])
    await yard.enqueue("review", subject="issue:1")

    assert counts(await yard.board.show(**which)) == {"ready": number}


async def test_a_column_that_is_read_in_part_says_so(yard: Yard, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(service, "MOST_READ", 2)
    for _ in range(3):
        await yard.enqueue("code", tags=["x"], run_after="2199-01-01T00:00:00Z")

    waiting = (await yard.board.show()).columns[0]

    assert (waiting.count, waiting.more) == (2, True)


async def test_what_was_done_a_day_ago_is_not_shown(yard: Yard, clock: ManualClock):
    await yard.agents.register("ada", "coder")
    done = await given_held(yard, title="done")
    await yard.complete(done.id, done.lease, {})
    assert counts(await yard.board.show()) == {"done": 1}

    clock.advance(seconds=86_401)

    assert counts(await yard.board.show()) == {}


@pytest.mark.parametrize("asked", [{"lanes": "colour"}, {"limit": 0}, {"limit": 101}])
async def test_what_a_board_has_no_room_for_is_refused(yard: Yard, asked: dict[str, Any]):
    with pytest.raises(InvalidInput):
        await yard.board.show(**asked)
