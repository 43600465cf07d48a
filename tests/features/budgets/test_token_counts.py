"""How the tokens of model calls are counted."""

import pytest

from taskyard.features.budgets.token_counts import TokenCounts, counted


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (TokenCounts(900, 200), TokenCounts(900, 200)),
        (TokenCounts(900, 200, 600, 100), TokenCounts(900, 200, 600, 100)),
        (
            TokenCounts(10, 200, 600, 100),
            TokenCounts(710, 200, 600, 100),
        ),  # Anthropic reports cached ones beside the others
    ],
)
def test_cached_tokens_are_among_the_input(given: TokenCounts, stored: TokenCounts):
    assert counted(given) == stored
