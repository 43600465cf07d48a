"""How the tokens of model calls are counted."""

import pytest

from taskyard.features.budgets.token_counts import Tokens, counted


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (Tokens(900, 200), Tokens(900, 200)),
        (Tokens(900, 200, 600, 100), Tokens(900, 200, 600, 100)),
        (Tokens(10, 200, 600, 100), Tokens(710, 200, 600, 100)),  # Anthropic reports cached ones beside the others
    ],
)
def test_cached_tokens_are_among_the_input(given: Tokens, stored: Tokens):
    assert counted(given) == stored
