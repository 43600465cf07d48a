"""What a time comes to, before anything is stored."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.core.units import to_iso
from taskyard.yard import Yard


async def test_a_time_is_previewed_as_it_is_understood(yard: Yard):
    found = await yard.schedules.preview("every weekday at 9am Europe/Berlin")

    assert (found.cron, found.timezone, len(found.next_times)) == ("0 9 * * 1-5", "Europe/Berlin", 5)
    assert {to_iso(at)[11:16] for at in found.next_times} <= {"07:00", "08:00"}
    assert await yard.schedules.list() == []


async def test_a_time_that_cannot_be_read_is_refused_as_a_schedule_would(yard: Yard):
    with pytest.raises(InvalidInput, match="when"):
        await yard.schedules.preview("now and then")
