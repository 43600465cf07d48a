"""A yard that remembers everything, with `hash:` as its embedder."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from taskyard.ledger.clock import ManualClock
from taskyard.ledger.options import Options
from taskyard.stores.memory import MemoryStore
from taskyard.yard import Yard, local_yard


@pytest.fixture
async def yard(clock: ManualClock, tmp_path: Path) -> AsyncGenerator[Yard]:
    options = Options(sweeps=False, transcripts=tmp_path / "transcripts", dice=lambda: 0.5, embedder="hash:")
    async with local_yard(MemoryStore(clock=clock), options) as yard:
        await yard.memory.set_policy(remember=True)
        yield yard
