"""Where a task stands on the board."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.priority import RANK_UNIT
from taskyard.core.task import BLANK, Hot, TaskId
from taskyard.core.units import DAY, MINUTE, Micros
from taskyard.features.board import rules
from taskyard.features.board.rules import ColumnName, PlacedTask

NOW = Micros(10 * DAY)


def a_card(seq: int, lane: str | None = None, standing: float = 0.0, **fields: Micros) -> PlacedTask:
    return PlacedTask(BLANK._replace(id=TaskId(f"task_{seq}"), seq=seq, **fields), lane, standing)


def numbers(cards: list[PlacedTask]) -> list[int]:
    return [each.hot.seq for each in cards]


@pytest.mark.parametrize("column", [ColumnName.WAITING, ColumnName.READY])
def test_what_waits_stands_in_the_order_of_its_claims_and_equals_by_arrival(column: ColumnName):
    cards = [a_card(3, standing=30.0), a_card(2, standing=30.0), a_card(4, standing=29.5), a_card(1, standing=70.0)]

    assert numbers(rules.in_order(column, cards)) == [4, 2, 3, 1]


def test_what_is_at_work_longest_comes_first_also_where_it_is_only_claimed():
    cards = [
        a_card(1, started_at=Micros(NOW - 5)),
        a_card(2, claimed_at=Micros(NOW - 9)),
        a_card(3, started_at=Micros(NOW - 7)),
    ]

    assert numbers(rules.in_order(ColumnName.RUNNING, cards)) == [2, 3, 1]


@pytest.mark.parametrize("column", [ColumnName.DONE, ColumnName.DEAD])
def test_what_ended_last_comes_first(column: ColumnName):
    cards = [a_card(1, updated_at=Micros(5)), a_card(2, updated_at=Micros(9)), a_card(3, updated_at=Micros(7))]

    assert numbers(rules.in_order(column, cards)) == [2, 3, 1]


def test_what_is_done_leaves_the_board_after_a_day_and_dead_letters_stay():
    old: Hot = BLANK._replace(updated_at=Micros(NOW - DAY - 1))

    assert not rules.is_shown(ColumnName.DONE, old, NOW)
    assert rules.is_shown(ColumnName.DONE, old._replace(updated_at=Micros(NOW - DAY)), NOW)
    assert rules.is_shown(ColumnName.DEAD, old, NOW)


def test_a_place_is_worth_its_priority_less_what_its_age_has_brought():
    hot = BLANK._replace(rank=30 * RANK_UNIT)

    assert rules.standing(hot, 0, NOW) == 30.0
    assert rules.standing(hot, 100, Micros(2 * MINUTE)) == 28.0


def test_each_lane_shows_its_first_cards_and_lanes_that_are_left_out_show_none():
    cards = [a_card(1, "a"), a_card(2, "a"), a_card(3, "b"), a_card(4, "a"), a_card(5, None), a_card(6, "c")]

    assert numbers(rules.first_of_each_lane(cards, ["a", "b", None], 2)) == [1, 2, 3, 5]


def test_lanes_are_in_the_order_of_their_names_and_the_one_without_a_name_is_last():
    columns = [[a_card(1, "b"), a_card(2, None)], [a_card(3, "a")]]

    assert rules.lanes_in_order(columns) == (["a", "b", None], 0)


def test_of_too_many_lanes_those_with_the_fewest_tasks_are_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rules, "MOST_LANES", 2)
    columns = [[a_card(1, "few"), a_card(2, "many"), a_card(3, "many"), a_card(4, "z"), a_card(5, "z")]]

    assert rules.lanes_in_order(columns) == (["many", "z"], 1)


def test_lanes_are_by_agent_subject_or_type():
    assert [rules.lanes_of(each) for each in (None, *rules.LANES)] == [None, *rules.LANES]
    with pytest.raises(InvalidInput, match="lanes"):
        rules.lanes_of("colour")
