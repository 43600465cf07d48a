"""A yard on the machine's clock, on the two stores that servers have: agents live in real time."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from taskyard.app import Yard
from taskyard.host import LocalHost
from taskyard.ledger.clock import SystemClock
from taskyard.ledger.options import Options
from tests.storage import asked_for, give_back, opener, take

SERVED = [name for name in ("sqlite", "postgres") if name in asked_for()]


@pytest.fixture(params=SERVED)
async def live(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Yard]:
    take(request.param, tmp_path)
    store = opener(request.param, tmp_path, SystemClock())()
    options = Options(transcripts=tmp_path / "transcripts", artifacts=(tmp_path / "artifacts").as_uri())
    async with Yard(LocalHost(store, options)) as yard:
        yield yard
        verified = await yard.verify()
        assert verified.ok, str(verified)
    give_back(request.param, tmp_path)
