"""Intervals and differences, against values that are known: by hand, and from tables of textbooks."""

import pytest

from taskyard.features.scores.intervals import Contrast, Estimate, contrast, estimate, percentile, t_quantile

APPROXIMATELY = pytest.approx


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (4.9, 2.776), (30, 2.042), (40, 2.021), (120, 1.980)])
def test_students_t_is_that_of_the_tables(freedom: float, t: float):
    assert t_quantile(freedom) == APPROXIMATELY(t, abs=5e-4)


def test_a_mean_has_students_interval():
    # Mean 3, standard deviation sqrt(2.5): 2.776 * sqrt(2.5 / 5) = 1.963.
    assert estimate([1, 2, 3, 4, 5]) == APPROXIMATELY(Estimate(3, 1.037, 4.963), abs=1e-3)
    assert estimate([0.5]) == Estimate(0.5)
    assert estimate([]) == Estimate(None)


def test_a_rate_has_wilsons_interval():
    assert estimate([1.0] * 8 + [0.0] * 2) == APPROXIMATELY(Estimate(0.8, 0.4902, 0.9433), abs=1e-4)
    assert estimate([1.0] * 10) == APPROXIMATELY(Estimate(1.0, 0.7225, 1.0), abs=1e-4)


def test_a_difference_of_rates_is_newcombes():
    # 56 of 70 against 48 of 80, whose interval is known: 0.0524 to 0.3339.
    first, second = [1.0] * 48 + [0.0] * 32, [1.0] * 56 + [0.0] * 14
    found = contrast(first, second)
    assert found == APPROXIMATELY(Contrast(0.2, 0.0524, 0.3339), abs=1e-4)
    assert found.is_more_than_chance


def test_a_difference_of_means_is_welchs():
    first, second = [1.0, 2, 3, 4, 5], [2.0, 4, 6, 8, 10]
    # Squared errors 0.5 and 2, 5.88 degrees of freedom, so t of 5: 2.571 * sqrt(2.5) = 4.065.
    found = contrast(first, second)
    assert found == APPROXIMATELY(Contrast(3, -1.065, 7.065), abs=1e-3)
    assert not found.is_more_than_chance
    assert contrast(first, [each + 10 for each in first]).is_more_than_chance
    assert contrast([2.0] * 5, [2.0] * 5) == Contrast(0, 0, 0)


def test_few_values_are_not_compared():
    assert contrast([1.0, 2, 3, 4], [9.0] * 50) == Contrast(None)
    assert not contrast([1.0, 2, 3, 4], [9.0] * 50).is_more_than_chance


def test_a_percentile_is_one_of_the_values():
    values = [float(each) for each in range(20, 0, -1)]
    assert (percentile(values, 0.5), percentile(values, 0.95), percentile([], 0.5)) == (10, 19, None)


def test_amounts_that_happen_to_be_0_or_1_are_no_rates():
    assert estimate([0.0] * 8, is_amount=True) == (0, 0, 0)
    assert estimate([1.0], is_amount=True) == (1, None, None)
    assert contrast([0.0] * 8, [0.0] * 8, is_amount=True) == (0, 0, 0)
    assert contrast([0.0] * 4 + [1.0], [1.0] * 5, is_amount=True).high == pytest.approx(0.8 + 2.776 * 0.2)


def test_a_difference_of_nothing_may_be_chance_also_at_the_very_end_of_its_interval():
    bounds = [(-1, 0), (0, 1), (-2, -1e-9), (1e-9, 2)]

    assert [Contrast(0.5, low, high).is_more_than_chance for low, high in bounds] == [False, False, True, True]
