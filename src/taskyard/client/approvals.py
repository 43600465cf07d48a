"""Approvals of a yard that a server has."""

from __future__ import annotations

from taskyard.api import calls
from taskyard.client.remote import Remote, over_http
from taskyard.features.approvals.service import Approvals


class RemoteApprovals(Remote, Approvals):
    list = over_http(Approvals.list, calls.APPROVALS)
    signal = over_http(Approvals.signal, calls.SIGNAL)
