"""Which variant a task gets, as a pure rule."""

from collections import Counter

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.variant import Variant, chosen
from taskyard.definition.definition import Sizes
from taskyard.features.variants.rules import variants_given

SHARES = (Variant("a", 3, {}), Variant("b", 1, {}), Variant("never", 0, {}))


def test_shares_are_kept_and_an_id_always_draws_the_same():
    ids = [f"task_{number}" for number in range(4000)]
    drawn = [chosen(SHARES, "code", each).name for each in ids]

    counted = Counter(drawn)
    assert abs(counted["b"] - 1000) < 100  # 3.6 standard deviations
    assert counted["never"] == 0
    assert drawn == [chosen(SHARES, "code", each).name for each in ids]
    assert drawn != [chosen(SHARES, "test", each).name for each in ids]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ("a", "variants"),
        ([{"name": "a"}] * 21, "variants"),
        ([{"name": "a"}, {"name": "a"}], "variants"),
        ([{"name": "a", "share": 0}], "variants"),
        (["a"], r"variants\[0\]"),
        ([{"name": " "}], r"variants\[0\].name"),
        ([{"name": "a", "share": -1}], r"variants\[0\].share"),
        ([{"name": "a", "share": float("nan")}], r"variants\[0\].share"),
        ([{"name": "a", "max_cost_usd": 1}], r"variants\[0\].max_cost_usd"),
        ([{"name": "a", "model_preferences": "opus"}], r"variants\[0\].model_preferences"),
        ([{"name": "a"}, {"name": "b", "payload": [1]}], r"variants\[1\].payload"),
        ([{"name": "a", "prompt": "x" * 101}], r"variants\[0\].prompt"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(given: object, field: str):
    with pytest.raises(InvalidInput, match=field):
        variants_given(given, Sizes(max_payload_bytes=100))
