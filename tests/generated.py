"""How many examples generated tests of stores try. TASKYARD_MORE_EXAMPLES=10 has each try ten times as many."""

import os

from hypothesis import HealthCheck, settings

_TIMES = float(os.environ.get("TASKYARD_MORE_EXAMPLES", "1"))


def examples(number: int) -> settings:
    """For tests whose examples share one store: each example has a workspace and ids of its own."""
    return settings(
        max_examples=round(number * _TIMES),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
