"""The same story on a real S3 server: a zombie's file is gone, its successor's is there and is what was put."""

from uuid import uuid4

import pytest

import taskyard
from taskyard.core.errors import LeaseLost
from taskyard.ledger.clock import ManualClock
from tests.files import content_of, objects_in, put_by
from tests.object_servers import KEYS, bucket
from tests.yards import claim_that, elapse, given_a_running_task


async def test_a_bucket_holds_what_was_accepted_and_nothing_else(monkeypatch: pytest.MonkeyPatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    place, clock = bucket(uuid4().hex), ManualClock()
    async with taskyard.connect("memory://", artifacts=place.url, clock=clock, sweeps=False) as yard:
        stale = await given_a_running_task(yard)
        await put_by(yard, stale, data="of a zombie")
        await elapse(yard, clock, 400)
        again = await claim_that(yard, stale.id, start=True)
        with pytest.raises(LeaseLost):
            await put_by(yard, stale, "late.md")
        kept = await put_by(yard, again, "big.bin", "x" * 20_000_000)
        await yard.complete(again.id, again.lease)
        await elapse(yard, clock, 61)
        await yard.host.run_outbox()

        assert objects_in(place.folder) == [kept]
        assert len(await content_of(yard, kept)) == 20_000_000
        assert (await yard.verify()).ok
