"""A provider whose clock is the yard's."""

from collections.abc import Generator

import pytest

from taskyard.core.units import SECOND
from taskyard.ledger.clock import ManualClock
from tests.batch_providers import FakeProvider, providing


@pytest.fixture
def provider(clock: ManualClock) -> Generator[FakeProvider]:
    with providing(now=lambda: clock.now() / SECOND) as provider:
        yield provider
