"""Times as people say them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskyard.core.errors import InvalidInput
from taskyard.core.units import DAY, HOUR, MINUTE, SECOND, Micros
from taskyard.features.schedules.text import ParsedTimes, understood


@pytest.mark.parametrize(
    ("words", "cron"),
    [
        ("30 2 * * *", "30 2 * * *"),
        ("*/15 9-17 * * MON-FRI", "*/15 9-17 * * MON-FRI"),
        ("0 0 L * *", "0 0 L * *"),
        ("@hourly", "0 * * * *"),
        ("@weekly", "0 0 * * 0"),
        ("every minute", "* * * * *"),
        ("every hour", "0 * * * *"),
        ("every hour at :15", "15 * * * *"),
        ("Every  Day at 02:30", "30 2 * * *"),
        ("daily at 9am", "0 9 * * *"),
        ("daily at 12am", "0 0 * * *"),
        ("every day at 12:05 pm", "5 12 * * *"),
        ("every day at noon", "0 12 * * *"),
        ("every day at 09:00 and 17:00", "0 9,17 * * *"),
        ("every day", "0 0 * * *"),
        ("every weekday at 18:45", "45 18 * * 1-5"),
        ("every Monday at 09:00", "0 9 * * 1"),
        ("weekly on fri at 16:00", "0 16 * * 5"),
        ("every Monday, Wednesday and Friday at 7:05", "5 7 * * 1,3,5"),
        ("every Sunday", "0 0 * * 0"),
        ("monthly", "0 0 1 * *"),
        ("every month on the 1st at 06:00", "0 6 1 * *"),
        ("monthly on the 22nd at 06:00", "0 6 22 * *"),
        ("every month on day 15", "0 0 15 * *"),
        ("every month on the last day at 23:59", "59 23 L * *"),
    ],
)
def test_words_become_a_cron_expression(words: str, cron: str):
    assert understood(words) == ParsedTimes(cron, None, None)


@pytest.mark.parametrize(
    ("words", "every"),
    [
        ("every second", SECOND),
        ("every 90 seconds", 90 * SECOND),
        ("every 15 minutes", 15 * MINUTE),
        ("every 2 hours", 2 * HOUR),
        ("every 1 day", DAY),
        ("every 2 weeks", 14 * DAY),
    ],
)
def test_a_number_of_units_is_an_interval(words: str, every: int):
    assert understood(words) == ParsedTimes(None, Micros(every), None)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "UTC"])
@pytest.mark.parametrize("words", ["every day at 02:30", "30 2 * * *", "every day at 02:30 in"])
def test_a_zone_at_the_end_is_taken_off(words: str, zone: str):
    assert understood(f"{words} {zone}") == ParsedTimes("30 2 * * *", None, zone)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "soon",
        "every",
        "every fortnight",
        "every Mondays",
        "every day at 9",
        "every day at 24:00",
        "every day at 13pm",
        "every day at 09:00 and 17:30",
        "every month on the 1st of May",
        "* * * *",
        "* * * * * *",
        "every 0 minutes",
        "every 367 days",
        "every -5 minutes",
        "Europe/Berlin",
        "x" * 300,
    ],
)
def test_what_is_not_understood_is_refused(words: str):
    with pytest.raises(InvalidInput) as refused:
        understood(words)
    assert refused.value.facts["field"] == "when"


@given(st.text(max_size=60))
def test_whatever_is_stated_is_understood_or_refused(words: str):
    try:
        said = understood(words)
    except InvalidInput:
        return
    assert (said.cron is None) != (said.every is None)
