"""What a score may be, and who may not give it, as pure rules."""

import math

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.task import TaskId
from taskyard.features.scores import rules
from taskyard.features.scores.rules import Maker, TotalsBody

CODER = Maker("coder-1", "coder", "tok_1")


@pytest.mark.parametrize(("given", "stored"), [(True, 1.0), (False, 0.0), (0.25, 0.25), (-3, -3.0), (1e12, 1e12)])
def test_a_score_is_a_number_or_yes_or_no(given: float, stored: float):
    assert rules.value_of(given) == stored


@pytest.mark.parametrize("given", [math.nan, math.inf, -math.inf, 1.1e12, "1", None])
def test_what_is_no_finite_number_is_refused(given: object):
    with pytest.raises(InvalidInput, match="value"):
        rules.value_of(given)


@pytest.mark.parametrize(("name", "is_own"), [("coder-1", True), ("coder", True), ("judge", False)])
def test_nobody_judges_its_own_output(name: str, is_own: bool):
    assert rules.is_maker(name, None, [CODER]) is is_own
    assert not rules.is_maker(name, None, [])


def test_ids_of_scores_do_not_meet():
    one, other = TaskId("task_1"), TaskId("task_2")

    assert rules.record_id("w", one, "a", "b") != rules.record_id("w", one, 'a","b', "")
    assert not rules.record_id("w", other, "a", "b").startswith(rules.prefix("w", one))
    assert rules.totals_id("code", None, "a").startswith(rules.totals_prefix("code"))
    assert not rules.totals_id("coder", None, "a").startswith(rules.totals_prefix("code"))


def test_a_replaced_score_is_counted_once():
    totals = TotalsBody(type="code", variant=None, name="good", count=2, sum=1.5)

    assert rules.counted(totals, 0.5, None) == {**totals, "count": 3, "sum": 2.0}
    assert rules.counted(totals, 0.5, 1.0) == {**totals, "count": 2, "sum": 1.0}
