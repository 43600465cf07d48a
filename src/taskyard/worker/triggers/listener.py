"""The triggers of one source, for whoever listens to it: which there are, and how they are fired."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress

from taskyard.core.errors import NotFound, Unavailable
from taskyard.features.triggers.rules import Trigger
from taskyard.yard import Yard

logger = logging.getLogger("taskyard.sources")
AGAIN_AFTER = 1.0  # seconds, where the yard cannot be reached


class Listener:
    """Waits where the yard cannot be reached, and tries again until it is asked to stop."""

    def __init__(self, yard: Yard, source: str, stop: asyncio.Event) -> None:
        self._yard = yard
        self._source = source
        self.stop = stop

    async def triggers(self) -> list[Trigger]:
        while not self.stop.is_set():
            try:
                found = [view.trigger for view in await self._yard.triggers.list()]
            except Unavailable as away:
                await self._wait(away)
                continue
            return [trigger for trigger in found if trigger.source == self._source and not trigger.paused]
        return []

    async def fire(self, trigger: Trigger, data: Mapping[str, object], *, key: str) -> None:
        while not self.stop.is_set():
            try:
                await self._yard.triggers.fire(trigger.id, data, key=key)
            except NotFound:
                logger.info("trigger %s was removed before it could fire", trigger.id)
            except Unavailable as away:
                await self._wait(away)
                continue
            return

    async def _wait(self, away: Unavailable) -> None:
        logger.warning("the yard cannot be reached by the source %s, which tries again: %s", self._source, away)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stop.wait(), AGAIN_AFTER)
