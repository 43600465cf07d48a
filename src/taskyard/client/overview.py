"""Overview of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.features.overview.service import Overviews
from taskyard.features.overview.views import Overview, Series


class RemoteOverviews(Remote, Overviews):
    async def figures(self) -> Overview:
        """What asks for somebody, and how much there is of everything."""
        return read(Overview, await self._connection.ask(calls.OVERVIEW))

    async def series(self, window: str = "1h") -> Series:
        """What came, went and failed, how long it took and what it cost: as the sweep has counted it so far."""
        return read(Series, await self._connection.ask(calls.SERIES, query={"window": window}))
