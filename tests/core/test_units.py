"""Times and money come back exactly as they went in, or are refused with the rule."""

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.units import (
    DAY,
    HOUR,
    MINUTE,
    MOST_USD,
    SECOND,
    Micros,
    MicroUsd,
    from_iso,
    seconds,
    to_iso,
    to_usd,
    usd,
    usd_spent,
    utc_date,
)

FIRST, LAST = from_iso("0001-01-01T00:00:00Z"), from_iso("9999-12-31T23:59:59.999999Z")


def test_lengths_of_time_are_in_microseconds():
    assert (SECOND, MINUTE, HOUR, DAY) == (1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1970-01-01T00:00:00.5Z", 500_000),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2026-11-15T02:37:00Z", 1_794_710_220_000_000),
        ("2026-11-15T03:37:00+01:00", 1_794_710_220_000_000),
        ("2026-11-15T03:37:00+0100", 1_794_710_220_000_000),
        ("2026-11-14 21:07-05:30", 1_794_710_220_000_000),
        ("2026-11-15t02:37:00z", 1_794_710_220_000_000),
    ],
)
def test_a_time_is_read_to_the_microsecond(text: str, at: int):
    assert from_iso(text) == at


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-11-15", "2026-11-15T02:37:00", "2026-11-15T02:37:00.1234567Z", "2026-W46-7T02:37:00Z",
     "20261115T023700Z", "2026-11-15T02:37:60Z", "2026-02-30T00:00:00Z", "2026-11-15T24:00:00Z", "1794710220",
     "2026-11-15T02:37:00Z\n", " 2026-11-15T02:37:00Z", "2026-11-15T02:37:00,5Z", "２026-11-15T02:37:00Z",
     "2026-11-15T02:37:00+25:00", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "2026-11-15T02Z",
     "2026-11-15T02:37:00+01:00:30"],
)  # fmt: skip
def test_a_time_without_an_offset_or_too_fine_or_impossible_is_refused_with_the_rule(text: str):
    with pytest.raises(ValueError, match="must be an ISO 8601 time with an offset or Z and at most six decimals"):
        from_iso(text)


@given(st.integers(FIRST, LAST))
def test_a_time_comes_back_from_its_text(at: int):
    text = to_iso(Micros(at))
    assert from_iso(text) == at
    assert len(text) == len("2026-11-15T02:37:00.000000Z")
    assert text.endswith("Z")


@given(st.integers(FIRST, LAST), st.integers(FIRST, LAST))
def test_texts_of_times_sort_as_the_times_do(one: int, other: int):
    assert (one < other) == (to_iso(Micros(one)) < to_iso(Micros(other)))


def test_a_date_is_the_one_in_utc():
    assert utc_date(from_iso("2026-11-15T00:30:00+01:00")) == "2026-11-14"
    assert utc_date(from_iso("2026-11-15T23:59:59.999999Z")) == "2026-11-15"


