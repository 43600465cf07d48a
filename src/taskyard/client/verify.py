"""Verify of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.verify.health import Health
from taskyard.features.verify.service import Verification


class RemoteVerification(Remote, Verification):
    verify = over_http(Verification.verify, calls.VERIFY)


class RemoteHealth(Remote, Health):
    """Nothing to be asked of a server: health is about the store."""
