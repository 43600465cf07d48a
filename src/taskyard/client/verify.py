"""Verify of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.api.codec import read
from taskyard.client.remote import Remote
from taskyard.features.verify.health import Health
from taskyard.features.verify.service import Verification
from taskyard.features.verify.views import Verified

VERIFIED_WITHIN = 600.0  # seconds: it reads everything


class RemoteVerification(Remote, Verification):
    async def verify(self) -> Verified:
        """Check the stored history against what the yard promises."""
        return read(Verified, await self._connection.ask(calls.VERIFY, wait_sec=VERIFIED_WITHIN))


class RemoteHealth(Remote, Health):
    """Nothing to be asked of a server: health is about the store."""
