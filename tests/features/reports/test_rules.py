"""How a report is made of attempts, or of the stored figures of days."""

from collections import Counter
from typing import Any

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.task import Outcome
from taskyard.core.units import SECOND
from taskyard.features.metrics.rules import CostLabels, MetricTotals
from taskyard.features.reports import rules
from taskyard.features.reports.rules import AttemptFacts, ReportRequest, Row


def an_attempt(task: str = "t", outcome: Outcome = Outcome.COMPLETED, **fields: Any) -> AttemptFacts:
    labels = {name: (fields.get(name),) for name in rules.GROUPINGS}
    labels["tag"] = fields.get("tags", (None,))
    return AttemptFacts(
        task, labels, outcome, fields.get("cost", 0.0), fields.get("took", 0.0), fields.get("wait", 0.0)
    )


def test_attempts_are_counted_and_summed_by_group_and_in_all():
    facts = [
        an_attempt("a", type="code", cost=1.0),
        an_attempt("a", Outcome.FAILED, type="code", cost=0.5),
        an_attempt("b", type="write", cost=4.0),
    ]
    wanted = ReportRequest(("type",), ("cost", "tasks", "attempts", "completed", "failed"))

    rows, total = rules.tabulate(wanted, facts)

    assert rows == [Row(("write",), (4.0, 1, 1, 1, 0)), Row(("code",), (1.5, 1, 2, 1, 1))]
    assert total == Row((), (5.5, 2, 3, 2, 1))


def test_an_attempt_with_two_tags_is_in_both_rows_and_once_in_the_whole():
    rows, total = rules.tabulate(
        ReportRequest(("tag",), ("attempts",)), [an_attempt(tags=("x", "y")), an_attempt(tags=("x",)), an_attempt()]
    )

    assert {row.group: row.values for row in rows} == {("x",): (2,), ("y",): (1,), (None,): (1,)}
    assert total.values == (3,)


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.9, 90), (0.95, 95), (0.99, 99), (1.0, 100)])
def test_a_percentile_is_a_value_that_was_measured(share: float, value: float):
    assert rules.percentile(range(1, 101), share) == value
    assert rules.percentile([7.5], share) == 7.5
    assert rules.percentile([], share) is None


def test_percentiles_are_of_cost_duration_and_wait():
    facts = [an_attempt(cost=each, took=10 * each, wait=100 * each) for each in (1.0, 2.0, 3.0)]

    _, total = rules.tabulate(ReportRequest((), ("cost_p50", "duration_p99", "wait_p50", "duration")), facts)

    assert total.values == (2.0, 30.0, 200.0, 60.0)


def test_days_are_in_order_and_others_by_the_most_of_the_first_measure():
    facts = [an_attempt(day="2026-01-02"), an_attempt(day="2026-01-01"), an_attempt(day="2026-01-02")]

    rows, _ = rules.tabulate(ReportRequest(("day",), ("attempts",)), facts)

    assert [row.group for row in rows] == [("2026-01-01",), ("2026-01-02",)]


def a_day() -> MetricTotals:
    totals = MetricTotals(
        completed=Counter({"code": 2, "write": 1}),
        failed=Counter({"crash": 3}),
        errors=Counter({"coder": 3}),
        costs=Counter({CostLabels("code", "coder", "opus"): 1_500_000, CostLabels("code", "coder", "haiku"): 500_000}),
    )
    for took in (1, 2, 400):
        totals.durations.observe([took * SECOND])
    return totals


DAYS = [("2026-01-01", a_day()), ("2026-01-02", a_day())]


def test_stored_days_tell_cost_by_type_agent_model_and_day():
    rows, total = rules.tabulate_days(ReportRequest(("model",), ("cost",)), DAYS, {})
    by_day, _ = rules.tabulate_days(
        ReportRequest(("day", "type"), ("cost", "completed")), DAYS, {"type": frozenset({"code"})}
    )

    assert rows == [Row(("opus",), (3.0,)), Row(("haiku",), (1.0,))]
    assert total.values == (4.0,)
    assert by_day == [Row(("2026-01-01", "code"), (2.0, 2)), Row(("2026-01-02", "code"), (2.0, 2))]


def test_stored_days_tell_failures_by_agent_or_by_reason():
    assert rules.tabulate_days(ReportRequest(("agent",), ("failed",)), DAYS, {})[0] == [Row(("coder",), (6,))]
    assert rules.tabulate_days(ReportRequest(("reason",), ("failed",)), DAYS, {})[0] == [Row(("crash",), (6,))]


def test_histograms_of_days_are_added_before_their_percentile_is_taken():
    rows, total = rules.tabulate_days(ReportRequest(("day",), ("duration_p50", "duration")), DAYS, {})

    assert [row.group for row in rows] == [("2026-01-01",), ("2026-01-02",)]
    assert total.values[1] == 806.0
    assert total.values[0] == a_day().durations.quantile(0.5)
    assert sum(DAYS[0][1].durations.counts) == 3  # what was read is not changed


@pytest.mark.parametrize(
    ("by", "measures", "source", "narrowed"),
    [
        (["colour"], ["cost"], "attempts", ()),
        (["type"], ["beauty"], "attempts", ()),
        (["type"], [], "attempts", ()),
        (["day", "type", "agent", "model"], ["cost"], "attempts", ()),
        (["type"], ["cost"], "hours", ()),
        (["tag"], ["cost"], "days", ()),
        (["type"], ["duration_p50"], "days", ()),
        (["day"], ["cost_p50"], "days", ()),
        (["day"], ["completed"], "days", ("agent",)),
        (["day"], ["cost"], "days", ("subject",)),
        (["agent", "reason"], ["failed"], "days", ()),
    ],
)
def test_what_is_not_stored_or_not_known_is_refused(
    by: list[str], measures: list[str], source: str, narrowed: tuple[str, ...]
):
    with pytest.raises(InvalidInput):
        rules.asked(by, measures, source, narrowed)


def test_what_is_named_twice_is_shown_once():
    assert rules.asked(["type", "type"], ["cost", "cost"], "days") == ReportRequest(("type",), ("cost",))
