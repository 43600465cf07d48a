"""Tests of one feature at a time, on the memory store: a rule that is broken fails in the folder of its noun.

What every store must do is in tests/guarantees and tests/stores.
"""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.memory import MemoryStore
from taskyard.yard import Yard, local_yard


@pytest.fixture
async def yard(clock: ManualClock, tmp_path: Path) -> AsyncGenerator[Yard]:
    options = Options(sweeps=False, transcripts=tmp_path / "transcripts", dice=lambda: 0.5)
    async with local_yard(MemoryStore(clock=clock), options) as yard:
        yield yard