@pytest.mark.parametrize(
    ("value", "amount"),
    [(1, 1_000_000), (0.1, 100_000), (1.5e-6, 2), (-2, -2_000_000), (10**9, 10**15), (0.29, 290_000)],
)
def test_seconds_become_the_nearest_microsecond(value: float, amount: int):
    assert seconds(value) == amount


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 1e308])
def test_a_length_of_time_that_is_no_number_is_refused(value: float):
    with pytest.raises(ValueError, match="finite number of seconds"):
        seconds(value)


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        ("0.51", 510_000),
        ("0", 0),
        ("-0", 0),
        (".5", 500_000),
        ("1.", 1_000_000),
        ("1e-6", 1),
        ("0.5000000000", 500_000),
        (3, 3_000_000),
        (0.1, 100_000),
        (0.29, 290_000),
        (1e-06, 1),
        (4.35, 4_350_000),
        (Decimal("1.000001"), 1_000_001),
        (Decimal("1E+3"), 1_000_000_000),
        (MOST_USD, 9 * 10**15),
        ("8999999999.999999", 8_999_999_999_999_999),
    ],
)
def test_money_is_read_exactly(value: str | int | float | Decimal, amount: int):
    assert usd(value) == amount


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("0.0000001", "at most 6 decimals"),
        (0.1 + 0.2, "at most 6 decimals"),
        (1e-7, "at most 6 decimals"),
        ("1e-400", "at most 6 decimals"),
        ("1.000000" + "0" * 33 + "1", "at most 6 decimals"),
        ("-0.01", "from 0 to 9000000000"),
        (-1, "from 0 to 9000000000"),
        ("9000000000.000001", "from 0 to 9000000000"),
        (1e300, "from 0 to 9000000000"),
        ("1e999", "from 0 to 9000000000"),
        (10**30, "from 0 to 9000000000"),
        (True, "a decimal number"),
        (float("nan"), "a decimal number"),
        (float("inf"), "a decimal number"),
        (Decimal("NaN"), "a decimal number"),
        (Decimal("sNaN"), "a decimal number"),
        (Decimal("-Infinity"), "a decimal number"),
        ("1e99999999", "a decimal number"),
        ("", "a decimal number"),
        (".", "a decimal number"),
        ("abc", "a decimal number"),
        ("$1", "a decimal number"),
        ("1_000", "a decimal number"),
        (" 1", "a decimal number"),
        ("1\n", "a decimal number"),
        ("１", "a decimal number"),
        ("1,5", "a decimal number"),
    ],
)
def test_money_that_cannot_be_held_exactly_is_refused_with_the_rule(value: str | int | float | Decimal, rule: str):
    with pytest.raises(ValueError, match=rule):
        usd(value)


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0"), (1, "0.000001"), (510_000, "0.51"), (12_000_000, "12"), (10_500_000, "10.5"), (-250_000, "-0.25")],
)
def test_money_is_written_in_plain_decimals(amount: int, text: str):
    assert to_usd(MicroUsd(amount)) == text


@given(st.integers(0, MOST_USD * 1_000_000))
def test_money_comes_back_from_its_text_and_from_a_decimal(amount: int):
    assert usd(to_usd(MicroUsd(amount))) == amount
    assert usd(Decimal(amount).scaleb(-6)) == amount


@given(st.integers(0, 10**6 * 10**6))
def test_money_comes_back_from_the_float_that_prints_it(amount: int):
    assert usd(float(to_usd(MicroUsd(amount)))) == amount


def test_the_decimal_context_of_the_caller_does_not_matter():
    with localcontext() as context:
        context.prec = 3
        assert usd("1234567.654321") == 1_234_567_654_321


@given(st.one_of(st.text(), st.floats(), st.integers(), st.decimals(), st.booleans()))
def test_whatever_is_no_money_is_a_value_error(value: str | float | int | Decimal):
    try:
        amount = usd(value)
    except ValueError:
        return
    assert Decimal(str(value)) * 1_000_000 == amount


@pytest.mark.parametrize(
    ("reported", "stored"),
    [
        (900 * 0.25e-6 + 200 * 2e-6, 625),
        (0.1 + 0.2, 300_000),
        ("0.0000001", 1),
        (1e-7, 1),
        (1e-13, 0),
        (Decimal("0.1234561"), 123_457),
        (Decimal(1) / Decimal(3), 333_334),
        (3, 3_000_000),
        ("9000000000", 9_000_000_000_000_000),
    ],
)
def test_what_is_spent_is_rounded_up_to_a_micro_dollar(reported: str | float | Decimal, stored: int):
    assert usd_spent(reported) == stored


@pytest.mark.parametrize("reported", [-1, "-0.01", float("nan"), float("inf"), "free", 9_000_000_001])
def test_what_is_no_amount_is_not_spent(reported: str | float):
    with pytest.raises(ValueError, match="must be"):
        usd_spent(reported)
