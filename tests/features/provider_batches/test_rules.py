"""Until when a call may wait for a batch."""

import pytest

from taskyard.core.units import DAY, SECOND, Micros
from taskyard.features.provider_batches.rules import LaneTerms, Times, times_of

TERMS = LaneTerms(Micros(60 * SECOND), Micros(600 * SECOND), Micros(300 * SECOND))
NOW = Micros(1_000 * DAY)
NEEDED = 60 + 600 + 300  # seconds: to gather, to cancel, to ask in the ordinary way


@pytest.mark.parametrize(
    ("left", "is_risked", "is_hurried"),
    [(NEEDED - 1, False, None), (NEEDED, False, None), (NEEDED + 1, True, True), (NEEDED + 86_400, True, False)],
)
def test_a_call_waits_only_where_its_deadline_is_kept_whatever_the_provider_does(
    left: int, is_risked: bool, is_hurried: bool | None
):
    deadline = Micros(NOW + left * SECOND)

    found = times_of(deadline, TERMS, NOW)

    if not is_risked:
        assert found is None
    else:
        assert found == Times(
            Micros(deadline - 900 * SECOND), Micros(deadline - 300 * SECOND), is_hurried=bool(is_hurried)
        )


def test_a_call_without_a_deadline_waits_for_as_long_as_it_takes():
    assert times_of(None, TERMS, NOW) == Times(None, None, is_hurried=False)
